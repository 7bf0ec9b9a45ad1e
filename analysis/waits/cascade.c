// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/cascade.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define NONE 0 /* vertices are numbered from 1 on here */

/*
 * The current wait-for relation, a forest, kept as a link/cut tree (Sleator and Tarjan, 1983): each
 * preferred path is a splay tree ordered by depth, so that a value can be added to all vertices
 * from one up to its root in O(log n) amortized, however deep the waits are nested.
 *
 * A vertex has @size, the number of threads in its tree, itself included, and the integral of size
 * over time, which is @area + size * now. Arithmetic is modulo 2^64: intermediate values may wrap.
 */
struct vertex {
	uint32_t parent; /* in the splay tree; of its root: the vertex above the path */
	uint32_t child[2];
	uint32_t wait : 31;    /* index + 1 of the wait it is in, or 0 */
	uint32_t circular : 1; /* not linked: its waker waits for it, directly or not */
	uint64_t size;
	uint64_t area;
	uint64_t add_size; /* pending additions to all vertices below in the splay tree */
	uint64_t add_area;
};

struct sweep {
	struct vertex *vertices;
	const struct wait *waits;
	uint64_t *weights;
	uint64_t start; /* origin of times in the sweep */
	struct cascade_stats stats;
};

static bool is_splay_root(const struct vertex *v, uint32_t x)
{
	uint32_t parent = v[x].parent;

	return !parent || (v[parent].child[0] != x && v[parent].child[1] != x);
}

static void add(struct vertex *v, uint32_t x, uint64_t size, uint64_t area)
{
	if (!x)
		return;
	v[x].size += size;
	v[x].area += area;
	v[x].add_size += size;
	v[x].add_area += area;
}

static void push_down(struct vertex *v, uint32_t x)
{
	if (!v[x].add_size && !v[x].add_area)
		return;
	add(v, v[x].child[0], v[x].add_size, v[x].add_area);
	add(v, v[x].child[1], v[x].add_size, v[x].add_area);
	v[x].add_size = v[x].add_area = 0;
}

static void rotate(struct vertex *v, uint32_t x)
{
	uint32_t parent = v[x].parent, above = v[parent].parent;
	int side = v[parent].child[1] == x;
	uint32_t inner = v[x].child[!side];

	if (!is_splay_root(v, parent))
		v[above].child[v[above].child[1] == parent] = x;
	v[x].parent = above;
	v[x].child[!side] = parent;
	v[parent].parent = x;
	v[parent].child[side] = inner;
	if (inner)
		v[inner].parent = parent;
}

/* Makes @x the root of its splay tree. */
static void splay(struct vertex *v, uint32_t x)
{
	while (!is_splay_root(v, x)) {
		uint32_t parent = v[x].parent, above = v[parent].parent;
		bool top = is_splay_root(v, parent);

		if (!top)
			push_down(v, above);
		push_down(v, parent);
		push_down(v, x);
		if (!top)
			rotate(v, (v[above].child[1] == parent) == (v[parent].child[1] == x)
					  ? parent
					  : x);
		rotate(v, x);
	}
	push_down(v, x);
}

/* Makes the path from the root to @x one splay tree, with @x at its root. */
static void expose(struct vertex *v, uint32_t x)
{
	uint32_t below = NONE;

	for (uint32_t at = x; at; at = v[at].parent) {
		splay(v, at);
		v[at].child[1] = below;
		below = at;
	}
	splay(v, x);
}

static uint32_t root_of(struct vertex *v, uint32_t x)
{
	expose(v, x);
	push_down(v, x);
	while (v[x].child[0]) {
		x = v[x].child[0];
		push_down(v, x);
	}
	splay(v, x); /* for the amortized bound */
	return x;
}

static uint64_t integral(const struct vertex *vertex, uint64_t now)
{
	return vertex->area + vertex->size * now;
}

/* Links @waiter, a root, to its waker, unless the waker is in its tree. */
static void link_wait(struct sweep *sweep, uint32_t waiter, uint64_t now)
{
	struct vertex *v = sweep->vertices;
	uint32_t waker = sweep->waits[v[waiter].wait - 1].waker + 1;

	v[waiter].circular = root_of(v, waker) == waiter;
	if (v[waiter].circular)
		return;
	expose(v, waiter); /* so that it has no parent in the splay tree of its path */
	v[waiter].parent = waker;
	expose(v, waker);
	add(v, waker, v[waiter].size, -v[waiter].size * now);
}

static void begin_wait(struct sweep *sweep, uint32_t index)
{
	const struct wait *wait = &sweep->waits[index];
	uint64_t now = wait->begin - sweep->start;
	uint32_t waiter = wait->waiter + 1;
	struct vertex *v = sweep->vertices;

	if (v[waiter].wait) {
		sweep->stats.overlapping++;
		return;
	}
	v[waiter].wait = index + 1;
	expose(v, waiter);
	if (wait->idle)
		add(v, waiter, -1ULL, now);
	sweep->weights[index] = integral(&v[waiter], now);
	link_wait(sweep, waiter, now);
	sweep->stats.circular += v[waiter].circular;
}

static void end_wait(struct sweep *sweep, uint32_t index)
{
	const struct wait *wait = &sweep->waits[index];
	uint64_t now = wait->end - sweep->start;
	uint32_t waiter = wait->waiter + 1, above, root;
	struct vertex *v = sweep->vertices;

	if (v[waiter].wait != index + 1)
		return;
	root = root_of(v, waiter);
	v[waiter].wait = 0;
	v[waiter].circular = false;
	expose(v, waiter);
	sweep->weights[index] = integral(&v[waiter], now) - sweep->weights[index];
	above = v[waiter].child[0];
	v[waiter].child[0] = NONE;
	if (above) {
		v[above].parent = NONE;
		add(v, above, -v[waiter].size, v[waiter].size * now);
	}
	if (wait->idle) {
		sweep->weights[index] += wait->end - wait->begin;
		add(v, waiter, 1, -now);
	}
	if (root != waiter && v[root].circular)
		link_wait(sweep, root, now);
}

struct keyed {
	uint64_t key;
	uint32_t index;
};

#define DIGIT_BITS 11
#define DIGITS	   (1 << DIGIT_BITS)

/* One pass of a radix sort. */
static void sort_by_digit(const struct keyed *from, struct keyed *to, size_t n, int shift)
{
	size_t at[DIGITS] = {}, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[from[i].key >> shift & (DIGITS - 1)]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		size_t count = at[digit];

		at[digit] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
}

/* Indices of waits that are not empty, by begin or by end. NULL without memory. */
static uint32_t *order_of(const struct wait *waits, size_t n, bool by_end, uint64_t start,
			  size_t *n_ordered)
{
	_cleanup_free_ struct keyed *one = malloc((n + 1) * sizeof(*one));
	_cleanup_free_ struct keyed *two = malloc((n + 1) * sizeof(*two));
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	struct keyed *from = one, *to = two;
	uint64_t last = 0;
	size_t kept = 0;

	if (!one || !two || !order) {
		free(order);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t key = (by_end ? waits[i].end : waits[i].begin) - start;

		if (waits[i].begin >= waits[i].end)
			continue;
		one[kept++] = (struct keyed){key, (uint32_t)i};
		last = key > last ? key : last;
	}
	for (int shift = 0; shift < 64 && last >> shift; shift += DIGIT_BITS) {
		struct keyed *sorted = to;

		sort_by_digit(from, to, kept, shift);
		to = from;
		from = sorted;
	}
	for (size_t i = 0; i < kept; i++)
		order[i] = from[i].index;
	*n_ordered = kept;
	return order;
}

static uint64_t first_begin(const struct wait *waits, size_t n)
{
	uint64_t first = n ? waits[0].begin : 0;

	for (size_t i = 1; i < n; i++)
		first = waits[i].begin < first ? waits[i].begin : first;
	return first;
}

/* At equal times, ends of waits come before begins. */
static void sweep_all(struct sweep *sweep, const uint32_t *begins, const uint32_t *ends, size_t n)
{
	size_t b = 0, e = 0;

	while (e < n) {
		if (b < n && sweep->waits[begins[b]].begin < sweep->waits[ends[e]].end)
			begin_wait(sweep, begins[b++]);
		else
			end_wait(sweep, ends[e++]);
	}
}

int cascade__weights(const struct wait *waits, size_t n, uint32_t vertices, uint64_t *weights,
		     struct cascade_stats *stats)
{
	struct sweep sweep = {.waits = waits, .weights = weights, .start = first_begin(waits, n)};
	_cleanup_free_ struct vertex *forest = calloc((size_t)vertices + 1, sizeof(*forest));
	_cleanup_free_ uint32_t *begins = NULL, *ends = NULL;
	size_t ordered = 0;

	begins = order_of(waits, n, false, sweep.start, &ordered);
	ends = begins ? order_of(waits, n, true, sweep.start, &ordered) : NULL;
	if (!forest || !ends)
		return -ENOMEM;
	for (uint32_t i = 1; i <= vertices; i++)
		forest[i].size = 1;
	for (size_t i = 0; i < n; i++)
		weights[i] = 0;
	sweep.vertices = forest;
	sweep_all(&sweep, begins, ends, ordered);
	if (stats)
		*stats = sweep.stats;
	return 0;
}
