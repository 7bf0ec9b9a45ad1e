// SPDX-License-Identifier: BSD-2-Clause
#include "collect/clocks/clock_throttle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/clocks/tick_costs.h"

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
	unsigned int shift_used; /* the largest shift so far */
	bool measured;		 /* share is of ticks that were seen */
	uint64_t share;		 /* see clock_throttle__slowest() */
	uint64_t since;		 /* begin of the current window */
	struct tick_costs *costs;
	uint64_t ticks[]; /* of each CPU in the window */
};

/* The share of a CPU that ticks of @cost ns take at 2^@shift periods, in thousandths. */
static uint64_t share_at(const struct clock_throttle *throttle, uint64_t cost, unsigned int shift)
{
	return cost * 1000 / (throttle->period_ns << shift);
}

/* Slows the clocks until ticks that cost @cost ns each take at most CLOCK_SHARE_MAX. */
static void slow_down(struct clock_throttle *throttle, uint64_t cost)
{
	while (throttle->shift < throttle->shift_max &&
	       share_at(throttle, cost, throttle->shift) > CLOCK_SHARE_MAX)
		throttle->shift++;
	throttle->shift_used = (unsigned int)larger(throttle->shift_used, throttle->shift);
}

int clock_throttle__new(uint64_t period_ns, size_t cpus, uint64_t cost, uint64_t now,
			struct clock_throttle **out)
{
	_cleanup_(clock_throttle__freep) struct clock_throttle *throttle =
		calloc(1, sizeof(*throttle) + cpus * sizeof(throttle->ticks[0]));

	if (!throttle || tick_costs__new(cpus, &throttle->costs))
		return -ENOMEM;
	throttle->period_ns = period_ns;
	throttle->cpus = cpus;
	throttle->since = now;
	while (throttle->shift_max < SHIFT_MAX &&
	       period_ns << (throttle->shift_max + 1) <= SLOWEST_NS)
		throttle->shift_max++;
	slow_down(throttle, cost);
	throttle->share = throttle->shift ? share_at(throttle, cost, 0) : 0;
	*out = TAKE_PTR(throttle);
	return 0;
}

void clock_throttle__tick(struct clock_throttle *throttle, size_t cpu, uint64_t ns, uint32_t work)
{
	tick_costs__add(throttle->costs, cpu, ns, work);
	throttle->ticks[cpu]++;
}

/* Keeps the largest share that was measured while the clocks were slowed, or slowed them. */
static void keep_share(struct clock_throttle *throttle, uint64_t cost)
{
	uint64_t known = throttle->measured ? throttle->share : 0;

	if (!throttle->shift_used)
		return;
	throttle->share = larger(known, share_at(throttle, cost, 0));
	throttle->measured = true;
}

bool clock_throttle__step(struct clock_throttle *throttle, uint64_t now)
{
	uint64_t window = now - throttle->since, most = 0, cost;
	unsigned int before = throttle->shift;

	if (window < WINDOW_NS)
		return false;
	for (size_t i = 0; i < throttle->cpus; i++)
		most = larger(most, throttle->ticks[i]);
	if (most < MIN_TICKS && window < MAX_WINDOWS * WINDOW_NS)
		return false;
	memset(throttle->ticks, 0, throttle->cpus * sizeof(*throttle->ticks));
	throttle->since = now;
	cost = tick_costs__take(throttle->costs);
	if (!cost)
		return false;
	slow_down(throttle, cost);
	keep_share(throttle, cost);
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
	if (throttle->costs)
		tick_costs__free(throttle->costs);
	free(throttle);
}
