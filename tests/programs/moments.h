/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the truth of a known-answer program is measured with: moments of a
 * thread, of wall time, on-CPU time and run-queue time, and what lies between.
 * A moment costs some us of CPU, which is part of the truth too.
 *
 * All is told by perf events: when the thread came to a CPU and left it, and
 * when somebody began to wake it. The kernel's CPU clock would not do: it begins
 * when a thread that is to preempt another is put into the queue, in the
 * interrupt that wakes it, and stands still while a hypervisor has taken the CPU
 * away from the thread that runs there. Wakeups by interrupts of a CPU that is
 * idle are not told of on every machine: who needs these keeps the CPUs warm.
 *
 * What lies between two threads, some us, is nobody's by their switches. By the
 * kernel it is the next one's: a program whose threads run for a short time
 * each calls measure_switches() first.
 */
#pragma once

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "known.h"

#define WATCH_CPUS   1024 /* as many as cpu_set_t has */
#define SWITCH_PAGES 64	  /* powers of two; room for 16,000 switches between two moments */
#define WAKING_PAGES 8	  /* and for 2,000 wakeups on one CPU */

/* What a perf event told, and nobody has read yet. */
struct ring {
	struct perf_event_mmap_page *page;
	size_t pages;
};

/* The events of one thread, to be used by this thread only. */
struct watch {
	struct ring switches;
	struct ring wakings[WATCH_CPUS];
	int cpus;
	uint64_t cpu;	   /* of the runs that are over */
	uint64_t runqueue; /* before the present run */
	uint64_t came;	   /* begin of the present run */
	uint64_t left;	   /* end of the one before */
	bool preempted;	   /* and why it ended */
};

struct ring_record {
	struct perf_event_header header;
	uint64_t time;
};

HELPER int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_TIME;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	return syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Takes @fd, which the mapping keeps open. */
HELPER struct ring ring__map(int fd, size_t pages)
{
	size_t size = (1 + pages) * sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		die("mmap of a perf event");
	close(fd);
	return (struct ring){page, pages};
}

/* The next record, if it is of @until or before. They are 16 bytes each, and so never wrap. */
HELPER bool ring__take(struct ring *ring, uint64_t until, struct ring_record *record)
{
	const size_t page = sysconf(_SC_PAGESIZE), size = ring->pages * page;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;

	if (head == tail)
		return false;
	memcpy(record, (const char *)ring->page + page + tail % size, sizeof(*record));
	if (head - tail >= size || record->header.size != sizeof(*record)) {
		errno = EOVERFLOW;
		die("too many switches or wakeups between two moments");
	}
	if (record->time > until)
		return false;
	__atomic_store_n(&ring->page->data_tail, tail + sizeof(*record), __ATOMIC_RELEASE);
	return true;
}

/* By a mount of tracefs that nobody else sees. */
HELPER uint64_t id_of_waking(void)
{
	int fs = fsopen("tracefs", FSOPEN_CLOEXEC), mounted, fd;
	char text[32] = "";

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		die("tracefs");
	mounted = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	fd = openat(mounted, "events/sched/sched_waking/id", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die("sched_waking");
	close(fd);
	close(mounted);
	close(fs);
	return strtoull(text, NULL, 10);
}

/* On every CPU: they are events of those that wake. */
HELPER void watch__open_wakings(struct watch *watch)
{
	static uint64_t id;
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .sample_period = 1};
	int cpus = sysconf(_SC_NPROCESSORS_CONF);
	char filter[32];

	if (!__atomic_load_n(&id, __ATOMIC_RELAXED))
		__atomic_store_n(&id, id_of_waking(), __ATOMIC_RELAXED);
	attr.config = __atomic_load_n(&id, __ATOMIC_RELAXED);
	snprintf(filter, sizeof(filter), "pid == %d", thread_id());
	for (int cpu = 0; cpu < cpus && watch->cpus < WATCH_CPUS; cpu++) {
		int fd = open_event(&attr, -1, cpu);

		if (fd < 0 && errno == ENODEV)
			continue;
		if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
			die("perf_event_open, for wakeups of a thread");
		watch->wakings[watch->cpus++] = ring__map(fd, WAKING_PAGES);
	}
}

/* The length of a switch, in ns, which a thread's on-CPU time begins with. 0: not measured. */
static uint64_t switch_ns;

/* For on-CPU time only. */
HELPER void watch__open_switches(struct watch *watch)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.context_switch = 1,
		.exclude_kernel = 1,
	};
	int fd = open_event(&attr, 0, -1);

	if (fd < 0)
		die("perf_event_open, for a thread's own switches");
	*watch = (struct watch){.switches = ring__map(fd, SWITCH_PAGES)};
	watch->came = wall_ns();
}

HELPER void watch__open(struct watch *watch)
{
	watch__open_switches(watch);
	watch__open_wakings(watch);
}

HELPER void watch__close(struct watch *watch)
{
	size_t page = sysconf(_SC_PAGESIZE);

	munmap(watch->switches.page, (1 + watch->switches.pages) * page);
	for (int i = 0; i < watch->cpus; i++)
		munmap(watch->wakings[i].page, (1 + WAKING_PAGES) * page);
	*watch = (struct watch){};
}

/* When the thread, which came at @came, was woken: the last that somebody tried to. */
HELPER uint64_t watch__woken(struct watch *watch, uint64_t came)
{
	uint64_t woken = watch->left;
	struct ring_record record;

	for (int i = 0; i < watch->cpus; i++)
		while (ring__take(&watch->wakings[i], came, &record))
			if (record.time > woken)
				woken = record.time;
	return watch->preempted ? watch->left : woken;
}

HELPER void watch__comes(struct watch *watch, uint64_t at)
{
	uint64_t woken = watch__woken(watch, at);

	watch->came = at - switch_ns < woken ? woken : at - switch_ns;
	watch->runqueue += watch->came - woken;
}

/* Takes note of what was since the last call. The thread runs now, so the last was that it came. */
HELPER void watch__read(struct watch *watch)
{
	struct ring_record record;

	while (ring__take(&watch->switches, UINT64_MAX, &record)) {
		if (!(record.header.misc & PERF_RECORD_MISC_SWITCH_OUT)) {
			if (watch->left)
				watch__comes(watch, record.time);
			continue;
		}
		watch->cpu += record.time - watch->came;
		watch->left = record.time;
		watch->preempted = record.header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	}
}

/* The thread's on-CPU time up to *@wall, which is now; by its CPU clock, where no watch is open. */
HELPER uint64_t watch__cpu(struct watch *watch, uint64_t *wall)
{
	do {
		*wall = wall_ns();
		if (!watch->switches.page)
			return clock_ns(CLOCK_THREAD_CPUTIME_ID);
		watch__read(watch);
	} while (watch->came > *wall);
	return watch->cpu + *wall - watch->came;
}

#define TURNS 400

/* One of two threads that take turns on a CPU, and when it came and left. */
struct turns {
	int from;
	int to;
	uint64_t came[TURNS];
	uint64_t left[TURNS];
};

HELPER void *take_turns(void *arg)
{
	struct turns *turns = arg;
	struct watch watch;
	char byte = 0;

	watch__open(&watch);
	for (int i = 0; i < TURNS; i++) {
		if (write(turns->to, &byte, 1) != 1 || read(turns->from, &byte, 1) != 1)
			die("pipe");
		watch__read(&watch);
		turns->came[i] = watch.came;
		turns->left[i] = watch.left;
	}
	watch__close(&watch);
	return NULL;
}

/* The median time from when one of the two left to when the other came. */
HELPER uint64_t turns__between(const struct turns *one, const struct turns *two)
{
	uint64_t length[TURNS];
	int n = 0;

	for (int i = 0, k = 0; i < TURNS; i++) {
		while (k + 1 < TURNS && two->left[k + 1] < one->came[i])
			k++;
		if (two->left[k] && two->left[k] < one->came[i])
			length[n++] = one->came[i] - two->left[k];
	}
	qsort(length, n, sizeof(length[0]), compare_numbers);
	return n ? length[n / 2] : 0;
}

HELPER uint64_t measure_switch(void)
{
	static struct turns one, two;
	pthread_t first, second;
	int there[2], back[2];

	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		die("pipe");
	one = (struct turns){.from = back[0], .to = there[1]};
	two = (struct turns){.from = there[0], .to = back[1]};
	first = start_thread(take_turns, &one);
	second = start_thread(take_turns, &two);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return turns__between(&one, &two);
}

/* Before there are other threads. The shortest of some, because others use the CPU as well. */
HELPER void measure_switches(void)
{
	uint64_t shortest = UINT64_MAX;
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	stay_on(sched_getcpu());
	for (int i = 0; i < 8; i++) {
		uint64_t length = measure_switch();

		shortest = length < shortest ? length : shortest;
		sleep_ns(20 * NS_PER_MS);
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
	switch_ns = shortest;
}

/* What a thread has used up to now. */
struct moment {
	uint64_t wall;
	uint64_t cpu;
	uint64_t runqueue;
};

HELPER struct moment moment__now(struct watch *watch)
{
	struct moment now;

	now.cpu = watch__cpu(watch, &now.wall);
	now.runqueue = watch->runqueue;
	return now;
}

/* Sums over the phases of one kind. */
struct spent {
	uint64_t count;
	uint64_t wall;
	uint64_t cpu;
	uint64_t runqueue;
};

HELPER void spent__add(struct spent *spent, const struct moment *from, const struct moment *to)
{
	spent->count++;
	spent->wall += to->wall - from->wall;
	spent->cpu += to->cpu - from->cpu;
	spent->runqueue += to->runqueue - from->runqueue;
}

/* Neither on a CPU nor waiting for one. */
HELPER uint64_t spent__blocked(const struct spent *spent)
{
	return spent->wall - spent->cpu - spent->runqueue;
}
