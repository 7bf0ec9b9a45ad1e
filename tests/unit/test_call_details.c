// SPDX-License-Identifier: BSD-2-Clause
/* How calls spread over time and length: buckets, bins, and how many cells there are at most. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "analysis/latency/call_details.h"

#define START  1000000
#define LENGTH 1280000000ULL

/* The lowest length of @bucket, as docs/page.md has it. */
static uint64_t lowest(uint32_t bucket)
{
	uint32_t number = bucket - 1, shift = number < 64 ? 0 : number / 32 - 1;

	return (uint64_t)(number - 32 * shift) << shift;
}

static void test_buckets(void **state)
{
	assert_int_equal(call_details__bucket(0), CALLS_SHORT + 1);
	for (uint32_t bucket = 1; bucket < 1920; bucket++) {
		uint64_t low = lowest(bucket), next = lowest(bucket + 1);

		assert_int_equal(call_details__bucket(low), bucket);
		assert_int_equal(call_details__bucket(next - 1), bucket);
		assert_true(next - low <= 1 || (next - low) * 32 <= low);
	}
	assert_int_equal(call_details__bucket(UINT64_MAX), 1920);
}

static struct call_details begun(void)
{
	const struct model model = {.start = START, .end = START + LENGTH};
	struct call_details details = {};

	call_details__begin(&details, &model);
	return details;
}

static double sum_calls(const struct call_details *details)
{
	double sum = 0;

	for (size_t i = 0; i < details->cells.n; i++)
		sum += details->cells.data[i].calls;
	return sum;
}

static int add(struct call_details *details, uint32_t function, uint64_t begin, uint16_t bucket,
	       double calls)
{
	return call_details__add(
		details, begin,
		(struct call_cell){
			.function = function, .bucket = bucket, .calls = calls, .observed = 1});
}

static void test_bins(void **state)
{
	struct call_details details = begun();
	const uint64_t width = LENGTH / 128;
	const struct {
		uint64_t time;
		uint16_t bin;
	} calls[] = {{0, 0},
		     {START, 0},
		     {START + width - 1, 0},
		     {START + width, 1},
		     {START + LENGTH - 1, 127},
		     {START + LENGTH, 127},
		     {UINT64_MAX, 127}};

	assert_int_equal(details.bins, 128);
	for (uint32_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		assert_int_equal(add(&details, i, calls[i].time, 7, 1), 0);
		assert_int_equal(details.cells.data[i].bin, calls[i].bin);
	}
	assert_int_equal(add(&details, 1, START, 7, 2.5), 0);
	assert_int_equal(details.cells.n, 7);
	assert_true(details.cells.data[1].calls == 3.5 && details.cells.data[1].observed == 2);
	call_details__free(&details);
}

/* They are spread over 100 ms: ten bins. */
static void test_shorts(void **state)
{
	struct call_details details = begun();
	struct model_short_calls shorts = {.time = START + 205000000, .ended = 20};
	double ns = 0;

	assert_int_equal(call_details__add_shorts(&details, &shorts, 3, 40, 4000), 0);
	assert_int_equal(details.cells.n, 11);
	for (size_t i = 0; i < details.cells.n; i++) {
		const struct call_cell *cell = &details.cells.data[i];
		double share = i == 0 || i == 10 ? 0.05 : 0.1;

		assert_int_equal(cell->bin, 10 + i);
		assert_int_equal(cell->bucket, CALLS_SHORT);
		assert_true(fabs(cell->calls - 40 * share) < 1e-6);
		assert_true(fabs(cell->observed - 20 * share) < 1e-6);
		ns += cell->ns;
	}
	assert_true(fabs(ns - 4000) < 1e-6);
	call_details__free(&details);

	/* At the edges of the recording none are lost. */
	details = begun();
	shorts.time = START - 5;
	assert_int_equal(call_details__add_shorts(&details, &shorts, 3, 40, 4000), 0);
	shorts.time = UINT64_MAX;
	assert_int_equal(call_details__add_shorts(&details, &shorts, 3, 40, 4000), 0);
	assert_true(fabs(sum_calls(&details) - 80) < 1e-6);
	call_details__free(&details);
}

static void test_limit(void **state)
{
	struct call_details details = begun();

	/* 128 bins and 640 buckets: 81,920 cells, and half as many. */
	for (uint32_t i = 0; i < 128 * 640; i++)
		assert_int_equal(add(&details, 0, START + i % 128 * (LENGTH / 128),
				     (uint16_t)(1 + i / 128), 1),
				 0);
	assert_int_equal(details.bins, 64);
	assert_int_equal(details.cells.n, 64 * 640);
	assert_true(sum_calls(&details) == 128 * 640);
	for (size_t i = 0; i < details.cells.n; i++) {
		assert_true(details.cells.data[i].bin < 64);
		assert_true(details.cells.data[i].calls == 2);
	}
	call_details__free(&details);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_bins),
		cmocka_unit_test(test_shorts),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
