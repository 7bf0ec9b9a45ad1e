// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/sampling_throttle.h"

#define SECOND	    1000000000ULL
#define WINDOW_NS   50000000ULL
#define POINTS	    6	   /* that a window holds at least: at each, all threads may have a wait */
#define WIDEST_NS   SECOND /* points are never further apart */
#define MAX_SPACING 15	   /* INTERVAL_SPACING_MAX */

void pacer__start(struct pacer *pacer, uint64_t per_period, uint64_t period_ns, uint64_t cpus,
		  uint64_t now)
{
	*pacer = (struct pacer){
		.limit = per_period * cpus * SECOND / period_ns,
		.period_ns = period_ns,
		.since = now,
	};
	while (pacer->widest < MAX_SPACING && period_ns << (pacer->widest + 1) <= WIDEST_NS)
		pacer->widest++;
}

unsigned int pacer__step(struct pacer *pacer, uint64_t waits, uint64_t now)
{
	uint64_t window = now - pacer->since;
	uint64_t rate;

	pacer->waits += waits;
	if (!pacer->limit || window < WINDOW_NS ||
	    window < POINTS * pacer->period_ns << pacer->spacing)
		return pacer->spacing;
	rate = pacer->waits * SECOND / window;
	pacer->since = now;
	pacer->waits = 0;
	/* Twice the distance is half the waits, at best; half the distance twice as many, at worst.
	 */
	for (; rate > pacer->limit && pacer->spacing < pacer->widest; rate /= 2)
		pacer->spacing++;
	if (rate < pacer->limit / 3 && pacer->spacing)
		pacer->spacing--;
	return pacer->spacing;
}
