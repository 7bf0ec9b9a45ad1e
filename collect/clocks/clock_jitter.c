// SPDX-License-Identifier: BSD-2-Clause
#include "collect/clocks/clock_jitter.h"

#define SHORTEST_NS  10000ULL	 /* the kernel's minimum */
#define KEEP_NS	     50000000ULL /* a rate is kept for at least this long, */
#define KEEP_PERIODS 50		 /* and at least this many periods */
#define RANGE	     100	 /* limit of the random part, and of the compensation, in 1/1000 */

static void draw(struct clock_jitter *jitter, uint32_t random, uint64_t makes_up_in, uint64_t now)
{
	int64_t rate = 1000 - RANGE + random % (2 * RANGE + 1);
	int64_t more = jitter->behind * 1000 / (int64_t)makes_up_in;

	if (more > RANGE)
		more = RANGE;
	if (more < -RANGE)
		more = -RANGE;
	jitter->tick = jitter->period * 1000 / (uint64_t)(rate + more);
	if (jitter->tick < SHORTEST_NS)
		jitter->tick = SHORTEST_NS;
	jitter->since = now;
}

void clock_jitter__start(struct clock_jitter *jitter, uint64_t period, uint32_t random,
			 uint64_t now)
{
	*jitter = (struct clock_jitter){.period = period};
	draw(jitter, random, period, now);
}

/* Adds the deviation of the current rate after @passed ns to jitter->behind. */
static void settle(struct clock_jitter *jitter, uint64_t passed)
{
	jitter->behind += (int64_t)passed - (int64_t)(passed / jitter->tick * jitter->period);
}

void clock_jitter__set_period(struct clock_jitter *jitter, uint64_t period, uint32_t random,
			      uint64_t now)
{
	uint64_t passed = now - jitter->since;

	settle(jitter, passed);
	jitter->period = period;
	draw(jitter, random, passed > period ? passed : period, now);
}

bool clock_jitter__step(struct clock_jitter *jitter, uint32_t random, uint64_t now)
{
	uint64_t passed = now - jitter->since;

	if (passed < KEEP_NS || passed < KEEP_PERIODS * jitter->period)
		return false;
	settle(jitter, passed);
	draw(jitter, random, passed, now);
	return true;
}
