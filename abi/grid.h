/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The sampling points. Blocked Samples, OSDI'24, section 3.1.
 *
 * Time is divided into cells of one period. Each cell has exactly one point, at an offset that is a
 * hash of the cell and of the recording's seed. So the expected number of points in an interval is
 * its length divided by the period, however short it is; no state is needed; and a thread whose
 * period is a multiple of the sampling period is not always sampled at the same phase.
 *
 * These are the common points of all threads: at each, it is known who was blocked, and by whom.
 * The wait-for graph is estimated from that.
 *
 * When too many waits hold one, cells of waits become 2^n periods long (n is the spacing), and few
 * instants would remain, at which all threads may do the same. So each thread then also has points
 * of its own, one in each such cell, at an offset that is a hash of the thread, too. A common point
 * represents one period, and a point of its own the other 2^n - 1: the time in a state is estimated
 * from as many independent samples as there are waits recorded because of own points. (The sampling
 * error of k threads that always do the same is that of their common points: k * 1 each. There are
 * about 2^n threads for each wait recorded per period and CPU, so that the own points, with the
 * root of k times 2^n, have the larger one from n = 2 on.)
 */
#pragma once

#include <linux/types.h>

static inline __u64 sample_grid__offset(__u64 cell, __u32 period, __u64 seed)
{
	__u64 hash = (cell ^ seed) * 0x9e3779b97f4a7c15ULL;

	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ULL;
	return ((hash >> 32) * period) >> 32;
}

/* Points before @time. */
static inline __u64 sample_grid__before(__u64 time, __u32 period, __u64 seed)
{
	__u64 cell = time / period;

	return cell + (time - cell * period > sample_grid__offset(cell, period, seed));
}

/*
 * Sampling points in [@from, @to). @period is in ns, at most 2^32 - 1; @seed is
 * one value per recording. 0 when @to <= @from.
 */
static inline __u64 sample_grid__points(__u64 from, __u64 to, __u32 period, __u64 seed)
{
	if (to <= from)
		return 0;
	return sample_grid__before(to, period, seed) - sample_grid__before(from, period, seed);
}

/* The seed of the points of @thread's own, in a recording with @seed. */
static inline __u64 sample_grid__own_seed(__u64 seed, __u32 thread)
{
	__u64 hash = seed + (thread + 1) * 0xbf58476d1ce4e5b9ULL;

	hash ^= hash >> 31;
	hash *= 0x94d049bb133111ebULL;
	return hash ^ (hash >> 29);
}

/*
 * The number of periods that the sampling points of a thread in [@from, @to) represent, at
 * @spacing, below 16: @period << @spacing is below 2^32. @own is the seed of its own points.
 * Always inlined: BPF functions take five arguments at most.
 */
__attribute__((always_inline)) static inline __u64
sample_grid__weight(__u64 from, __u64 to, __u32 period, __u8 spacing, __u64 seed, __u64 own)
{
	__u32 cell = period << spacing;
	__u64 common = sample_grid__points(from, to, cell, seed);

	if (!spacing)
		return common;
	return common + sample_grid__points(from, to, cell, own) * ((1ULL << spacing) - 1);
}

/*
 * The number of ticks in [@from, @to] of a clock with a tick at @due and every @tick ns from then
 * on. @tick is not 0.
 */
static inline __u64 ticks_within(__u64 due, __u64 tick, __u64 from, __u64 to)
{
	__u64 before = due < from ? (from - due + tick - 1) / tick : 0;
	__u64 until = due <= to ? (to - due) / tick + 1 : 0;

	return until > before ? until - before : 0;
}

/*
 * The number of sampling points that a tick represents if ticks lie @tick ns apart: 2^n, since
 * clocks are slowed by powers of two, and the jitter is less than that. At most 2^16.
 */
static inline __u32 points_per_tick(__u64 tick, __u32 period)
{
	__u32 points = 1;

	for (int n = 0; n < 16 && tick * 5 > (__u64)period * points * 7; n++)
		points *= 2;
	return points;
}

/* The first sampling point at or after @time: [@time, x) has none for all x up to it. */
static inline __u64 sample_grid__next(__u64 time, __u32 period, __u64 seed)
{
	__u64 cell = time / period;
	__u64 point = cell * period + sample_grid__offset(cell, period, seed);

	if (point >= time)
		return point;
	return (cell + 1) * period + sample_grid__offset(cell + 1, period, seed);
}

/* The first point at or after @time of a thread: of common and own ones, see above. */
static inline __u64 sample_grid__next_of(__u64 time, __u32 period, __u8 spacing, __u64 seed,
					 __u64 own)
{
	__u32 cell = period << spacing;
	__u64 common = sample_grid__next(time, cell, seed), next;

	if (!spacing)
		return common;
	next = sample_grid__next(time, cell, own);
	return next < common ? next : common;
}
