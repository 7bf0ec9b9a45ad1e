// SPDX-License-Identifier: BSD-2-Clause
/* The sampling grid: what the whole tool's weights rest on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/hash.h"
#include "abi/grid.h"

#define PERIOD 1000000U

static uint64_t random_state = 42;

static uint64_t next_random(void)
{
	random_state += 0x9e3779b97f4a7c15ULL;
	return hash__mix(random_state);
}

static void one_point_per_cell(void **state)
{
	for (uint64_t cell = 1; cell < 10000; cell++)
		assert_int_equal(sample_grid__points(cell * PERIOD, (cell + 1) * PERIOD, PERIOD, 7),
				 1);
}

static void points_add_up(void **state)
{
	for (int i = 0; i < 100000; i++) {
		uint64_t a = next_random() >> 20, b = a + next_random() % (5 * PERIOD);
		uint64_t c = b + next_random() % (5 * PERIOD), seed = next_random();

		assert_int_equal(sample_grid__points(a, c, PERIOD, seed),
				 sample_grid__points(a, b, PERIOD, seed) +
					 sample_grid__points(b, c, PERIOD, seed));
	}
}

static void nothing_in_an_empty_or_backward_interval(void **state)
{
	for (uint64_t t = 0; t < 3 * PERIOD; t += 997) {
		assert_int_equal(sample_grid__points(t, t, PERIOD, 1), 0);
		assert_int_equal(sample_grid__points(t + 5 * PERIOD, t, PERIOD, 1), 0);
	}
}

/*
 * How many variances (squared deviations) the points found are off those
 * expected in @n intervals of @p periods each: one point at a random place of
 * each cell, in one or two cells.
 */
static double deviations(uint64_t found, uint64_t n, double p)
{
	double mean = (double)n * p, variance = (double)n * p * (1 - p + p / 3);
	double off = (double)found - mean;

	return off * off / variance;
}

/* An interval of length L is hit with probability L / P, wherever it lies. */
static void unbiased_for_short_intervals(void **state)
{
	static const uint64_t lengths[] = {100, 20000, 50000, 200000, 999999};
	const uint64_t n = 400000;

	for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
		uint64_t found = 0, seed = next_random();

		for (uint64_t i = 0; i < n; i++) {
			uint64_t at = next_random() >> 12;

			found += sample_grid__points(at, at + lengths[k], PERIOD, seed);
		}
		assert_true(deviations(found, n, (double)lengths[k] / PERIOD) < 25);
	}
}

/* A thread whose rhythm is the period itself: a fixed phase would see all of it or nothing. */
static void unbiased_in_resonance(void **state)
{
	const uint64_t n = 100000;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t found = 0;

		for (uint64_t i = 1; i <= n; i++)
			found += sample_grid__points(i * PERIOD + 100000, i * PERIOD + 400000,
						     PERIOD, seed);
		assert_true(deviations(found, n, 0.3) < 25);
	}
}

/* Threads with seeds that differ in one bit are not hit together. */
static void threads_are_not_in_lockstep(void **state)
{
	const uint64_t n = 100000;
	uint64_t both = 0;

	for (uint64_t i = 1; i <= n; i++)
		both += sample_grid__points(i * PERIOD, i * PERIOD + PERIOD / 2, PERIOD, 1000) &&
			sample_grid__points(i * PERIOD, i * PERIOD + PERIOD / 2, PERIOD, 1001);
	assert_true(deviations(both, n, 0.25) < 25);
}

static void other_periods(void **state)
{
	static const uint32_t periods[] = {10000, 999983, 1000000000, UINT32_MAX};

	for (size_t k = 0; k < sizeof(periods) / sizeof(*periods); k++)
		for (uint64_t cell = 1; cell < 1000; cell++)
			assert_int_equal(
				sample_grid__points(cell * periods[k], (cell + 1) * periods[k],
						    periods[k], cell),
				sample_grid__points(cell * periods[k],
						    cell * periods[k] + periods[k] / 2, periods[k],
						    cell) +
					sample_grid__points(cell * periods[k] + periods[k] / 2,
							    (cell + 1) * periods[k], periods[k],
							    cell));
}

/* The next point is where the count of points changes. */
static void the_next_point(void **state)
{
	for (int i = 0; i < 100000; i++) {
		uint64_t at = next_random() >> 20, seed = next_random();
		uint64_t next = sample_grid__next(at, PERIOD, seed);

		assert_true(next >= at);
		assert_int_equal(sample_grid__points(at, next, PERIOD, seed), 0);
		assert_int_equal(sample_grid__points(at, next + 1, PERIOD, seed), 1);
	}
}

/* The points of a thread are those common to all, and its own: of two threads, others. */
static void the_next_point_of_a_thread(void **state)
{
	for (int i = 0; i < 100000; i++) {
		uint64_t at = next_random() >> 20, seed = next_random();
		uint64_t own = sample_grid__own_seed(seed, (uint32_t)next_random() >> 12);
		uint8_t spacing = next_random() % 11;
		uint64_t next = sample_grid__next_of(at, PERIOD, spacing, seed, own);

		assert_true(next >= at);
		assert_int_equal(sample_grid__weight(at, next, PERIOD, spacing, seed, own), 0);
		assert_true(sample_grid__weight(at, next + 1, PERIOD, spacing, seed, own) > 0);
	}
}

/* Each cell represents as many periods as it is long, with one point of each kind. */
static void points_represent_all_periods(void **state)
{
	for (uint8_t spacing = 0; spacing < 11; spacing++)
		for (uint64_t cell = 1; cell < 1000; cell++)
			assert_int_equal(sample_grid__weight(cell * (PERIOD << spacing),
							     (cell + 1) * (PERIOD << spacing),
							     PERIOD, spacing, 7,
							     sample_grid__own_seed(7, 5)),
					 1 << spacing);
}

/*
 * Thousands of threads in the same state for @part of each @cycle ns, all at the same time, for
 * @cycles: how far the sampled time is from the true one, in standard errors of independent
 * samples.
 */
static double error_of_a_crowd(double part, uint64_t cycle, uint64_t cycles, uint8_t spacing,
			       uint64_t seed)
{
	const uint32_t threads = 8000;
	double found = 0, truth = (double)threads * part * (double)(cycle * cycles) / PERIOD;

	for (uint32_t thread = 1; thread <= threads; thread++) {
		uint64_t own = sample_grid__own_seed(seed, thread);

		for (uint64_t i = 1; i <= cycles; i++)
			found += (double)sample_grid__weight(
				i * cycle, i * cycle + (uint64_t)(part * (double)cycle), PERIOD,
				spacing, seed, own);
	}
	return (found - truth) / sqrt(truth * (double)(1 << spacing));
}

static void a_crowd_that_does_the_same_is_seen(void **state)
{
	static const double parts[] = {0.01, 0.04, 0.13, 0.3, 0.52};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (uint64_t seed = 1; seed <= 4; seed++)
			for (uint8_t spacing = 6; spacing <= 10; spacing++)
				assert_true(fabs(error_of_a_crowd(parts[i], 400 * PERIOD, 10,
								  spacing, seed)) < 4.9);
}

static void late_ticks(void **state)
{
	/* In time; late by less than a period, and by more; while the run lasted, or began later.
	 */
	assert_int_equal(ticks_within(1000, 100, 500, 1000), 1);
	assert_int_equal(ticks_within(1000, 100, 500, 1099), 1);
	assert_int_equal(ticks_within(1000, 100, 500, 1100), 2);
	assert_int_equal(ticks_within(1000, 100, 1000, 1950), 10);
	assert_int_equal(ticks_within(1000, 100, 1001, 1099), 0);
	assert_int_equal(ticks_within(1000, 100, 1001, 1100), 1);
	assert_int_equal(ticks_within(1000, 100, 1101, 1250), 1);
	/* Not due yet. */
	assert_int_equal(ticks_within(1000, 100, 0, 999), 0);
	/* Runs that follow each other share what is due among them. */
	for (__u64 cut = 1000; cut < 3000; cut++)
		assert_int_equal(ticks_within(1000, 100, 900, cut) +
					 ticks_within(1000, 100, cut + 1, 3000),
				 21);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_point_per_cell),
		cmocka_unit_test(points_add_up),
		cmocka_unit_test(nothing_in_an_empty_or_backward_interval),
		cmocka_unit_test(unbiased_for_short_intervals),
		cmocka_unit_test(unbiased_in_resonance),
		cmocka_unit_test(threads_are_not_in_lockstep),
		cmocka_unit_test(other_periods),
		cmocka_unit_test(the_next_point),
		cmocka_unit_test(the_next_point_of_a_thread),
		cmocka_unit_test(points_represent_all_periods),
		cmocka_unit_test(a_crowd_that_does_the_same_is_seen),
		cmocka_unit_test(late_ticks),
	};

	return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
