/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The sampling points. Blocked Samples, OSDI'24, section 3.1.
 *
 * Time is divided into cells of one period. Each cell has exactly one point, at an offset that is a
 * hash of the cell and of the recording's seed. So the expected number of points in an interval is
 * its length divided by the period, however short it is; no state is needed; and a thread whose
 * period is a multiple of the sampling period is not always sampled at the same phase.
 *
 * All threads have the same points: at each, it is known who was blocked, and by whom. The wait-for
 * graph is estimated from that.
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
