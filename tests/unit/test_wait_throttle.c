// SPDX-License-Identifier: BSD-2-Clause
/* The throttle of waits, against programs whose waits are known: how many per second at each
 * spacing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "collect/record/wait_throttle.h"

#define MS 1000000ULL

/*
 * @threads threads whose waits all last @wait_ms: how many hold a point, per second, at most. With
 * a spacing, each cell has two.
 */
static uint64_t waits_per_second(uint64_t threads, uint64_t wait_ms, unsigned int spacing)
{
	uint64_t points = spacing ? 2 : 1, apart = 1ULL << spacing; /* ms */

	return wait_ms * points > apart ? threads * 1000 / wait_ms
					: threads * points * 1000 / apart;
}

/* Runs the program for @ms, looking every 60 ms; returns the spacing at the end. */
static unsigned int run(struct wait_throttle *throttle, uint64_t *now, uint64_t ms,
			uint64_t threads, uint64_t wait_ms)
{
	for (uint64_t end = *now + ms * MS; *now < end;) {
		*now += 60 * MS;
		wait_throttle__step(
			throttle, waits_per_second(threads, wait_ms, throttle->spacing) * 60 / 1000,
			*now);
	}
	return throttle->spacing;
}

static void few_waits_are_all_kept(void **state)
{
	struct wait_throttle throttle;
	uint64_t now = 7;

	wait_throttle__start(&throttle, 2, MS, 2, now);
	assert_int_equal(run(&throttle, &now, 5000, 3, 1), 0);
}

/* As hackbench: what is left is at most what is wanted, and not far less. */
static void many_waits_are_thinned_out(void **state)
{
	static const uint64_t threads[] = {20, 160, 2000};

	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		struct wait_throttle throttle;
		uint64_t now = 7, left;

		wait_throttle__start(&throttle, 2, MS, 2, now);
		run(&throttle, &now, 5000, threads[i], 6);
		left = waits_per_second(threads[i], 6, throttle.spacing);
		assert_true(left <= 4000);
		assert_true(left >= 4000 / 6);
	}
}

/* It settles, instead of going to and fro. */
static void the_spacing_settles(void **state)
{
	struct wait_throttle throttle;
	uint64_t now = 7;
	unsigned int settled;

	wait_throttle__start(&throttle, 2, MS, 2, now);
	settled = run(&throttle, &now, 2000, 160, 6);
	for (int i = 0; i < 100; i++)
		assert_int_equal(run(&throttle, &now, 60, 160, 6), settled);
}

/*
 * All threads have the same common points, so their waits come at once: what it sees between two
 * points says nothing. (It once moved them together then, and apart again.)
 */
static void waits_may_come_all_at_once(void **state)
{
	const uint64_t threads = 200;
	struct wait_throttle throttle;
	uint64_t now = 0;
	unsigned int settled = 0;

	wait_throttle__start(&throttle, 1, MS, 2, now);
	for (int i = 0; i < 400; i++) {
		uint64_t apart = MS << throttle.spacing, before = now / apart;

		now += 55 * MS;
		wait_throttle__step(&throttle,
				    threads * (now / apart - before) +
					    (throttle.spacing ? threads * 55 * MS / apart : 0),
				    now);
		if (i == 100)
			settled = throttle.spacing;
		if (i > 100)
			assert_int_equal(throttle.spacing, settled);
	}
	assert_int_equal(settled, 8);
}

static void it_comes_back_when_there_are_few(void **state)
{
	struct wait_throttle throttle;
	uint64_t now = 7;

	wait_throttle__start(&throttle, 2, MS, 2, now);
	assert_true(run(&throttle, &now, 1000, 160, 6) > 2);
	assert_int_equal(run(&throttle, &now, 1000, 1, 6), 0);
}

static void no_limit_and_no_end(void **state)
{
	struct wait_throttle throttle;
	uint64_t now = 7;

	wait_throttle__start(&throttle, 0, MS, 2, now);
	assert_int_equal(run(&throttle, &now, 1000, 1000000, 1), 0);
	/* Never further apart than two seconds: 1024 ms here; with a period of 1.5 s not at all. */
	wait_throttle__start(&throttle, 1, MS, 1, now);
	assert_int_equal(run(&throttle, &now, 5000, 1000000000, 1), 10);
	wait_throttle__start(&throttle, 1, 1500 * MS, 1, now);
	assert_int_equal(run(&throttle, &now, 5000, 1000000000, 1), 0);
	/* The shortest period. */
	wait_throttle__start(&throttle, 1, MS / 100, 1, now);
	assert_true(run(&throttle, &now, 5000, 1000000000, 1) <= 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_waits_are_all_kept),
		cmocka_unit_test(many_waits_are_thinned_out),
		cmocka_unit_test(the_spacing_settles),
		cmocka_unit_test(waits_may_come_all_at_once),
		cmocka_unit_test(it_comes_back_when_there_are_few),
		cmocka_unit_test(no_limit_and_no_end),
	};

	return cmocka_run_group_tests_name("throttle", tests, NULL, NULL);
}
