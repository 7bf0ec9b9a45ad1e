// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/clock_throttle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_NS   50000000ULL
#define MIN_TICKS   16		  /* in a window, on the CPU with most of them */
#define SLOWEST_NS  1000000000ULL /* the longest distance between ticks */
#define SHIFT_MAX   16		  /* see points_per_tick(), abi/grid.h */
#define MAX_WINDOWS 20		  /* after this many window lengths, a window ends in any case */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct clock_throttle {
	uint64_t period_ns;
	size_t cpus;
	unsigned int shift;
	unsigned int shift_max;
	unsigned int shift_used;   /* the largest shift so far */
	uint64_t share;		   /* see clock_throttle__slowest() */
	uint64_t since;		   /* begin of the current window */
	struct clock_cost begin[]; /* costs at that time */
};

/* The share of a CPU that ticks of @cost ns take at 2^@shift periods, in thousandths. */
static uint64_t share_at(const struct clock_throttle *throttle, uint64_t cost, unsigned int shift)
{
	return cost * 1000 / (throttle->period_ns << shift);
}

/* Slows the clocks until ticks that cost @cost ns each take at most CLOCK_SHARE_MAX. */
static void slow_down(struct clock_throttle *throttle, uint64_t cost)
{
	unsigned int before = throttle->shift;

	while (throttle->shift < throttle->shift_max &&
	       share_at(throttle, cost, throttle->shift) > CLOCK_SHARE_MAX)
		throttle->shift++;
	if (throttle->shift > before)
		throttle->share = larger(throttle->share, share_at(throttle, cost, 0));
	if (throttle->shift > throttle->shift_used)
		throttle->shift_used = throttle->shift;
}

int clock_throttle__new(uint64_t period_ns, size_t cpus, uint64_t cost, uint64_t now,
			struct clock_throttle **out)
{
	struct clock_throttle *throttle =
		calloc(1, sizeof(*throttle) + cpus * sizeof(throttle->begin[0]));

	if (!throttle)
		return -ENOMEM;
	throttle->period_ns = period_ns;
	throttle->cpus = cpus;
	throttle->since = now;
	while (throttle->shift_max < SHIFT_MAX &&
	       period_ns << (throttle->shift_max + 1) <= SLOWEST_NS)
		throttle->shift_max++;
	slow_down(throttle, cost);
	*out = throttle;
	return 0;
}

/*
 * The mean cost of a tick in the current window, on the CPU where it is highest; 0: unknown. CPUs
 * with few ticks are ignored. *@most: the largest number of ticks of a CPU.
 */
static uint64_t highest_tick_cost(const struct clock_throttle *throttle,
				  const struct clock_cost *costs, uint64_t *most)
{
	uint64_t highest = 0;

	*most = 0;
	for (size_t i = 0; i < throttle->cpus; i++)
		*most = larger(*most, costs[i].ticks - throttle->begin[i].ticks);
	for (size_t i = 0; i < throttle->cpus; i++) {
		uint64_t ticks = costs[i].ticks - throttle->begin[i].ticks;

		if (ticks && ticks >= *most / 8)
			highest = larger(highest, (costs[i].ns - throttle->begin[i].ns) / ticks);
	}
	return highest;
}

bool clock_throttle__step(struct clock_throttle *throttle, const struct clock_cost *costs,
			  uint64_t now)
{
	uint64_t window = now - throttle->since, most, cost;
	unsigned int before = throttle->shift;

	if (window < WINDOW_NS)
		return false;
	cost = highest_tick_cost(throttle, costs, &most);
	if (most < MIN_TICKS && window < MAX_WINDOWS * WINDOW_NS)
		return false;
	memcpy(throttle->begin, costs, throttle->cpus * sizeof(*costs));
	throttle->since = now;
	if (!most)
		return false;
	slow_down(throttle, cost);
	/* Half the distance takes twice the share: speeds up by one step, and with a margin. */
	if (before && throttle->shift == before &&
	    share_at(throttle, cost, before - 1) <= CLOCK_SHARE_MAX / 2)
		throttle->shift--;
	return throttle->shift != before;
}

unsigned int clock_throttle__shift(const struct clock_throttle *throttle)
{
	return throttle->shift;
}

uint64_t clock_throttle__slowest(const struct clock_throttle *throttle, uint64_t *share)
{
	*share = throttle->share;
	return throttle->shift_used ? throttle->period_ns << throttle->shift_used : 0;
}

void clock_throttle__free(struct clock_throttle *throttle)
{
	free(throttle);
}
