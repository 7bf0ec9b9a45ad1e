// SPDX-License-Identifier: BSD-2-Clause
/* Looks at a shadow stack that changes in between, or at the same time. */
#include "tests/unit/shadow_scan_support.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_seen),
		cmocka_unit_test(another_call_is_told_from_the_same),
		cmocka_unit_test(what_was_left_behind_is_not_seen),
		cmocka_unit_test(calls_stay_with_their_thread),
		cmocka_unit_test(late_looks_end_no_pair),
		cmocka_unit_test(calls_of_unknown_length_are_told),
		cmocka_unit_test(full_stacks_are_read),
		cmocka_unit_test(looks_are_consistent),
		cmocka_unit_test(nested_calls_are_marked),
		cmocka_unit_test(times_add_up),
		cmocka_unit_test(pushes_are_counted),
		cmocka_unit_test(beginnings_are_known),
		cmocka_unit_test(calls_of_parents_are_earlier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
