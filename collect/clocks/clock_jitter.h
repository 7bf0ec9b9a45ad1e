/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rate of a CPU's sampling clock: it jitters, but is exact on average. A clock with a constant
 * rate would always sample a program of a similar period at the same phase, so a new rate is drawn
 * at intervals, between 0.8 and 1.2 ticks per period. Setting the rate restarts the clock's period,
 * and loses the part that had passed. Each new rate compensates for that and for the deviations of
 * earlier rates: in the long run there is one tick per period. Where shorter times must be
 * accurate, a product weights a sample by the time for which its thread ran since the last one.
 *
 * What remains of the aliasing: for a program whose loop takes one period, and spends a third of it
 * in one function, 20 s of 1 ms ticks estimate that share with a standard deviation of 0.7
 * percentage points (independent random ticks: 0.3; a constant rate: 47). Drawing rates more often
 * would not help; with a loop of 1.15 periods it is 0.1.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clock_jitter {
	uint64_t period; /* of sampling, ns */
	uint64_t tick;	 /* the clock's current period, ns */
	uint64_t since;	 /* when that was set */
	int64_t behind;	 /* ns for which ticks are missing; below 0: there were too many */
};

/* Sets jitter->tick for the first time. Times are ns; @random is a random number, here and below.
 */
void clock_jitter__start(struct clock_jitter *jitter, uint64_t period, uint32_t random,
			 uint64_t now);

/* Changes the sampling period. The caller sets the clock to jitter->tick. */
void clock_jitter__set_period(struct clock_jitter *jitter, uint64_t period, uint32_t random,
			      uint64_t now);

/* To be called often. True: the caller sets the clock to jitter->tick, at once. */
bool clock_jitter__step(struct clock_jitter *jitter, uint32_t random, uint64_t now);
