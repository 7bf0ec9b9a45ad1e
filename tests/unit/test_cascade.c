// SPDX-License-Identifier: BSD-2-Clause
/*
 * Cascaded weights by one sweep against the recursive definition of the paper
 * (wPerf, figure 4), on random traces; and what is known of some by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/waits/cascade.h"
#include "base/array.h"
#include "base/hash.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

typedef ARRAY(struct wait) wait_array;

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
	random_state += 0x9e3779b97f4a7c15ULL;
	return hash__mix(random_state) % n;
}

/* The definition: the part [@begin, @end) of wait @w, and what its waker waits for in it. */
static void cascade(const wait_array *waits, size_t w, uint64_t begin, uint64_t end,
		    uint64_t *weights)
{
	weights[w] += end - begin;
	for (size_t i = 0; i < waits->n; i++) {
		const struct wait *wait = &waits->data[i];
		uint64_t from = wait->begin > begin ? wait->begin : begin;
		uint64_t to = wait->end < end ? wait->end : end;

		if (wait->waiter == waits->data[w].waker && from < to)
			cascade(waits, i, from, to, weights);
	}
}

static void check(const wait_array *waits, uint32_t vertices)
{
	uint64_t *swept = calloc(waits->n + 1, sizeof(*swept));
	uint64_t *defined = calloc(waits->n + 1, sizeof(*defined));
	struct cascade_stats stats;

	for (size_t i = 0; i < waits->n; i++)
		if (waits->data[i].idle)
			defined[i] += waits->data[i].end - waits->data[i].begin;
		else
			cascade(waits, i, waits->data[i].begin, waits->data[i].end, defined);
	assert_int_equal(cascade__weights(waits->data, waits->n, vertices, swept, &stats), 0);
	assert_int_equal(stats.overlapping, 0);
	assert_int_equal(stats.circular, 0);
	for (size_t i = 0; i < waits->n; i++)
		if (swept[i] != defined[i])
			fail_msg("wait %zu of %zu: %lu, by definition %lu", i, waits->n,
				 (unsigned long)swept[i], (unsigned long)defined[i]);
	free(swept);
	free(defined);
}

static void shuffle(wait_array *waits)
{
	for (size_t i = waits->n; i > 1; i--) {
		size_t other = random_below(i);
		struct wait swapped = waits->data[other];

		waits->data[other] = waits->data[i - 1];
		waits->data[i - 1] = swapped;
	}
}

/*
 * Threads that block, and wake others while they run, as real ones do: who wakes
 * somebody runs at that moment. Often several things happen at one moment.
 */
static void random_trace(wait_array *waits, uint32_t threads, size_t steps)
{
	uint64_t begin[16] = {}, now = 1000 + random_below(5);
	bool blocked[16] = {};

	waits->n = 0;
	for (size_t i = 0; i < steps; i++) {
		uint32_t one = (uint32_t)random_below(threads);
		uint32_t other = (uint32_t)random_below(threads);

		now += random_below(4);
		if (blocked[one] || one == other)
			continue;
		if (!blocked[other]) {
			blocked[one] = true;
			begin[one] = now;
			continue;
		}
		blocked[other] = false;
		assert_int_equal(array__push(waits, ((struct wait){begin[other], now, other, one,
								   random_below(4) == 0})),
				 0);
	}
	shuffle(waits);
}

static void sweep_equals_the_definition(void **state)
{
	wait_array waits = {};

	random_state = 1;
	for (int round = 0; round < 3000; round++) {
		uint32_t threads = 2 + (uint32_t)random_below(14);

		random_trace(&waits, threads, random_below(80));
		check(&waits, threads);
	}
	array__free(&waits);
}

static void the_papers_example(void **state)
{
	static const struct wait waits[] = {{0, 100, 0, 1, 0}, {20, 100, 1, 2, 0}};
	uint64_t weights[2];

	assert_int_equal(cascade__weights(waits, 2, 3, weights, NULL), 0);
	assert_int_equal(weights[0], 100);
	assert_int_equal(weights[1], 180 - 20);
}

/* Thread i waits for i + 1 during [i, 2 n - i): each wait holds up all before it. */
static void deep_nesting_is_no_burden(void **state)
{
	const uint32_t n = 100000;
	struct wait *waits = calloc(n, sizeof(*waits));
	uint64_t *weights = calloc(n, sizeof(*weights));

	for (uint32_t i = 0; i < n; i++)
		waits[i] = (struct wait){i, 2 * n - i, i, i + 1, 0};
	assert_int_equal(cascade__weights(waits, n, n + 1, weights, NULL), 0);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(weights[i], (i + 1ULL) * (2 * n - 2ULL * i));
	free(waits);
	free(weights);
}

/* Many wait for one, which waits for another. */
static void broad_trees_add_up(void **state)
{
	const uint32_t n = 50000;
	struct wait *waits = calloc(n + 1, sizeof(*waits));
	uint64_t *weights = calloc(n + 1, sizeof(*weights));

	for (uint32_t i = 0; i < n; i++)
		waits[i] = (struct wait){i, 1000000, i + 2, 0, 0};
	waits[n] = (struct wait){100000, 600000, 0, 1, 0};
	assert_int_equal(cascade__weights(waits, n + 1, n + 2, weights, NULL), 0);
	assert_int_equal(weights[0], 1000000);
	assert_int_equal(weights[n - 1], 1000000 - (n - 1));
	assert_int_equal(weights[n], 500000ULL * (n + 1));
	free(waits);
	free(weights);
}

/* What no trace that is whole can hold is counted, and does no harm to the rest. */
static void contradictions_are_counted(void **state)
{
	static const struct wait waits[] = {
		{10, 50, 0, 1, 0}, {20, 60, 1, 0, 0}, /* each for the other */
		{30, 40, 2, 2, 0},		      /* for itself */
		{5, 25, 3, 4, 0},  {20, 30, 3, 4, 0}, /* two at a time */
		{7, 7, 5, 4, 0},   {9, 8, 5, 4, 0},   /* that take no time */
		{40, 90, 4, 5, 0}, {50, 60, 6, 4, 0},
	};
	static const uint64_t expected[] = {40, 40 + 30, 10, 20, 0, 0, 0, 50 + 10, 10};
	uint64_t weights[ARRAY_SIZE(waits)];
	struct cascade_stats stats;

	assert_int_equal(cascade__weights(waits, ARRAY_SIZE(waits), 7, weights, &stats), 0);
	assert_int_equal(stats.circular, 2);
	assert_int_equal(stats.overlapping, 1);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		assert_int_equal(weights[i], expected[i]);
	assert_int_equal(cascade__weights(NULL, 0, 0, NULL, &stats), 0);
}

/* A device that is idle from the very end of the wait for it, until the waiter sends more. */
static void circles_count_once_they_are_over(void **state)
{
	static const struct wait waits[] = {
		{0, 100, 1, 2, 0},   /* the thread for the device */
		{98, 200, 2, 1, 0},  /* the device for the thread, which has not run yet */
		{90, 200, 3, 2, 0},  /* another one for the device */
		{150, 200, 1, 4, 0}, /* the thread for a fourth */
	};
	static const uint64_t expected[] = {100, 102 + 2 + 102, 110, 50 + 50 + 50};
	uint64_t weights[ARRAY_SIZE(waits)];
	struct cascade_stats stats;

	assert_int_equal(cascade__weights(waits, ARRAY_SIZE(waits), 5, weights, &stats), 0);
	assert_int_equal(stats.circular, 1);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
		assert_int_equal(weights[i], expected[i]);
}

/* The forest, kept and measured without any art. */
struct plain_forest {
	const wait_array *waits;
	uint32_t parent[16]; /* + 1 */
	size_t in[16];	     /* the wait, + 1 */
	bool circular[16];
	uint64_t *weights;
};

static uint32_t plain_root(const struct plain_forest *forest, uint32_t vertex)
{
	while (forest->parent[vertex])
		vertex = forest->parent[vertex] - 1;
	return vertex;
}

static void plain_link(struct plain_forest *forest, uint32_t vertex)
{
	uint32_t waker = forest->waits->data[forest->in[vertex] - 1].waker;

	forest->circular[vertex] = plain_root(forest, waker) == vertex;
	forest->parent[vertex] = forest->circular[vertex] ? 0 : waker + 1;
}

static void plain_end(struct plain_forest *forest, size_t w)
{
	uint32_t waiter = forest->waits->data[w].waiter, root;

	if (forest->in[waiter] != w + 1)
		return;
	root = plain_root(forest, waiter);
	forest->in[waiter] = forest->parent[waiter] = forest->circular[waiter] = 0;
	if (root != waiter && forest->circular[root])
		plain_link(forest, root);
}

/* What one unit of time adds: each wait counts for all those that hang on it. */
static void plain_tick(struct plain_forest *forest, uint32_t vertices)
{
	for (uint32_t v = 0; v < vertices; v++) {
		bool idle = forest->in[v] && forest->waits->data[forest->in[v] - 1].idle;

		if (idle)
			forest->weights[forest->in[v] - 1]++;
		for (uint32_t at = v; !idle; at = forest->parent[at] - 1) {
			if (forest->in[at])
				forest->weights[forest->in[at] - 1]++;
			if (!forest->parent[at])
				break;
		}
	}
}

static void sweep_plainly(const wait_array *waits, uint32_t vertices, uint64_t last,
			  uint64_t *weights)
{
	struct plain_forest forest = {.waits = waits, .weights = weights};

	for (uint64_t now = 0; now <= last; now++) {
		for (size_t i = 0; i < waits->n; i++)
			if (waits->data[i].end == now && waits->data[i].begin < now)
				plain_end(&forest, i);
		for (size_t i = 0; i < waits->n; i++) {
			const struct wait *wait = &waits->data[i];

			if (wait->begin != now || wait->end <= now || forest.in[wait->waiter])
				continue;
			forest.in[wait->waiter] = i + 1;
			plain_link(&forest, wait->waiter);
		}
		plain_tick(&forest, vertices);
	}
}

/* Waits that cannot be: at the same time, for each other, for themselves. */
static void sweep_equals_a_plain_one_on_any_waits(void **state)
{
	wait_array waits = {};

	random_state = 2;
	for (int round = 0; round < 4000; round++) {
		uint32_t threads = 1 + (uint32_t)random_below(8);
		size_t n = random_below(30);
		uint64_t swept[30], plain[30] = {};

		waits.n = 0;
		for (size_t i = 0; i < n; i++) {
			uint64_t begin = random_below(40);
			struct wait wait = {begin, begin + random_below(20),
					    (uint32_t)random_below(threads),
					    (uint32_t)random_below(threads), random_below(5) == 0};

			assert_int_equal(array__push(&waits, wait), 0);
		}
		assert_int_equal(cascade__weights(waits.data, n, threads, swept, NULL), 0);
		sweep_plainly(&waits, threads, 60, plain);
		for (size_t i = 0; i < n; i++)
			if (swept[i] != plain[i])
				fail_msg("round %d, wait %zu of %zu: %lu, plainly %lu", round, i, n,
					 (unsigned long)swept[i], (unsigned long)plain[i]);
	}
	array__free(&waits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sweep_equals_the_definition),
		cmocka_unit_test(sweep_equals_a_plain_one_on_any_waits),
		cmocka_unit_test(the_papers_example),
		cmocka_unit_test(deep_nesting_is_no_burden),
		cmocka_unit_test(broad_trees_add_up),
		cmocka_unit_test(contradictions_are_counted),
		cmocka_unit_test(circles_count_once_they_are_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
