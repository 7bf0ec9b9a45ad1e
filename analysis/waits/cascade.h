/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cascaded redistribution (wPerf, OSDI'18, sections 3.3 and 4.2): the weight of a wait includes
 * the time that others wait for the waiter meanwhile.
 *
 * The paper adds a wait's length to its edge, and, recursively, the overlap with each wait of its
 * waker to that wait's edge. At any instant each blocked thread waits for one other thread: they
 * form a forest, and an edge grows by the number of threads in the tree below it. So the weight of
 * a wait is the integral of that number over the wait, and one sweep over the begins and ends of
 * all waits computes all weights.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* @waiter is blocked during [@begin, @end), in ns, until @waker wakes it. */
struct wait {
	uint64_t begin;
	uint64_t end;
	uint32_t waiter; /* vertices, numbered from 0 */
	uint32_t waker : 31;
	uint32_t idle : 1; /* not a loss: it adds to its own weight, but to no other wait's */
};

struct cascade_stats {
	size_t overlapping; /* waits that begin before the waiter's previous one ends: weight 0 */
	size_t circular;    /* waits whose waker waits for the waiter when they begin: while it
			       does, they are not in its tree */
};

/*
 * Sets @weights to the cascaded weights of the @n @waits among @vertices vertices, in ns: at least
 * a wait's length, modulo 2^64. Waits may be in any order; those of one thread should not overlap.
 * @n is below 2^31. O(n log n) time; about 40 bytes per wait and 56 per vertex of temporary memory.
 * Returns 0 or -ENOMEM; @stats may be NULL.
 */
int cascade__weights(const struct wait *waits, size_t n, uint32_t vertices, uint64_t *weights,
		     struct cascade_stats *stats);
