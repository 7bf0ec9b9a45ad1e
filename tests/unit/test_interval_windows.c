// SPDX-License-Identifier: BSD-2-Clause
/* Intervals of all threads, roughly in the order of time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/interval_windows.h"

/* Threads with this many intervals each; times between them are below @gap. */
static struct model make_model(const size_t *counts, size_t n, uint64_t gap)
{
	struct model model = {};

	assert_non_null(array__add(&model.threads)); /* none */
	for (size_t t = 0; t < n; t++) {
		struct model_thread *thread = array__add(&model.threads);
		uint64_t time = 1000;

		assert_non_null(thread);
		for (size_t i = 0; i < counts[t]; i++) {
			struct model_interval interval = {.t_out = time};

			assert_int_equal(array__push(&thread->intervals, interval), 0);
			time += hash__mix(t << 32 | i) % gap;
		}
	}
	return model;
}

static void free_model(struct model *model)
{
	for (size_t t = 0; t < model->threads.n; t++)
		array__free(&model->threads.data[t].intervals);
	array__free(&model->threads);
}

/* All intervals come, those of a thread in their order. Returns the number of ranges. */
static size_t check_order(const struct model *model)
{
	size_t *next = calloc(model->threads.n, sizeof(*next)), n = 0;
	struct interval_windows windows;
	struct interval_range range;

	assert_non_null(next);
	assert_int_equal(interval_windows__make(model, &windows), 0);
	for (; interval_windows__next(&windows, &range); n++) {
		assert_int_equal(range.first, next[range.thread]);
		assert_true(range.until > range.first);
		next[range.thread] = range.until;
	}
	for (size_t t = 0; t < model->threads.n; t++)
		assert_int_equal(next[t], model->threads.data[t].intervals.n);
	assert_false(interval_windows__next(&windows, &range));
	interval_windows__free(&windows);
	free(next);
	return n;
}

static void every_interval_comes_once(void **state)
{
	static const size_t counts[] = {0, 1, 63, 64, 65, 0, 5000, 127, 20000, 3, 0};
	struct model model = make_model(counts, ARRAY_SIZE(counts), 1000);

	check_order(&model);
	free_model(&model);
	model = make_model(counts, 1, 1000); /* none at all */
	assert_int_equal(check_order(&model), 0);
	free_model(&model);
}

static void all_at_one_time(void **state)
{
	static const size_t counts[] = {1000, 1000};
	struct model model = make_model(counts, ARRAY_SIZE(counts), 1);

	check_order(&model);
	for (size_t i = 0; i < 1000; i++)
		model.threads.data[1].intervals.data[i].t_out = UINT64_MAX;
	check_order(&model);
	free_model(&model);
}

/* No interval comes after one that begins much later: fifty intervals of a thread. */
static void the_order_is_roughly_that_of_time(void **state)
{
	enum { THREADS = 20, EACH = 10000, GAP = 1000, FAR = 50 * GAP };
	size_t counts[THREADS];
	struct interval_windows windows;
	struct interval_range range;
	struct model model;
	uint64_t latest = 0;

	for (size_t t = 0; t < THREADS; t++)
		counts[t] = EACH;
	model = make_model(counts, THREADS, GAP);
	assert_int_equal(interval_windows__make(&model, &windows), 0);
	while (interval_windows__next(&windows, &range)) {
		const struct model_interval *intervals =
			model.threads.data[range.thread].intervals.data;

		assert_true(intervals[range.first].t_out + FAR > latest);
		if (intervals[range.until - 1].t_out > latest)
			latest = intervals[range.until - 1].t_out;
	}
	interval_windows__free(&windows);
	free_model(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_interval_comes_once),
		cmocka_unit_test(all_at_one_time),
		cmocka_unit_test(the_order_is_roughly_that_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
