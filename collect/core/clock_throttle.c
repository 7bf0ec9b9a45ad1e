// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/clock_throttle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_NS   50000000ULL
#define TICKS	    16		  /* that a window holds at least, on the CPU where most do */
#define SLOWEST_NS  1000000000ULL /* ticks are never further apart */
#define SHIFT_MAX   16		  /* what the kernel side knows, abi/grid.h */
#define WINDOWS_MAX 20		  /* a window ends then, whether it holds enough ticks or not */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct clock_throttle {
	uint64_t period_ns;
	size_t cpus;
	unsigned int shift;
	unsigned int shift_max;
	unsigned int shift_used; /* the largest so far */
	uint64_t share;		 /* the largest one that made it slow down */
	uint64_t since;		 /* begin of the present window */
	struct clock_cost begin[];
};

int clock_throttle__new(uint64_t period_ns, size_t cpus, uint64_t now, struct clock_throttle **out)
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
	*out = throttle;
	return 0;
}

/*
 * The mean cost of a tick in the present window on the CPU where ticks are dearest, 0: unknown.
 * CPUs with few of the ticks, which say little, do not count.
 */
static uint64_t dearest_tick(const struct clock_throttle *throttle, const struct clock_cost *costs,
			     uint64_t *most)
{
	uint64_t dearest = 0;

	*most = 0;
	for (size_t i = 0; i < throttle->cpus; i++)
		*most = larger(*most, costs[i].ticks - throttle->begin[i].ticks);
	for (size_t i = 0; i < throttle->cpus; i++) {
		uint64_t ticks = costs[i].ticks - throttle->begin[i].ticks;

		if (ticks && ticks >= *most / 8)
			dearest = larger(dearest, (costs[i].ns - throttle->begin[i].ns) / ticks);
	}
	return dearest;
}

/* The share of a CPU that ticks of @cost ns take at 2^@shift periods, in thousandths. */
static uint64_t share_at(const struct clock_throttle *throttle, uint64_t cost, unsigned int shift)
{
	return cost * 1000 / (throttle->period_ns << shift);
}

bool clock_throttle__step(struct clock_throttle *throttle, const struct clock_cost *costs,
			  uint64_t now)
{
	uint64_t window = now - throttle->since, most, cost;
	unsigned int before = throttle->shift;

	if (window < WINDOW_NS)
		return false;
	cost = dearest_tick(throttle, costs, &most);
	if (most < TICKS && window < WINDOWS_MAX * WINDOW_NS)
		return false;
	memcpy(throttle->begin, costs, throttle->cpus * sizeof(*costs));
	throttle->since = now;
	if (!most)
		return false;
	while (throttle->shift < throttle->shift_max &&
	       share_at(throttle, cost, throttle->shift) > CLOCK_SHARE_MAX)
		throttle->shift++;
	if (throttle->shift > before)
		throttle->share = larger(throttle->share, share_at(throttle, cost, 0));
	/* Half the distance is twice the share; a step at a time, and only where it is safe. */
	else if (before && share_at(throttle, cost, before - 1) <= CLOCK_SHARE_MAX / 2)
		throttle->shift--;
	throttle->shift_used =
		throttle->shift > throttle->shift_used ? throttle->shift : throttle->shift_used;
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
