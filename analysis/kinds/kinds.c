// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/kinds.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "analysis/kinds/kind_table.h"
#include "base/syscalls.h"

static const char *const names[KIND_COUNT] = {
	[KIND_NONE] = "",
	[KIND_RUNNING] = "running",
	[KIND_PREEMPTED] = "preempted",
	[KIND_YIELD] = "yield",
	[KIND_RUN_QUEUE] = "run queue",
	[KIND_FIRST_RUN] = "first run",
	[KIND_DISK_READ] = "disk read",
	[KIND_DISK_WRITE] = "disk write",
	[KIND_FSYNC] = "fsync",
	[KIND_JOURNAL_COMMIT] = "journal commit",
	[KIND_JOURNAL_SPACE] = "journal space",
	[KIND_PAGE_FAULT_READ] = "page-fault read",
	[KIND_SWAP_IN] = "swap in",
	[KIND_WRITEBACK] = "writeback",
	[KIND_WRITEBACK_THROTTLING] = "writeback throttling",
	[KIND_METADATA_READ] = "metadata read",
	[KIND_BLOCK_QUEUE_FULL] = "block queue full",
	[KIND_BLOCK_THROTTLING] = "block throttling",
	[KIND_PAGE_LOCK] = "page lock",
	[KIND_TCP_RECEIVE] = "tcp receive",
	[KIND_TCP_SEND] = "tcp send",
	[KIND_TCP_ACCEPT] = "tcp accept",
	[KIND_TCP_CONNECT] = "tcp connect",
	[KIND_UDP_RECEIVE] = "udp receive",
	[KIND_UDP_SEND] = "udp send",
	[KIND_UNIX_RECEIVE] = "unix receive",
	[KIND_UNIX_SEND] = "unix send",
	[KIND_UNIX_ACCEPT] = "unix accept",
	[KIND_UNIX_CONNECT] = "unix connect",
	[KIND_SOCKET_RECEIVE] = "socket receive",
	[KIND_SOCKET_SEND] = "socket send",
	[KIND_SOCKET_ACCEPT] = "socket accept",
	[KIND_SOCKET_CONNECT] = "socket connect",
	[KIND_PIPE_READ] = "pipe read",
	[KIND_PIPE_WRITE] = "pipe write",
	[KIND_PIPE_OPEN] = "pipe open",
	[KIND_FUTEX] = "futex",
	[KIND_KERNEL_MUTEX] = "kernel mutex",
	[KIND_KERNEL_RWSEM] = "kernel rwsem",
	[KIND_KERNEL_PERCPU_RWSEM] = "kernel percpu-rwsem",
	[KIND_KERNEL_RTMUTEX] = "kernel rtmutex",
	[KIND_KERNEL_SEMAPHORE] = "kernel semaphore",
	[KIND_MMAP_LOCK] = "mmap lock",
	[KIND_SLEEP] = "sleep",
	[KIND_CHILD] = "wait for child",
	[KIND_EPOLL] = "epoll",
	[KIND_POLL] = "poll",
	[KIND_SELECT] = "select",
	[KIND_SIGNAL] = "signal wait",
	[KIND_EVENTFD] = "eventfd",
	[KIND_TIMERFD] = "timerfd",
	[KIND_SIGNALFD] = "signalfd",
	[KIND_INOTIFY] = "inotify",
	[KIND_FANOTIFY] = "fanotify",
	[KIND_IO_URING] = "io_uring wait",
	[KIND_AIO] = "aio wait",
	[KIND_FILE_LOCK] = "file lock",
	[KIND_SYSV_SEMAPHORE] = "SysV semaphore",
	[KIND_SYSV_MESSAGE] = "SysV message",
	[KIND_POSIX_MESSAGE] = "POSIX message",
	[KIND_TTY_READ] = "tty read",
	[KIND_TTY_WRITE] = "tty write",
	[KIND_VFORK] = "vfork wait",
	[KIND_PTRACE_STOP] = "ptrace stop",
	[KIND_STOPPED] = "stopped",
	[KIND_FREEZER] = "frozen",
	[KIND_RECLAIM] = "memory reclaim",
	[KIND_COMPACTION] = "memory compaction",
	[KIND_MIGRATION] = "page migration",
	[KIND_CGROUP_THROTTLE] = "cgroup throttle",
	[KIND_EXIT] = "exit",
	[KIND_EXEC] = "exec",
	[KIND_USERFAULTFD] = "userfaultfd",
	[KIND_FUSE] = "fuse request",
	[KIND_NFS] = "nfs request",
	[KIND_9P] = "9p request",
	[KIND_CIFS] = "cifs request",
	[KIND_RCU] = "rcu grace period",
	[KIND_WORK_FLUSH] = "work flush",
	[KIND_COMPLETION] = "completion",
	[KIND_PERF] = "perf",
	[KIND_KVM] = "kvm halt",
	[KIND_IDLE_THREAD] = "kernel thread idle",
	[KIND_IO] = "I/O",
	[KIND_LOCK] = "lock",
	[KIND_OTHER] = "blocked",
};

const char *kind__name(enum wait_kind kind)
{
	return kind < KIND_COUNT ? names[kind] : "";
}

/* A function name's rows in the sorted table: [first, first + n). */
struct kind_match {
	uint16_t first;
	uint16_t n;
	bool looked_up;
};

struct kinds {
	const struct model *model;
	const struct kind_row **sorted;
	struct kind_match *matches; /* per string of the model */
	size_t n_matches;
	uint8_t by_syscall[SYSCALLS_MAX];
};

static int row__order(const void *a, const void *b)
{
	return strcmp((*(const struct kind_row *const *)a)->function,
		      (*(const struct kind_row *const *)b)->function);
}

int kinds__new(const struct model *model, struct kinds **out)
{
	_cleanup_kinds_ struct kinds *kinds = calloc(1, sizeof(*kinds));
	const char *machine = model__meta(model, "machine");

	if (!kinds)
		return -ENOMEM;
	kinds->model = model;
	kinds->n_matches = model->strings.n;
	kinds->matches = calloc(kinds->n_matches, sizeof(*kinds->matches));
	kinds->sorted = calloc(n_kind_rows, sizeof(void *));
	if (!kinds->matches || !kinds->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < n_kind_rows; i++)
		kinds->sorted[i] = &kind_rows[i];
	qsort(kinds->sorted, n_kind_rows, sizeof(void *), row__order);
	for (int nr = 0; nr < SYSCALLS_MAX; nr++) {
		const char *name = syscalls__name(machine, nr);

		for (size_t i = 0; name && i < n_kind_syscalls; i++)
			if (!strcmp(kind_syscalls[i].name, name))
				kinds->by_syscall[nr] = (uint8_t)kind_syscalls[i].kind;
	}
	*out = TAKE_PTR(kinds);
	return 0;
}

void kinds__free(struct kinds *kinds)
{
	if (!kinds)
		return;
	free(kinds->matches);
	free(kinds->sorted);
	free(kinds);
}

/* strcmp() of @name, up to the dot of ".isra.0" or ".constprop.0", and @function. */
static int function__compare(const char *name, const char *function)
{
	size_t n = strcspn(name, ".");
	int order = strncmp(name, function, n);

	return order ? order : -(int)(unsigned char)function[n];
}

static struct kind_match kinds__look_up(const struct kinds *kinds, const char *name)
{
	struct kind_match match = {.looked_up = true};
	size_t low = 0, high = n_kind_rows;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (function__compare(name, kinds->sorted[middle]->function) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	match.first = (uint16_t)low;
	while (low + match.n < n_kind_rows &&
	       !function__compare(name, kinds->sorted[low + match.n]->function))
		match.n++;
	return match;
}

static struct kind_match kinds__match(struct kinds *kinds, uint32_t name)
{
	if (name >= kinds->n_matches)
		return kinds__look_up(kinds, model__string(kinds->model, name));
	if (!kinds->matches[name].looked_up)
		kinds->matches[name] = kinds__look_up(kinds, model__string(kinds->model, name));
	return kinds->matches[name];
}

/* What the kernel stack says so far, from the inside out. */
struct kind_evidence {
	enum wait_kind kind;
	enum kind_strength strength;
	bool writing;
};

static void evidence__add(struct kind_evidence *evidence, const struct kind_row *row)
{
	if (row->strength == KIND_WRITING) {
		evidence->writing = true;
	} else if (row->strength == KIND_REFINES) {
		if (evidence->kind == row->over)
			evidence->kind = row->kind;
	} else if (row->strength > evidence->strength) {
		evidence->kind = row->kind;
		evidence->strength = row->strength;
	}
}

static struct kind_evidence kinds__evidence(struct kinds *kinds, uint32_t stack)
{
	const struct model *model = kinds->model;
	const struct model_stack *frames = &model->stacks.data[stack];
	struct kind_evidence evidence = {};

	for (size_t i = 0; i < frames->depth; i++) {
		const struct model_location *location = model__location(model, frames, i);

		for (size_t k = 0; k < location->n_frames; k++) {
			uint32_t name = model->frames.data[location->frame + k].name;
			struct kind_match match = {};

			if (name)
				match = kinds__match(kinds, name);
			for (size_t row = 0; row < match.n; row++)
				evidence__add(&evidence, kinds->sorted[match.first + row]);
		}
	}
	return evidence;
}

/* "socket receive" of a socket whose family is known is a "tcp receive". */
static enum wait_kind kind__of_socket(enum wait_kind kind, const struct model_object *object)
{
	int verb = (int)kind - KIND_SOCKET_RECEIVE;

	if (object->type != OBJECT_SOCKET || verb < 0 || kind > KIND_SOCKET_CONNECT)
		return kind;
	if (object->family == AF_UNIX)
		return KIND_UNIX_RECEIVE + verb;
	if (object->family != AF_INET && object->family != AF_INET6)
		return kind;
	if (object->protocol == IPPROTO_TCP)
		return KIND_TCP_RECEIVE + verb;
	if (object->protocol == IPPROTO_UDP && verb < 2)
		return KIND_UDP_RECEIVE + verb;
	return kind;
}

_Static_assert(KIND_SOCKET_CONNECT - KIND_SOCKET_RECEIVE == 3 &&
		       KIND_TCP_CONNECT - KIND_TCP_RECEIVE == 3 &&
		       KIND_UNIX_CONNECT - KIND_UNIX_RECEIVE == 3 &&
		       KIND_UDP_SEND - KIND_UDP_RECEIVE == 1,
	       "receive, send, accept, connect follow each other");

/* read() and write() say nothing of what they read: the descriptor and the class do. */
static enum wait_kind kind__of_descriptor(enum wait_kind kind, enum wait_class class,
					  const struct model_object *object)
{
	bool write = kind == KIND_DISK_WRITE;

	if (kind != KIND_DISK_READ && !write)
		return kind;
	if (object->type == OBJECT_SOCKET)
		return kind__of_socket(write ? KIND_SOCKET_SEND : KIND_SOCKET_RECEIVE, object);
	if (object->type == OBJECT_FILE && S_ISFIFO(object->mode))
		return write ? KIND_PIPE_WRITE : KIND_PIPE_READ;
	if (class == CLASS_IO)
		return kind;
	return KIND_NONE;
}

static enum wait_kind kinds__of_syscall(const struct kinds *kinds,
					const struct kind_question *question)
{
	const struct model_object *object = &kinds->model->objects.data[question->object];
	enum wait_kind kind = KIND_NONE;

	if (question->syscall >= 0 && question->syscall < SYSCALLS_MAX)
		kind = kinds->by_syscall[question->syscall];
	return kind__of_descriptor(kind, question->class, object);
}

static enum wait_kind kinds__of_sched(const struct kinds *kinds,
				      const struct kind_question *question)
{
	if (question->flags & INTERVAL_FIRST)
		return KIND_FIRST_RUN;
	if (!(question->flags & INTERVAL_PREEMPTED))
		return KIND_RUN_QUEUE;
	return kinds__of_syscall(kinds, question) == KIND_YIELD ? KIND_YIELD : KIND_PREEMPTED;
}

enum wait_kind kinds__of(struct kinds *kinds, const struct kind_question *question)
{
	static const enum wait_kind fallback[CLASS_COUNT] = {
		[CLASS_IO] = KIND_IO,
		[CLASS_LOCK] = KIND_LOCK,
		[CLASS_OTHER] = KIND_OTHER,
	};
	struct kind_evidence evidence;
	enum wait_kind kind;

	if (question->class == CLASS_CPU)
		return KIND_RUNNING;
	if (question->class == CLASS_SCHED)
		return kinds__of_sched(kinds, question);
	evidence = kinds__evidence(kinds, question->kernel);
	kind = evidence.kind;
	if (kind == KIND_DISK_READ && evidence.writing)
		kind = KIND_DISK_WRITE;
	/* A weak hint is less than a system call that can only wait for one thing. */
	if (kind == KIND_NONE || evidence.strength == KIND_WEAK) {
		enum wait_kind call = kinds__of_syscall(kinds, question);

		kind = call && (kind == KIND_NONE || call != KIND_DISK_READ) ? call : kind;
	}
	kind = kind__of_socket(kind, &kinds->model->objects.data[question->object]);
	return kind ? kind : fallback[question->class];
}

void object__text(const struct model *model, uint32_t index, char *text, size_t size)
{
	const struct model_object *object = &model->objects.data[index];
	const char *name = model__string(model, object->name);
	const char *local = model__string(model, object->local);

	text[0] = '\0';
	switch (object->type) {
	case OBJECT_FILE:
		if (*name)
			snprintf(text, size, "%s", name);
		else if (object->id && S_ISFIFO(object->mode))
			snprintf(text, size, "pipe:[%" PRIu64 "]", object->id);
		else if (object->id)
			snprintf(text, size, "inode %" PRIu64, object->id);
		break;
	case OBJECT_SOCKET:
		if (*name || *local)
			snprintf(text, size, "%s", *name ? name : local);
		else if (object->id)
			snprintf(text, size, "socket:[%" PRIu64 "]", object->id);
		break;
	case OBJECT_CHILD:
		if (object->id)
			snprintf(text, size, "%" PRIu64, object->id);
		break;
	case OBJECT_FUTEX:
	case OBJECT_KLOCK:
		snprintf(text, size, "0x%" PRIx64, object->id);
		break;
	default:
		break;
	}
}

void kind__describe(const struct model *model, enum wait_kind kind, uint32_t object, char *text,
		    size_t size)
{
	char what[512];

	object__text(model, object, what, sizeof(what));
	snprintf(text, size, "%s%s%s", kind__name(kind), *what ? " " : "", what);
}
