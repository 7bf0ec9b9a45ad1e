// SPDX-License-Identifier: BSD-2-Clause
/*
 * Knots against their definition, on random graphs: the set of what each member can
 * reach is the knot itself. Refinement against taking out one edge at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/waits/knots.h"
#include "base/hash.h"

#define MOST	      12
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
	random_state += 0x9e3779b97f4a7c15ULL;
	return hash__mix(random_state) % n;
}

/* Bit j of reach[i]: i waits for j, itself or through others, by edges of more than @above. */
static void reachability(const struct graph_edge *edges, size_t n, uint64_t above, uint32_t within,
			 uint32_t reach[MOST])
{
	memset(reach, 0, MOST * sizeof(*reach));
	for (size_t i = 0; i < n; i++)
		if (edges[i].weight > above && within >> edges[i].from & 1 &&
		    within >> edges[i].to & 1)
			reach[edges[i].from] |= 1U << edges[i].to;
	for (int round = 0; round < MOST; round++)
		for (int v = 0; v < MOST; v++)
			for (int w = 0; w < MOST; w++)
				if (reach[v] >> w & 1)
					reach[v] |= reach[w];
}

/* Adds the knots and sinks among the vertices @within to @found, as sets. */
static size_t by_definition(const struct graph_edge *edges, size_t n, uint64_t above,
			    uint32_t within, uint32_t found[MOST])
{
	uint32_t reach[MOST], done = 0;
	size_t count = 0;

	reachability(edges, n, above, within, reach);
	for (int v = 0; v < MOST; v++) {
		uint32_t set = reach[v] ? reach[v] : 1U << v;
		bool knot = true;

		if (!(within >> v & 1) || done >> v & 1)
			continue;
		for (int w = 0; w < MOST && reach[v]; w++)
			knot &= !(set >> w & 1) || reach[w] == set;
		if (!knot || !(set >> v & 1))
			continue;
		found[count++] = set;
		done |= set;
	}
	return count;
}

static size_t edges_within(const struct graph_edge *edges, size_t n, uint64_t above, uint32_t set)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += edges[i].weight > above && set >> edges[i].from & 1 &&
			 set >> edges[i].to & 1;
	return count;
}

/* Weights differ: edges are taken out one at a time, as long as it goes on. */
static void refine_slowly(const struct graph_edge *edges, size_t n, uint32_t set, uint64_t above,
			  uint64_t threshold, uint32_t *found, size_t *count)
{
	uint32_t parts[MOST];
	uint64_t least = UINT64_MAX;
	size_t n_parts, left = edges_within(edges, n, above, set);

	for (size_t i = 0; i < n; i++)
		if (edges[i].weight > above && edges[i].weight < least &&
		    set >> edges[i].from & 1 && set >> edges[i].to & 1)
			least = edges[i].weight;
	if (least > threshold || left <= (size_t)__builtin_popcount(set)) {
		found[(*count)++] = set;
		return;
	}
	n_parts = by_definition(edges, n, least, set, parts);
	for (size_t i = 0; i < n_parts; i++)
		refine_slowly(edges, n, parts[i], least, threshold, found, count);
}

static uint32_t set_of(const struct knot *knot)
{
	uint32_t set = 0;

	for (size_t i = 0; i < knot->members.n; i++)
		set |= 1U << knot->members.data[i];
	return set;
}

static size_t random_graph(struct graph_edge *edges, uint32_t vertices)
{
	size_t n = 0, density = 1 + random_below(6);
	uint64_t weights[MOST * MOST];

	for (uint32_t from = 0; from < vertices; from++)
		for (uint32_t to = 0; to < vertices; to++)
			if (random_below(8) < density && (from != to || !random_below(6)))
				edges[n++] = (struct graph_edge){from, to, 0};
	for (size_t i = 0; i < n; i++)
		weights[i] = i + 1;
	for (size_t i = 0; i < n; i++) {
		size_t other = i + random_below(n - i);

		edges[i].weight = weights[other];
		weights[other] = weights[i];
	}
	return n;
}

static uint32_t with_edges(const struct graph_edge *edges, size_t n)
{
	uint32_t set = 0;

	for (size_t i = 0; i < n; i++)
		set |= 1U << edges[i].from | 1U << edges[i].to;
	return set;
}

static void compare(const struct graph_edge *edges, size_t n, uint64_t threshold)
{
	uint32_t unrefined[MOST], expected[MOST * MOST];
	size_t n_unrefined, n_expected = 0;
	struct knots knots;

	n_unrefined = by_definition(edges, n, 0, with_edges(edges, n), unrefined);
	for (size_t i = 0; i < n_unrefined; i++)
		refine_slowly(edges, n, unrefined[i], 0, threshold, expected, &n_expected);
	assert_int_equal(knots__find(edges, n, MOST, threshold, &knots), 0);
	assert_int_equal(knots.all.n, n_expected);
	for (size_t i = 0; i < n_expected; i++) {
		size_t k = 0;

		while (k < knots.all.n && set_of(&knots.all.data[k]) != expected[i])
			k++;
		assert_true(k < knots.all.n);
		assert_int_equal(knots.all.data[k].sink, !knots.all.data[k].edges.n);
		for (size_t e = 1; e < knots.all.data[k].edges.n; e++)
			assert_true(edges[knots.all.data[k].edges.data[e - 1]].weight >
				    edges[knots.all.data[k].edges.data[e]].weight);
	}
	knots__release(&knots);
}

static void knots_are_what_they_are_defined_to_be(void **state)
{
	struct graph_edge edges[MOST * MOST];

	random_state = 1;
	for (int round = 0; round < 4000; round++) {
		uint32_t vertices = 1 + (uint32_t)random_below(MOST);
		size_t n = random_graph(edges, vertices);

		compare(edges, n, 0);
		compare(edges, n, random_below(n + 2));
		compare(edges, n, UINT64_MAX);
	}
}

/* Figures 1 and 2: A waits longest, but it is B and the disk that nothing gets out of. */
static void the_papers_example(void **state)
{
	enum { A, B, DISK };
	static const struct graph_edge edges[] = {{A, B, 80}, {B, DISK, 50}, {DISK, B, 50}};
	struct knots knots;

	assert_int_equal(knots__find(edges, 3, 3, 20, &knots), 0);
	assert_int_equal(knots.all.n, 1);
	assert_false(knots.all.data[0].sink);
	assert_int_equal(set_of(&knots.all.data[0]), 1 << B | 1 << DISK);
	assert_int_equal(knots.all.data[0].edges.n, 2);
	knots__release(&knots);
}

static void large_graphs_are_no_burden(void **state)
{
#ifdef SANITIZED
	const uint32_t vertices = 2000;
#else
	const uint32_t vertices = 20000;
#endif
	const size_t n = (size_t)10 * vertices;
	struct graph_edge *edges = calloc(n, sizeof(*edges));
	struct knots knots;

	random_state = 7;
	for (size_t i = 0; i < n; i++)
		edges[i] = (struct graph_edge){(uint32_t)(i % vertices),
					       (uint32_t)random_below(vertices),
					       random_below(1000000)};
	assert_int_equal(knots__find(edges, n, vertices, 900000, &knots), 0);
	assert_true(knots.all.n >= 1);
	knots__release(&knots);
	assert_int_equal(knots__find(NULL, 0, 0, 5, &knots), 0);
	assert_int_equal(knots.all.n, 0);
	knots__release(&knots);
	free(edges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knots_are_what_they_are_defined_to_be),
		cmocka_unit_test(the_papers_example),
		cmocka_unit_test(large_graphs_are_no_burden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
