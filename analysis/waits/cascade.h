/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cascaded redistribution (wPerf, OSDI'18, sections 3.3 and 4.2): what a wait is
 * worth when those who wait for the waiter meanwhile are counted too.
 *
 * The paper adds a wait's length to its edge, and for each wait of its waker that
 * overlaps it, recursively, the overlap to that one's edge. At any instant each
 * blocked thread waits for one other: they form a forest, and what is added to an
 * edge per instant is the number of threads in the tree that hangs on it. So the
 * weight of a wait is the integral of that number over its time, and one sweep
 * over the begins and ends finds all of them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* @waiter is blocked during [@begin, @end), in ns, until @waker wakes it. */
struct wait {
	uint64_t begin;
	uint64_t end;
	uint32_t waiter; /* vertices, dense numbers */
	uint32_t waker : 31;
	uint32_t idle : 1; /* nothing is lost by it: it counts by itself, and adds to no other */
};

struct cascade_stats {
	size_t overlapping; /* waits that begin before the waiter's last one is over: weight 0 */
	size_t circular;    /* their waker waits for them when they begin: until that is over,
			       nothing they cause is added to its waits */
};

/*
 * The weights of @n @waits among @vertices vertices, in @weights, in ns: at least a
 * wait's length. Waits may come in any order; those of one thread do not overlap.
 * O(n log n); some 40 bytes per wait and 56 per vertex meanwhile. Weights are modulo 2^64,
 * @n is below 2^32. Returns 0 or -ENOMEM; @stats may be NULL.
 */
int cascade__weights(const struct wait *waits, size_t n, uint32_t vertices, uint64_t *weights,
		     struct cascade_stats *stats);
