/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the truth of a known-answer program is measured with: moments of a
 * thread, of wall time, on-CPU time and run-queue time, and what lies between.
 * A moment costs some us of CPU, which is part of the truth too.
 *
 * On-CPU time is what the thread's own perf event tells of its switches. The
 * kernel's CPU clock would not do: it begins when a thread that is to preempt
 * another is put into the queue, in the interrupt that wakes it, and so counts
 * the rest of that interrupt and the switch (5 to 10 us in a virtual machine) as
 * time of a thread that does not run yet. That time is run-queue time.
 */
#pragma once

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "known.h"

#define WATCH_PAGES 64 /* a power of two: room for 8,000 switches between two moments */

/* The clocks of one thread, to be used by this thread only. */
struct watch {
	int schedstat;
	struct perf_event_mmap_page *page;
	const char *records;
	uint64_t cpu;	   /* of the runs that are over */
	uint64_t since;	   /* begin of the present run */
	uint64_t slept_at; /* when it went to sleep last, of its own accord */
	uint64_t clock_at; /* the CPU clock, when the watch was opened */
};

struct switch_record {
	struct perf_event_header header;
	uint64_t time;
};

HELPER void watch__open_switches(struct watch *watch)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.context_switch = 1,
		.exclude_kernel = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	size_t page = sysconf(_SC_PAGESIZE);

	if (fd < 0)
		die("perf_event_open, for a thread's own switches");
	watch->page =
		mmap(NULL, (1 + WATCH_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (watch->page == MAP_FAILED)
		die("mmap of a perf event");
	watch->records = (const char *)watch->page + page;
	close(fd); /* the mapping keeps it */
}

/* Without switches: for waits that are long beside a wakeup, by threads soon started. */
HELPER void watch__open_clocks(struct watch *watch)
{
	char path[64];

	*watch = (struct watch){};
	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", thread_id());
	watch->schedstat = open(path, O_RDONLY | O_CLOEXEC);
	if (watch->schedstat < 0)
		die("%s", path);
	watch->clock_at = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	watch->since = wall_ns();
}

HELPER void watch__open(struct watch *watch)
{
	watch__open_clocks(watch);
	watch__open_switches(watch);
	watch->clock_at = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	watch->since = wall_ns();
}

/* Takes note of the thread's switches since the last call. It runs now, so the last was one in. */
HELPER void watch__read_switches(struct watch *watch)
{
	const uint64_t size = WATCH_PAGES * sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&watch->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = watch->page->data_tail;

	if (head - tail >= size) {
		errno = EOVERFLOW;
		die("too many switches between two moments");
	}
	while (tail < head) {
		struct switch_record record;

		/* They are 16 bytes each, and so never wrap. */
		memcpy(&record, watch->records + tail % size, sizeof(record));
		if (record.header.type != PERF_RECORD_SWITCH) {
			errno = EOVERFLOW;
			die("record %u among a thread's switches", record.header.type);
		}
		if (!(record.header.misc & PERF_RECORD_MISC_SWITCH_OUT)) {
			watch->since = record.time;
		} else {
			watch->cpu += record.time - watch->since;
			if (!(record.header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT))
				watch->slept_at = record.time;
		}
		tail += record.header.size;
	}
	__atomic_store_n(&watch->page->data_tail, tail, __ATOMIC_RELEASE);
}

HELPER uint64_t watch__run_delay(const struct watch *watch)
{
	char text[96];
	ssize_t size = pread(watch->schedstat, text, sizeof(text) - 1, 0);
	char *second;

	if (size <= 0)
		die("schedstat");
	text[size] = '\0';
	second = strchr(text, ' ');
	return second ? strtoull(second + 1, NULL, 10) : 0;
}

/* What a thread has used up to now. */
struct moment {
	uint64_t wall;
	uint64_t cpu;
	uint64_t runqueue;
};

/*
 * Reads all clocks of the calling thread together: when it was preempted in
 * between, they do not belong together and are read again.
 */
HELPER struct moment moment__now(struct watch *watch)
{
	struct moment now;
	uint64_t clock;
	int tries = 0;

	do {
		now.wall = wall_ns();
		clock = clock_ns(CLOCK_THREAD_CPUTIME_ID) - watch->clock_at;
		now.runqueue = watch__run_delay(watch);
		if (watch->page)
			watch__read_switches(watch);
	} while ((watch->since > now.wall || wall_ns() - now.wall > 20 * NS_PER_US) &&
		 ++tries < 10);
	now.cpu = watch->page ? watch->cpu + now.wall - watch->since : clock;
	now.runqueue += clock - now.cpu;
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

/* Its parts are read one after the other: of next to nothing the sum can be below 0. */
HELPER uint64_t spent__runqueue(const struct spent *spent)
{
	int64_t runqueue = spent->runqueue;

	return runqueue > 0 ? runqueue : 0;
}

/* Neither on a CPU nor waiting for one. */
HELPER uint64_t spent__blocked(const struct spent *spent)
{
	int64_t blocked = spent->wall - spent->cpu - spent->runqueue;

	return blocked > 0 ? blocked : 0;
}
