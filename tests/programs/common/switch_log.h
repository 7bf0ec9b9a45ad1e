/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread measures its own wall time, on-CPU time and run-queue time, by a log of its switches and
 * wakeups, which perf events write. Times are in ns (CLOCK_MONOTONIC). Reading the log takes some
 * us of CPU time, which the times include.
 *
 * The thread's CPU clock is less exact: for a thread that preempts another one it starts in the
 * interrupt that wakes it, before the switch; and it stops while the hypervisor does not run the
 * CPU.
 *
 * Not every machine logs wakeups in interrupts of an idle CPU: a program that needs them keeps the
 * CPUs busy (keep_cpus_busy.h). A few are still not logged, where the kernel hides a task from
 * tracing: when the thread was woken is unknown then. Such a wait counts as blocked up to the next
 * run, and its length as unknown time: up to that much of the blocked time was run-queue time.
 *
 * Perf events of one thread's switch-out and the next one's switch-in lie some us apart. The kernel
 * counts this time for the next thread. A program whose threads run for short times only should
 * do the same: it calls switch_log__measure_switch() first.
 */
#pragma once

#include "tests/programs/common/program.h"

#define SWITCH_LOG_CPUS 1024 /* size of cpu_set_t */

struct perf_event_mmap_page;

/* The ring buffer of a perf event, with its unread records. */
struct event_ring {
	struct perf_event_mmap_page *page;
	size_t pages; /* of data: a power of two */
};

/* Used only by the thread that opened it. */
struct switch_log {
	struct event_ring switches;
	struct event_ring wakeups[SWITCH_LOG_CPUS]; /* by the CPU of the waker */
	int cpus;				    /* number of those; 0: not logged */
	uint64_t cpu;				    /* on-CPU time of completed runs */
	uint64_t runqueue;			    /* run-queue time before the current run */
	uint64_t unknown;			    /* waits whose wakeup was not logged */
	uint64_t switch_in;			    /* begin of the current run */
	uint64_t switch_out;			    /* end of the previous run */
	bool preempted;				    /* how the previous run ended */
};

/*
 * The first log of a process waits, maybe for a second, until the kernel has set up what perf
 * events need. To be called by the main thread, so that threads that are measured have not begun by
 * then: a profiler counts such a wait, and their logs do not.
 */
void switch_log__prepare(void);

/*
 * Logs switches and wakeups of the calling thread from now on. Between two reads, the log has room
 * for 16,000 switches, and 2,000 wakeups on one CPU; with more, a read fails.
 */
void switch_log__open(struct switch_log *log);

/* Logs switches only: run-queue time is not valid then. */
void switch_log__open_switches(struct switch_log *log);

void switch_log__close(struct switch_log *log);

/* Reads what was logged since the last call. */
void switch_log__read(struct switch_log *log);

/*
 * On-CPU time of the calling thread up to the present time, to which *@wall is set. If @log is not
 * open: by the thread's CPU clock, since the thread began.
 */
uint64_t switch_log__cpu(struct switch_log *log, uint64_t *wall);

/*
 * Measures how long a switch between two threads takes. From then on, runs begin earlier by that
 * time. To be called before the program has other threads. Takes about 0.5 s.
 */
void switch_log__measure_switch(void);

/* The times of a thread up to now. Only differences are meaningful. */
struct thread_times {
	uint64_t wall;
	uint64_t cpu;
	uint64_t runqueue;
	uint64_t unknown;
};

struct thread_times thread_times__now(struct switch_log *log);

/* Sums over the phases of one kind. */
struct phase_times {
	uint64_t count;
	uint64_t wall;
	uint64_t cpu;
	uint64_t runqueue;
	uint64_t unknown;
};

/* Adds the phase from @begin to @end. */
void phase_times__add(struct phase_times *sum, const struct thread_times *begin,
		      const struct thread_times *end);

/* Wall time without on-CPU and run-queue time. */
uint64_t phase_times__blocked(const struct phase_times *sum);
