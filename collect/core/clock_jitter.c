// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/clock_jitter.h"

#define KEEP_NS	     50000000ULL /* a tempo is kept for this long, */
#define KEEP_PERIODS 50		 /* and for so many periods */
#define RANGE	     100	 /* drawn within +- so many thousandths, and as many to make up */

static void draw(struct tempo *tempo, uint32_t random, uint64_t makes_up_in, uint64_t now)
{
	int64_t rate = 1000 - RANGE + random % (2 * RANGE + 1);
	int64_t more = tempo->behind * 1000 / (int64_t)makes_up_in;

	if (more > RANGE)
		more = RANGE;
	if (more < -RANGE)
		more = -RANGE;
	tempo->tick = tempo->period * 1000 / (uint64_t)(rate + more);
	tempo->since = now;
}

void tempo__start(struct tempo *tempo, uint64_t period, uint32_t random, uint64_t now)
{
	*tempo = (struct tempo){.period = period};
	draw(tempo, random, period, now);
}

bool tempo__step(struct tempo *tempo, uint32_t random, uint64_t now)
{
	uint64_t passed = now - tempo->since;

	if (passed < KEEP_NS || passed < KEEP_PERIODS * tempo->period)
		return false;
	tempo->behind += (int64_t)passed - (int64_t)(passed / tempo->tick * tempo->period);
	draw(tempo, random, passed, now);
	return true;
}
