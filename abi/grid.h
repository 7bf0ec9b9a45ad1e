/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Where the sampling points lie. Blocked Samples, OSDI'24, 3.1.
 *
 * Time is cut into cells of one period; each cell holds exactly one point, at
 * an offset that a hash of the cell and of the recording's seed draws anew. So
 * the expected number of points in an interval is its length divided by the
 * period, however short it is, no state is needed, and a thread whose own
 * rhythm is a multiple of the period is not always hit at the same place (a
 * fixed phase per thread would be).
 *
 * All threads have the same points: each is a picture of who was blocked at
 * that moment, and by whom, which is what the wait-for graph is estimated from.
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

/*
 * Ticks due at @due and every @tick ns from then on that fall into [@from, @to]: those a
 * clock whose tick of @due is late has come to by @to. @tick is not 0.
 */
static inline __u64 ticks_within(__u64 due, __u64 tick, __u64 from, __u64 to)
{
	__u64 before = due < from ? (from - due + tick - 1) / tick : 0;
	__u64 until = due <= to ? (to - due) / tick + 1 : 0;

	return until > before ? until - before : 0;
}

/*
 * Sampling points that each tick of a clock stands for when its ticks lie @tick ns apart: 2^n, as
 * a clock that is slowed has 2^n times the period, give or take its jitter. At most 2^16.
 */
static inline __u32 points_per_tick(__u64 tick, __u32 period)
{
	__u32 points = 1;

	for (int n = 0; n < 16 && tick * 5 > (__u64)period * points * 7; n++)
		points *= 2;
	return points;
}

/* The first sampling point at or after @time: what ends before it, or at it, holds none. */
static inline __u64 sample_grid__next(__u64 time, __u32 period, __u64 seed)
{
	__u64 cell = time / period;
	__u64 point = cell * period + sample_grid__offset(cell, period, seed);

	if (point >= time)
		return point;
	return (cell + 1) * period + sample_grid__offset(cell + 1, period, seed);
}
