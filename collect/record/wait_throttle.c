// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/wait_throttle.h"

#define SECOND	    1000000000ULL
#define WINDOW_NS   50000000ULL
#define POINTS	    6	   /* that a window holds at least: at each, all threads may have a wait */
#define WIDEST_NS   SECOND /* points are never further apart */
#define MAX_SPACING 15	   /* INTERVAL_SPACING_MAX */

void wait_throttle__start(struct wait_throttle *throttle, uint64_t per_period, uint64_t period_ns,
			  uint64_t cpus, uint64_t now)
{
	*throttle = (struct wait_throttle){
		.limit = per_period * cpus * SECOND / period_ns,
		.period_ns = period_ns,
		.since = now,
	};
	while (throttle->widest < MAX_SPACING && period_ns << (throttle->widest + 1) <= WIDEST_NS)
		throttle->widest++;
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
	/* Twice the distance is half the waits, at best; half the distance twice as many, at worst.
	 */
	for (; rate > throttle->limit && throttle->spacing < throttle->widest; rate /= 2)
		throttle->spacing++;
	if (rate < throttle->limit / 3 && throttle->spacing)
		throttle->spacing--;
	return throttle->spacing;
}
