// SPDX-License-Identifier: BSD-2-Clause
/* Looks at a shadow stack that changes in between, or at the same time. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/latency/shadow_scan.h"

struct told {
	ARRAY(struct observed_call) calls;
	size_t shorts, ended_in_pair;
	uint64_t short_ns;
};

static void on_call(void *arg, const struct observed_call *call)
{
	struct told *told = arg;

	assert_int_equal(array__push(&told->calls, *call), 0);
}

static void on_thread(void *arg, struct shadow_scan *scan)
{
	scan->tid = scan->own_tid;
	if (scan->stack->begun)
		shadow_scan__know_begin(scan, scan->stack->begun);
}

static void on_short_call(void *arg, const struct observed_call *call, unsigned looks)
{
	struct told *told = arg;

	told->shorts++;
	told->short_ns += call->end - call->begin;
	told->ended_in_pair += (call->flags & OBSERVED_CALL_IN_PAIR) != 0;
}

struct fixture {
	struct shadow_stack *stack;
	struct shadow_scan scan;
	struct told told;
	struct scan_sink sink;
	uint64_t generation;
	size_t depth;
};

static void set_up(struct fixture *f)
{
	*f = (struct fixture){.stack = calloc(1, sizeof(*f->stack)), .generation = 1};
	f->stack->state = SHADOW_USED;
	f->scan.stack = f->stack;
	f->scan.long_ns = 1000;
	f->sink = (struct scan_sink){.on_thread = on_thread,
				     .on_call = on_call,
				     .on_short_call = on_short_call,
				     .arg = &f->told};
}

static void tear_down(struct fixture *f)
{
	shadow_scan__free(&f->scan);
	array__free(&f->told.calls);
	free(f->stack);
}

static void push(struct fixture *f, uint64_t function)
{
	struct shadow_entry *entry = &f->stack->entries[f->depth++];

	entry->function = function;
	entry->site = function + 0x100;
	f->generation += 2;
	__atomic_store_n(&entry->generation, f->generation, __ATOMIC_RELEASE);
}

static void pop(struct fixture *f)
{
	__atomic_store_n(&f->stack->entries[--f->depth].generation, 0, __ATOMIC_RELEASE);
}

/* Times of looks that are not late, however slow this test is. */
static uint64_t later(void)
{
	static uint64_t time;

	if (!time)
		time = now_ns(CLOCK_MONOTONIC) + 3600000000000;
	return time += 100;
}

static void look(struct fixture *f, uint64_t time, bool second)
{
	assert_int_equal(shadow_scan__look(&f->scan, time, &second, &f->sink), 0);
}

static void calls_are_seen(void **state)
{
	struct fixture f;

	set_up(&f);
	push(&f, 1);
	look(&f, later(), false);
	look(&f, later(), true);
	push(&f, 2);
	look(&f, later(), false); /* 2 begins */
	look(&f, later(), true);
	look(&f, later(), false);
	pop(&f);
	push(&f, 3);
	look(&f, later(), true); /* 2 ends, in a pair */
	pop(&f);
	look(&f, later(), false); /* 3 was short */
	assert_int_equal(f.told.calls.n, 1);
	assert_int_equal(f.told.calls.data[0].function, 2);
	assert_int_equal(f.told.calls.data[0].caller, 1);
	assert_int_equal(f.told.calls.data[0].depth, 1);
	assert_int_equal(f.told.calls.data[0].flags, OBSERVED_CALL_IN_PAIR);
	assert_true(f.told.calls.data[0].begin <= f.told.calls.data[0].end);
	assert_int_equal(f.told.shorts, 1);
	assert_int_equal(f.told.ended_in_pair, 0);
	shadow_scan__finish(&f.scan, &f.sink);
	assert_int_equal(f.told.calls.n, 2);
	assert_int_equal(f.told.calls.data[1].flags,
			 OBSERVED_CALL_UNFINISHED | OBSERVED_CALL_EARLIER);
	tear_down(&f);
}

/* The same function at the same depth, called again. */
static void another_call_is_told_from_the_same(void **state)
{
	struct fixture f;

	set_up(&f);
	push(&f, 1);
	look(&f, later(), false);
	look(&f, later(), true);
	pop(&f);
	push(&f, 1);
	look(&f, later(), false);
	assert_int_equal(f.told.shorts, 1);
	assert_int_equal(f.scan.calls.n, 1);
	tear_down(&f);
}

/* An entry above one that is younger than it was left behind: it is not in progress. */
static void what_was_left_behind_is_not_seen(void **state)
{
	struct fixture f;

	set_up(&f);
	push(&f, 1);
	push(&f, 2);
	f.depth = 0; /* by an exception, say */
	push(&f, 3);
	look(&f, later(), false);
	assert_int_equal(f.scan.calls.n, 1);
	assert_int_equal(f.scan.calls.data[0].function, 3);
	tear_down(&f);
}

/* The stack of a thread that ended within a call, which another thread has taken over. */
static void calls_stay_with_their_thread(void **state)
{
	struct fixture f;

	set_up(&f);
	f.stack->tid = 100;
	push(&f, 1);
	look(&f, later(), false);
	look(&f, later(), true);
	look(&f, later(), false);
	pop(&f);
	f.stack->tid = 200;
	push(&f, 2);
	look(&f, later(), true);
	assert_int_equal(f.told.calls.n, 1);
	assert_int_equal(f.told.calls.data[0].function, 1);
	assert_int_equal(f.told.calls.data[0].tid, 100);
	assert_true(f.told.calls.data[0].flags & OBSERVED_CALL_UNFINISHED);
	look(&f, later(), false);
	shadow_scan__finish(&f.scan, &f.sink);
	assert_int_equal(f.told.calls.data[1].function, 2);
	assert_int_equal(f.told.calls.data[1].tid, 200);
	tear_down(&f);
}

/* A look for which the scanner lost its CPU before it read the stack ends no pair. */
static void late_looks_end_no_pair(void **state)
{
	uint64_t before = now_ns(CLOCK_MONOTONIC) - 2000000;
	bool second = true;
	struct fixture f;

	set_up(&f);
	push(&f, 1);
	look(&f, before - 100, true);
	look(&f, before, true);
	f.scan.seen = before;
	pop(&f);
	push(&f, 2);
	assert_int_equal(shadow_scan__look(&f.scan, before + 100, &second, &f.sink), 0);
	assert_false(second);
	assert_int_equal(f.told.ended_in_pair, 0);
	assert_in_range(f.scan.calls.data[0].begin, before + 1000000, now_ns(CLOCK_MONOTONIC));
	assert_in_range(f.scan.calls.data[0].begin_slack, 1000000,
			now_ns(CLOCK_MONOTONIC) - before);
	tear_down(&f);
}

/* Only one look saw it, as the scanner lost its CPU then: it may have been long nevertheless. */
static void calls_of_unknown_length_are_told(void **state)
{
	struct fixture f;
	uint64_t now;

	set_up(&f);
	look(&f, later(), true);
	push(&f, 1);
	look(&f, now = later(), true);
	pop(&f);
	look(&f, now + 500000, false);
	assert_int_equal(f.told.calls.n, 1);
	assert_int_equal(f.told.calls.data[0].end_slack, 250000);
	tear_down(&f);
}

/* Looks at @time if that is needed. */
static bool look_if_needed(struct fixture *f, uint64_t time, bool second)
{
	bool needed = shadow_scan__is_needed(&f->scan, &time);

	if (needed)
		look(f, time, second);
	return needed;
}

/* A thread without a CPU is looked at once, as it was when it lost it. */
static void threads_that_do_not_run_are_left_alone(void **state)
{
	struct thread_run run = {};
	uint64_t now = later();
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	assert_true(look_if_needed(&f, now, false)); /* nothing is known of it */
	assert_true(look_if_needed(&f, now + 100, true));
	run.in = now + 150;
	push(&f, 1);
	assert_true(look_if_needed(&f, now + 200, true)); /* at that time */
	pop(&f);
	push(&f, 2);
	run.out = now + 220;
	assert_true(look_if_needed(&f, now + 5000, true));
	assert_int_equal(f.scan.calls.data[0].begin, now + 210);
	assert_int_equal(f.scan.calls.data[0].begin_slack, 10);
	assert_false(look_if_needed(&f, now + 6000, false));
	assert_false(look_if_needed(&f, now + 6100, true));
	pop(&f);
	push(&f, 3);
	run.in = now + 9000;
	/* Within a pair: what changed did so since it got the CPU. */
	assert_false(f.scan.calls.data[0].function == 3);
	look_if_needed(&f, now + 9004, true);
	assert_int_equal(f.scan.calls.data[0].function, 3);
	assert_in_range(f.scan.calls.data[0].begin, now + 9000, now + 9004);
	assert_in_range(f.scan.calls.data[0].begin_slack, 0, 2);
	tear_down(&f);
}

/*
 * It gets the CPU back after the scanner saw that it had none, and before the stack is read: what
 * changed did so by now, not before it had lost the CPU.
 */
static void runs_that_begin_before_the_read_are_seen(void **state)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC) - 50000000, time = now + 3000000;
	struct thread_run run = {.in = now};
	bool second = false;
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	push(&f, 1);
	look(&f, now + 10, false);
	f.scan.calls.data[0].begin = f.scan.seen = f.scan.looked = now + 10;
	run.out = now + 1000000;
	assert_true(shadow_scan__is_needed(&f.scan, &time));
	assert_int_equal(time, run.out);
	run.in = now + 2000000;
	pop(&f);
	assert_int_equal(shadow_scan__look(&f.scan, time, &second, &f.sink), 0);
	assert_int_equal(f.told.calls.n, 1);
	assert_true(f.told.calls.data[0].end + f.told.calls.data[0].end_slack >= run.in);
	tear_down(&f);
}

/* Number of runs of the child @pid, as soon as it sleeps for good. */
static uint64_t arrivals_of(pid_t pid)
{
	unsigned long long arrivals = 0, before;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	do {
		before = arrivals;
		usleep(20000);
		file = fopen(path, "re");
		assert_non_null(file);
		assert_int_equal(fscanf(file, "%*u %*u %llu", &arrivals), 1);
		fclose(file);
	} while (arrivals < 3 || arrivals != before);
	return arrivals;
}

/*
 * A late look at a thread that has lost its CPU at @out, after which its stack changed; @arrivals:
 * how often it had got one by then. Returns when the call is said to have ended at the latest.
 */
static uint64_t end_by_late_look(pid_t pid, uint64_t out, uint64_t arrivals)
{
	struct thread_run run = {.in = out - 1000000, .arrivals = arrivals - 1};
	uint64_t time = out + 3000000, end;
	bool second = false;
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	f.scan.pid = f.stack->tid = (uint32_t)pid;
	push(&f, 1);
	look(&f, out - 500000, false);
	f.scan.calls.data[0].begin = f.scan.seen = f.scan.looked = out - 500000;
	run.out = out;
	run.arrivals = arrivals;
	assert_true(shadow_scan__is_needed(&f.scan, &time));
	assert_int_equal(time, out);
	pop(&f);
	assert_int_equal(shadow_scan__look(&f.scan, time, &second, &f.sink), 0);
	shadow_scan__finish(&f.scan, &f.sink);
	assert_int_equal(f.told.calls.n, 1);
	end = f.told.calls.data[0].end + f.told.calls.data[0].end_slack;
	tear_down(&f);
	return end;
}

/* No switch-in was traced, but the scheduler's statistics count one more run of the thread. */
static void hidden_runs_are_seen(void **state)
{
	uint64_t out = now_ns(CLOCK_MONOTONIC) - 50000000, arrivals;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 3; i++) /* gets a CPU some times */
			usleep(1000);
		for (;;)
			pause();
	}
	arrivals = arrivals_of(pid);
	assert_true(end_by_late_look(pid, out, arrivals) <= out);
	assert_true(end_by_late_look(pid, out, arrivals - 1) >= out + 3000000);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(end_by_late_look(pid, out, arrivals) >= out + 3000000); /* it has ended since */
}

/* It ran at the last look, went on, lost the CPU and got it once more: both runs are unknown. */
static void runs_go_on_after_looks(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now, .out = now - 10, .arrivals = 7};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	assert_true(look_if_needed(&f, now + 100, false));
	push(&f, 1);
	run.out = now + 2000;
	run.ran += 2000;
	run.arrivals++;
	run.in = now + 3000;
	run.out = now + 3100;
	run.ran += 100;
	run.arrivals++;
	assert_true(look_if_needed(&f, now + 4000, false));
	assert_int_equal(f.scan.calls.data[0].begin, now + 1600); /* 100 to 3100 */
	assert_int_equal(f.scan.calls.data[0].begin_slack, 1500);
	tear_down(&f);
}

/* It ran between two looks, and lost the CPU again. */
static void runs_between_looks_are_seen(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now, .out = now + 10, .arrivals = 7};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	push(&f, 1);
	assert_true(look_if_needed(&f, now + 1000, false));
	assert_false(look_if_needed(&f, now + 2000, false));
	run.in = now + 2500;
	pop(&f);
	push(&f, 2);
	run.out = now + 2600;
	run.ran += 100;
	run.arrivals++;
	assert_true(look_if_needed(&f, now + 3000, false));
	assert_int_equal(f.scan.calls.data[0].function, 2);
	assert_int_equal(f.scan.calls.data[0].begin, now + 2550); /* 2500 to 2600 */
	assert_false(look_if_needed(&f, now + 3500, false));
	/* Twice: only the last time is known. */
	run.in = now + 3800;
	pop(&f);
	push(&f, 3);
	run.out = now + 3900;
	run.ran += 150;
	run.arrivals += 2;
	assert_true(look_if_needed(&f, now + 3950, false));
	assert_int_equal(f.scan.calls.data[0].begin, now + 3700); /* 3500 to 3900 */
	assert_false(look_if_needed(&f, now + 4000, false));
	/* It has ended, and another thread has the stack. */
	run.in = run.out = 0;
	pop(&f);
	f.stack->tid = 300;
	assert_true(look_if_needed(&f, now + 5000, false));
	assert_int_equal(f.scan.calls.n, 0);
	tear_down(&f);
}

static void full_stacks_are_read(void **state)
{
	struct fixture f;

	set_up(&f);
	for (size_t i = 0; i < SHADOW_DEPTH; i++)
		push(&f, i + 1);
	look(&f, later(), false);
	assert_int_equal(f.scan.calls.n, SHADOW_DEPTH);
	for (size_t i = 0; i < SHADOW_DEPTH; i++)
		pop(&f);
	look(&f, later(), false);
	assert_int_equal(f.scan.calls.n, 0);
	tear_down(&f);
}

#define DEPTH 6

static bool stop;

/* Function n is only ever called by n - 1, and the last two digits of a chain are the same. */
static void *change(void *arg)
{
	struct fixture *f = arg;

	for (uint64_t round = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); round++) {
		size_t depth = 1 + round % DEPTH;

		for (size_t i = 0; i < depth; i++)
			push(f, (i + 1) * 1000000 + round % 1000);
		for (size_t i = 0; i < depth; i++)
			pop(f);
	}
	return NULL;
}

/* Whatever a look sees was there at one time: a chain of one round, without a hole. */
static void looks_are_consistent(void **state)
{
	size_t seen = 0, torn = 0;
	struct fixture f;
	pthread_t thread;

	set_up(&f);
	stop = false;
	assert_int_equal(pthread_create(&thread, NULL, change, &f), 0);
	for (size_t i = 0; i < 2000000 && seen < 200000; i++) {
		bool second = i & 1;

		torn += shadow_scan__look(&f.scan, now_ns(CLOCK_MONOTONIC), &second, &f.sink) != 0;
		for (size_t k = 0; k < f.scan.calls.n; k++) {
			assert_int_equal(f.scan.calls.data[k].function / 1000000, k + 1);
			assert_int_equal(f.scan.calls.data[k].function % 1000,
					 f.scan.calls.data[0].function % 1000);
		}
		seen += f.scan.calls.n > 1;
		f.told.calls.n = 0;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_true(seen > 0);
	print_message("# %zu chains, %zu looks given up\n", seen, torn);
	tear_down(&f);
}

/* One that is within another call of the function by the same caller adds no time to them. */
static void nested_calls_are_marked(void **state)
{
	struct fixture f;

	set_up(&f);
	push(&f, 1);
	push(&f, 2);
	push(&f, 2);
	push(&f, 2); /* by itself, as the one before */
	push(&f, 1);
	push(&f, 2); /* by 1, again */
	push(&f, 1); /* by 2, again */
	look(&f, later(), false);
	shadow_scan__finish(&f.scan, &f.sink);
	assert_int_equal(f.told.shorts + f.told.calls.n, 7);
	for (size_t i = 0; i < f.told.calls.n; i++) {
		const struct observed_call *call = &f.told.calls.data[i];
		bool nested = call->flags & OBSERVED_CALL_NESTED;

		assert_int_equal(nested, call->depth == 3 || call->depth > 4);
		assert_int_equal(call->site, call->function + 0xff);
	}
	tear_down(&f);
}

/* Whatever the looks see: at each depth, times are at most those of the depth below. */
static void times_add_up(void **state)
{
	uint64_t begin = later(), time = begin, depths[4] = {};
	struct fixture f;

	set_up(&f);
	f.scan.long_ns = 0; /* all are told one by one */
	srand(1);
	for (int i = 0; i < 100000; i++) {
		for (int n = rand() % 4; n > 0; n--)
			if (f.depth < 4 && rand() % 2)
				push(&f, 1 + (uint64_t)rand() % 3);
			else if (f.depth)
				pop(&f);
		look(&f, time += 1 + (uint64_t)(rand() % 50 ? rand() % 1000 : rand()), rand() % 2);
	}
	shadow_scan__finish(&f.scan, &f.sink);
	assert_true(f.told.calls.n > 10000);
	for (size_t i = 0; i < f.told.calls.n; i++)
		depths[f.told.calls.data[i].depth] +=
			f.told.calls.data[i].end - f.told.calls.data[i].begin;
	assert_true(depths[0] <= time - begin && depths[3] > 0);
	for (int i = 1; i < 4; i++)
		assert_true(depths[i] <= depths[i - 1]);
	tear_down(&f);
}

/* Generations count what no look has seen; not if one was skipped meanwhile. */
static void pushes_are_counted(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	push(&f, 1);
	look(&f, now + 100, false);
	for (int i = 0; i < 10; i++) {
		push(&f, 2);
		pop(&f);
	}
	look(&f, now + 1100, false); /* none of them is there */
	assert_int_equal(f.scan.report.pushes, 0);
	push(&f, 3);
	look(&f, now + 1200, true);
	assert_int_equal(f.scan.report.pushes, 11);
	assert_int_equal(f.scan.report.pushes_ns, 1100);
	f.generation += 1000;
	f.stack->skips += 2;
	push(&f, 4);
	look(&f, now + 1300, false);
	assert_int_equal(f.scan.report.pushes, 11);
	f.stack->skips++; /* another one has begun */
	push(&f, 5);
	look(&f, now + 1400, false);
	f.generation += 1000;
	push(&f, 6);
	f.stack->skips++;
	look(&f, now + 1500, false);
	assert_int_equal(f.scan.report.pushes, 11);
	push(&f, 7);
	look(&f, now + 1600, false);
	assert_int_equal(f.scan.report.pushes, 12);
	assert_int_equal(f.scan.report.pushes_ns, 1200);
	assert_int_equal(f.scan.report.gap_ns[0] + 100,
			 f.scan.report.ns); /* before the first look */
	tear_down(&f);
}

/* The first look came late, but nothing was missed by that: neither calls that it made, nor when
 * its first one began. */
static void beginnings_are_known(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	f.stack->tid = 1;
	f.stack->first = f.generation;
	f.stack->begun = now + 1000;
	push(&f, 1);
	for (int i = 0; i < 10; i++) {
		push(&f, 2);
		pop(&f);
	}
	push(&f, 3);
	look(&f, now + 9000, false);
	assert_int_equal(f.scan.report.pushes, 12);
	assert_int_equal(f.scan.report.pushes_ns, 9000);
	assert_int_equal(f.scan.report.ns, 9000);
	assert_int_equal(f.scan.calls.data[0].begin, now + 1000);
	assert_int_equal(f.scan.calls.data[0].begin_slack, 0);
	assert_int_equal(f.scan.calls.data[0].flags, 0);
	assert_int_equal(f.scan.calls.data[1].begin, now + 5000);
	assert_int_equal(f.scan.calls.data[1].begin_slack, 4000);
	tear_down(&f);
}

/* A stack that is found again: its run time until then was reported. */
static void run_time_is_reported_once(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	f.scan.goes_on = true;
	push(&f, 1);
	look(&f, now + 9000, false);
	assert_int_equal(f.scan.report.ns, 0);
	push(&f, 2);
	look(&f, now + 10000, false);
	assert_int_equal(f.scan.report.ns, 1000);
	assert_int_equal(f.scan.report.pushes, 1);
	assert_int_equal(f.scan.report.pushes_ns, 1000);
	tear_down(&f);
}

/* In a child process, the calls of its parent go on. */
static void calls_of_parents_are_earlier(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	push(&f, 1);
	f.stack->tid = 1;
	f.stack->first = f.generation;
	f.stack->begun = now + 1000;
	push(&f, 2);
	look(&f, now + 3000, false);
	assert_int_equal(f.scan.report.pushes, 1);
	assert_int_equal(f.scan.calls.data[0].begin, now + 1000);
	assert_int_equal(f.scan.calls.data[0].flags, OBSERVED_CALL_EARLIER);
	assert_int_equal(f.scan.calls.data[1].begin, now + 1000);
	assert_int_equal(f.scan.calls.data[1].flags, 0);
	tear_down(&f);
}

/* A thread that was woken, or that lost its CPU to another one, waits for one until it has got it.
 */
static void waiting_for_a_cpu_is_seen(void **state)
{
	struct thread_run run = {};
	struct shadow_scan scan = {.run = &run};

	assert_false(shadow_scan__has_cpu(&scan) || shadow_scan__waits_for_cpu(&scan));
	run.in = 1000;
	assert_true(shadow_scan__has_cpu(&scan) && !shadow_scan__waits_for_cpu(&scan));
	run.runnable = run.out = 2000; /* preempted */
	assert_true(!shadow_scan__has_cpu(&scan) && shadow_scan__waits_for_cpu(&scan));
	run.in = 3000;
	assert_true(shadow_scan__has_cpu(&scan) && !shadow_scan__waits_for_cpu(&scan));
	run.out = 4000; /* sleeps */
	assert_false(shadow_scan__has_cpu(&scan) || shadow_scan__waits_for_cpu(&scan));
	run.runnable = 5000;
	assert_true(!shadow_scan__has_cpu(&scan) && shadow_scan__waits_for_cpu(&scan));
	run.in = run.out = 0; /* ended */
	assert_false(shadow_scan__has_cpu(&scan) || shadow_scan__waits_for_cpu(&scan));
}

/* What the kernel says of a thread that has ended is not that it runs. */
static void ended_threads_do_not_run(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	push(&f, 1);
	assert_true(look_if_needed(&f, now + 100, false));
	assert_true(look_if_needed(&f, now + 300, false));
	assert_int_equal(f.scan.report.ns, 300);
	run = (struct thread_run){};
	assert_false(look_if_needed(&f, now + 50000000, false));
	assert_int_equal(f.scan.report.ns, 300);
	shadow_scan__finish(&f.scan, &f.sink);
	assert_int_equal(f.told.calls.data[0].end, now + 300);
	tear_down(&f);
}

/* A run whose end comes while its times are read seems to be there twice. */
static void runs_do_not_count_twice(void **state)
{
	uint64_t now = later();
	struct thread_run run = {.in = now, .ran = 0};
	struct fixture f;

	set_up(&f);
	f.scan.run = &run;
	push(&f, 1);
	look(&f, now + 1000, false);
	run.ran = 5000; /* it ends at now + 5000, which is not to be seen yet */
	look(&f, now + 5000, false);
	run.out = now + 5000;
	look(&f, now + 5000, false);
	run.in = now + 7000;
	look(&f, now + 9000, false);
	run.out = now + 20000;
	run.ran += 13000;
	look(&f, now + 20000, false);
	assert_in_range(f.scan.report.ns, 18000 - 1, 18000 + 1); /* 0 to 5000, 7000 to 20000 */
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_calls_are_marked),
		cmocka_unit_test(times_add_up),
		cmocka_unit_test(pushes_are_counted),
		cmocka_unit_test(beginnings_are_known),
		cmocka_unit_test(calls_of_parents_are_earlier),
		cmocka_unit_test(run_time_is_reported_once),
		cmocka_unit_test(waiting_for_a_cpu_is_seen),
		cmocka_unit_test(ended_threads_do_not_run),
		cmocka_unit_test(runs_do_not_count_twice),
		cmocka_unit_test(calls_are_seen),
		cmocka_unit_test(another_call_is_told_from_the_same),
		cmocka_unit_test(what_was_left_behind_is_not_seen),
		cmocka_unit_test(calls_stay_with_their_thread),
		cmocka_unit_test(late_looks_end_no_pair),
		cmocka_unit_test(calls_of_unknown_length_are_told),
		cmocka_unit_test(threads_that_do_not_run_are_left_alone),
		cmocka_unit_test(runs_that_begin_before_the_read_are_seen),
		cmocka_unit_test(hidden_runs_are_seen),
		cmocka_unit_test(runs_go_on_after_looks),
		cmocka_unit_test(runs_between_looks_are_seen),
		cmocka_unit_test(full_stacks_are_read),
		cmocka_unit_test(looks_are_consistent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
