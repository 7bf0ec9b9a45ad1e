// SPDX-License-Identifier: BSD-2-Clause
#include "collect/capture/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/leaving_map.h"

/* How many threads and processes are known after their end. */
#define KEPT_THREADS   4096
#define KEPT_PROCESSES 1024

/* A thread's value in processes.threads: tgid << 32 | IS_ANNOUNCED | tid. */
#define IS_ANNOUNCED (1U << 31)
/* The same of one whose exit came before it was announced: events of different CPUs are not
 * ordered. */
#define HAS_EXITED 1

/* A process whose parent is not known yet: events of different CPUs are not ordered. */
struct orphan {
	uint32_t parent; /* thread */
	uint32_t pid;
};

/*
 * A process whose leader has exited. It ends after the batch of events, as it may get the mappings
 * of its parent only then, and when it has no memory any more: other threads may go on.
 */
struct ending {
	uint32_t pid;
	uint64_t time; /* of the leader's exit */
};

/* A mapping whose process may be recorded: earlier events have not been read yet. */
struct pending_mapping {
	struct mapping_event event;
	char *path;
};

struct processes {
	struct address_spaces *spaces;
	struct unwinder *unwinder;
	uint64_t start;
	void (*meanwhile)(void *arg);
	void *arg;
	uint32_t reading;	    /* the process whose mappings are being read; 0: none */
	struct leaving_map threads; /* by number */
	ARRAY(struct orphan) orphans;
	ARRAY(struct pending_mapping) pending;
	ARRAY(struct ending) ending;
	struct leaving_map known; /* pid -> a number of its own for each process that had it */
	uint64_t last_known;
	uint64_t lost;
};

int processes__new(struct address_spaces *spaces, struct unwinder *unwinder, uint64_t start,
		   void (*meanwhile)(void *arg), void *arg, struct processes **out)
{
	struct processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	if (leaving_map__init(&processes->threads, KEPT_THREADS) ||
	    leaving_map__init(&processes->known, KEPT_PROCESSES)) {
		leaving_map__free(&processes->threads);
		free(processes);
		return -ENOMEM;
	}
	processes->spaces = spaces;
	processes->unwinder = unwinder;
	processes->start = start;
	processes->meanwhile = meanwhile;
	processes->arg = arg;
	*out = processes;
	return 0;
}

static uint64_t thread_value(uint32_t tgid, uint32_t tid, bool announced)
{
	return (uint64_t)tgid << 32 | (announced ? IS_ANNOUNCED : 0) | tid;
}

static uint32_t tid_of(uint64_t thread)
{
	return (uint32_t)thread & ~IS_ANNOUNCED;
}

bool processes__is_gone(uint32_t tgid, uint32_t tid)
{
	if ((tgid | tid) & DWELL_PID_OUTSIDE) /* unknown */
		return false;
	return syscall(SYS_tgkill, tgid, tid, 0) && errno == ESRCH;
}

/* Ends threads whose end was missed: events were lost, or they are not recorded, but wake others.
 */
static void end_missed_threads(struct processes *processes)
{
	const struct map64 *threads = &processes->threads.map;
	ARRAY(uint64_t) gone = {};
	struct map64_slot left;

	for (size_t i = 0; i < threads->capacity; i++) {
		const struct map64_slot *slot = &threads->slots[i];

		if (slot->used &&
		    processes__is_gone((uint32_t)(slot->value >> 32), tid_of(slot->value)) &&
		    array__push(&gone, slot->key))
			break;
	}
	for (size_t i = 0; i < gone.n; i++)
		(void)leaving_map__end(&processes->threads, gone.data[i], &left);
	array__free(&gone);
	leaving_map__swept(&processes->threads);
}

/* The process of thread @number; 0: unknown. */
static uint32_t process_of(const struct processes *processes, uint32_t number)
{
	const uint64_t *thread = leaving_map__get(&processes->threads, number);

	return thread ? (uint32_t)(*thread >> 32) : 0;
}

/* Whether @pid still has memory: its leader may have ended before other threads. */
static bool is_alive(uint32_t pid)
{
	char name[64], byte;
	int fd;
	bool alive;

	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	alive = read(fd, &byte, 1) == 1;
	close(fd);
	return alive;
}

static void end_process(struct processes *processes, uint32_t pid, uint64_t time)
{
	struct map64_slot gone;

	unwinder__end(processes->unwinder, pid, time);
	(void)leaving_map__end(&processes->known, pid, &gone);
}

/* Ends processes whose end was missed: their events were lost, or they are not recorded. */
static void end_missed_processes(struct processes *processes, uint64_t time)
{
	const struct map64 *known = &processes->known.map;
	ARRAY(uint32_t) gone = {};

	for (size_t i = 0; i < known->capacity; i++)
		if (known->slots[i].used && !is_alive((uint32_t)known->slots[i].key) &&
		    array__push(&gone, (uint32_t)known->slots[i].key))
			break;
	for (size_t i = 0; i < gone.n; i++)
		end_process(processes, gone.data[i], time);
	array__free(&gone);
	leaving_map__swept(&processes->known);
}

/* @time: now, or before. */
static void know(struct processes *processes, uint32_t pid, uint64_t time)
{
	uint64_t *known;

	if (leaving_map__wants_sweep(&processes->known))
		end_missed_processes(processes, time);
	known = leaving_map__put(&processes->known, pid, 0);
	if (known) /* another than that of a process that had the pid before */
		*known = ++processes->last_known;
}

void processes__add(struct processes *processes, uint32_t pid)
{
	if (leaving_map__get(&processes->known, pid))
		return;
	know(processes, pid, processes->start);
	processes->reading = pid;
	if (address_spaces__read_process(processes->spaces, (pid_t)pid, processes->start,
					 processes->meanwhile, processes->arg))
		processes->lost++;
	processes->reading = 0;
}

/*
 * A process that was created during the recording gets its parent's mappings; those of others
 * (including processes of wakers, whose stacks are taken) are read.
 */
static void on_process(struct processes *processes, const struct event_thread *event)
{
	uint32_t parent = process_of(processes, event->parent);

	if (event->flags & THREAD_KERNEL)
		return;
	if (event->flags & THREAD_TARGET && !(event->flags & THREAD_HELPER))
		unwinder__record(processes->unwinder, event->tgid);
	if (!(event->flags & THREAD_CREATED)) {
		processes__add(processes, event->tgid);
	} else if (event->tid == event->tgid) {
		know(processes, event->tgid, event->header.time);
		if (event->parent && !unwinder__fork(processes->unwinder, parent, event->tgid))
			(void)array__push(&processes->orphans,
					  ((struct orphan){event->parent, event->tgid}));
	}
}

/* Thread @number has exited. */
static void thread_exited(struct processes *processes, uint32_t number, uint64_t time)
{
	const uint64_t *thread = leaving_map__put(&processes->threads, number, HAS_EXITED);
	struct map64_slot gone;
	uint32_t pid;

	if (!thread)
		return;
	pid = (uint32_t)(*thread >> 32);
	if (pid && tid_of(*thread) == pid)
		(void)array__push(&processes->ending, ((struct ending){pid, time}));
	(void)leaving_map__end(&processes->threads, number, &gone);
}

static void on_totals(struct processes *processes, const struct event_totals *event)
{
	if (event->flags & TOTALS_EXITED && !(event->flags & TOTALS_PROVISIONAL))
		thread_exited(processes, event->header.thread, event->header.time);
}

static void on_thread(struct processes *processes, const struct event_thread *event)
{
	uint64_t *thread;
	bool exited;

	if (event->flags & THREAD_OCCUPANT) /* nothing of it has a stack */
		return;
	if (leaving_map__wants_sweep(&processes->threads))
		end_missed_threads(processes);
	thread = leaving_map__put(&processes->threads, event->header.thread, 0);
	if (!thread)
		return;
	/* The final walk over all tasks sends every thread again, without its parent. */
	if (*thread & IS_ANNOUNCED && !event->parent)
		return;
	exited = *thread == HAS_EXITED;
	*thread = thread_value(event->tgid, event->tid, event->flags & THREAD_TARGET);
	on_process(processes, event);
	if (exited)
		thread_exited(processes, event->header.thread, now_ns(CLOCK_MONOTONIC));
}

/* The thread has the leader's tid from now on. */
static void on_exec(struct processes *processes, const struct event_exec *event)
{
	uint64_t *thread = leaving_map__get(&processes->threads, event->header.thread);

	if (thread && *thread != HAS_EXITED)
		*thread = thread_value(event->tid, event->tid, *thread & IS_ANNOUNCED);
	unwinder__forget(processes->unwinder, event->tid, event->header.time);
}

void processes__event(struct processes *processes, const struct event_header *event, size_t size)
{
	if (event->type == EVENT_THREAD && size >= sizeof(struct event_thread))
		on_thread(processes, (const void *)event);
	else if (event->type == EVENT_EXEC && size >= sizeof(struct event_exec))
		on_exec(processes, (const void *)event);
	else if (event->type == EVENT_TOTALS && size >= sizeof(struct event_totals))
		on_totals(processes, (const void *)event);
}

void processes__mapping(struct processes *processes, const struct mapping_event *event)
{
	struct pending_mapping pending = {.event = *event, .path = strdup(event->path)};

	if (!pending.path || array__push(&processes->pending, pending)) {
		processes->lost++;
		free(pending.path);
	}
}

void processes__release_mappings(struct processes *processes, uint64_t time)
{
	size_t kept = 0;

	for (size_t i = 0; i < processes->pending.n; i++) {
		struct pending_mapping pending = processes->pending.data[i];

		pending.event.path = pending.path;
		if (pending.event.time > time ||
		    (uint32_t)pending.event.pid == processes->reading ||
		    !leaving_map__get(&processes->known, (uint64_t)pending.event.pid)) {
			processes->pending.data[kept++] = pending;
			continue;
		}
		if (address_spaces__add(processes->spaces, &pending.event))
			processes->lost++;
		free(pending.path);
	}
	processes->pending.n = kept;
}

void processes__drop_mappings(struct processes *processes, uint64_t time)
{
	size_t kept = 0;

	for (size_t i = 0; i < processes->pending.n; i++) {
		if (processes->pending.data[i].event.time >= time)
			processes->pending.data[kept++] = processes->pending.data[i];
		else
			free(processes->pending.data[i].path);
	}
	processes->pending.n = kept;
}

void processes__find_parents(struct processes *processes)
{
	size_t before, kept;

	do { /* again: one may be the parent of another */
		before = processes->orphans.n;
		kept = 0;
		for (size_t i = 0; i < before; i++) {
			struct orphan orphan = processes->orphans.data[i];
			uint32_t parent = process_of(processes, orphan.parent);

			if (!unwinder__fork_late(processes->unwinder, parent, orphan.pid))
				processes->orphans.data[kept++] = orphan;
		}
		processes->orphans.n = kept;
	} while (kept && kept < before);
	processes->orphans.n = 0;
}

void processes__end(struct processes *processes)
{
	size_t kept = 0;

	for (size_t i = 0; i < processes->ending.n; i++) {
		struct ending ending = processes->ending.data[i];

		if (is_alive(ending.pid))
			processes->ending.data[kept++] = ending;
		else
			end_process(processes, ending.pid, ending.time);
	}
	processes->ending.n = kept;
}

uint64_t processes__lost(const struct processes *processes)
{
	return processes->lost;
}

void processes__free(struct processes *processes)
{
	processes__drop_mappings(processes, UINT64_MAX);
	array__free(&processes->pending);
	leaving_map__free(&processes->threads);
	array__free(&processes->orphans);
	array__free(&processes->ending);
	leaving_map__free(&processes->known);
	free(processes);
}
