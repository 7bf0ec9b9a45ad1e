// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"

struct known_thread {
	uint32_t tgid;
	bool leader;
	bool announced;
};

/* A process whose parent is not known yet: events of different CPUs are not ordered. */
struct orphan {
	uint32_t parent; /* thread */
	uint32_t pid;
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
	ARRAY(struct known_thread) threads; /* by number */
	ARRAY(struct orphan) orphans;
	ARRAY(struct pending_mapping) pending;
	struct map64 known; /* pids */
	uint64_t lost;
};

int processes__new(struct address_spaces *spaces, struct unwinder *unwinder, uint64_t start,
		   struct processes **out)
{
	struct processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	processes->spaces = spaces;
	processes->unwinder = unwinder;
	processes->start = start;
	*out = processes;
	return 0;
}

static struct known_thread *known_thread(struct processes *processes, uint32_t number)
{
	const struct known_thread unknown = {};

	while (processes->threads.n <= number)
		if (array__push(&processes->threads, unknown)) // NOLINT(*NullDereference)
			return NULL;
	return &processes->threads.data[number];
}

void processes__add(struct processes *processes, uint32_t pid)
{
	if (map64__get(&processes->known, pid))
		return;
	map64__put(&processes->known, pid, 0);
	if (address_spaces__read_process(processes->spaces, (pid_t)pid, processes->start))
		processes->lost++;
}

/*
 * A process that was created during the recording gets its parent's mappings; those of others
 * (including processes of wakers, whose stacks are taken) are read.
 */
static void on_process(struct processes *processes, const struct event_thread *event)
{
	const struct known_thread *parent = known_thread(processes, event->parent);

	if (event->flags & THREAD_KERNEL)
		return;
	if (event->flags & THREAD_TARGET && !(event->flags & THREAD_HELPER))
		unwinder__record(processes->unwinder, event->tgid);
	if (!(event->flags & THREAD_CREATED)) {
		processes__add(processes, event->tgid);
	} else if (event->tid == event->tgid) {
		map64__put(&processes->known, event->tgid, 0);
		if (event->parent && parent &&
		    !unwinder__fork(processes->unwinder, parent->tgid, event->tgid))
			(void)array__push(&processes->orphans,
					  ((struct orphan){event->parent, event->tgid}));
	}
}

static void on_thread(struct processes *processes, const struct event_thread *event)
{
	struct known_thread *thread = known_thread(processes, event->header.thread);

	if (!thread)
		return;
	/* The final walk over all tasks sends every thread again, without its parent. */
	if (thread->announced && !event->parent)
		return;
	thread->tgid = event->tgid;
	thread->leader = event->tid == event->tgid;
	thread->announced = event->flags & THREAD_TARGET;
	on_process(processes, event);
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

static void on_totals(struct processes *processes, const struct event_totals *event)
{
	const struct known_thread *thread = known_thread(processes, event->header.thread);

	if (!thread || !(event->flags & TOTALS_EXITED) || event->flags & TOTALS_PROVISIONAL)
		return;
	if (thread->leader && !is_alive(thread->tgid))
		unwinder__end(processes->unwinder, thread->tgid, event->header.time);
}

void processes__event(struct processes *processes, const struct event_header *event, size_t size)
{
	if (event->type == EVENT_THREAD && size >= sizeof(struct event_thread))
		on_thread(processes, (const void *)event);
	else if (event->type == EVENT_EXEC && size >= sizeof(struct event_exec))
		unwinder__forget(processes->unwinder, ((const struct event_exec *)event)->tid,
				 event->time);
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
		    !map64__get(&processes->known, (uint64_t)pending.event.pid)) {
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
			const struct known_thread *parent = known_thread(processes, orphan.parent);

			if (!parent ||
			    !unwinder__fork_late(processes->unwinder, parent->tgid, orphan.pid))
				processes->orphans.data[kept++] = orphan;
		}
		processes->orphans.n = kept;
	} while (kept && kept < before);
	processes->orphans.n = 0;
}

uint64_t processes__lost(const struct processes *processes)
{
	return processes->lost;
}

void processes__free(struct processes *processes)
{
	processes__drop_mappings(processes, UINT64_MAX);
	array__free(&processes->pending);
	array__free(&processes->threads);
	array__free(&processes->orphans);
	map64__free(&processes->known);
	free(processes);
}
