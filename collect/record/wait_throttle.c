// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/wait_throttle.h"

#define SECOND	  1000000000ULL
#define WINDOW_NS 50000000ULL
/*
 * Common points in a window, at least: at one of them, all threads may have a wait. As many waits
 * come because of threads' own points, at any time.
 */
#define POINTS	       3
#define MAX_SPACING_NS (2 * SECOND)
#define MAX_SPACING    15 /* INTERVAL_SPACING_MAX */

void wait_throttle__start(struct wait_throttle *throttle, uint64_t per_period, uint64_t period_ns,
			  uint64_t cpus, uint64_t now)
{
	*throttle = (struct wait_throttle){
		.limit = per_period * cpus * SECOND / period_ns,
		.period_ns = period_ns,
		.since = now,
	};
	while (throttle->max_spacing < MAX_SPACING &&
	       period_ns << (throttle->max_spacing + 1) <= MAX_SPACING_NS)
		throttle->max_spacing++;
}

unsigned int wait_throttle__step(struct wait_throttle *throttle, uint64_t waits, uint64_t now)
{
	uint64_t window = now - throttle->since;
	uint64_t rate;

	throttle->waits += waits;
	if (!throttle->limit || window < WINDOW_NS ||
	    window < POINTS * throttle->period_ns << throttle->spacing)
		return throttle->spacing;
	rate = throttle->waits * SECOND / window;
	throttle->since = now;
	throttle->waits = 0;
	/*
	 * Doubling the spacing at best halves the waits, but for the first time, when threads get
	 * points of their own; halving it at worst doubles them.
	 */
	for (; rate > throttle->limit && throttle->spacing < throttle->max_spacing;
	     throttle->spacing++)
		rate /= throttle->spacing ? 2 : 1;
	if (rate < throttle->limit / 3 && throttle->spacing)
		throttle->spacing--;
	return throttle->spacing;
}
