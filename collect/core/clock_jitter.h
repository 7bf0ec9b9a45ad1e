/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rate of the sampling clocks: it jitters, but is true on average. A clock
 * of one rate would see a program of a similar rhythm always at the same place,
 * so a new rate is drawn again and again, between 0.8 and 1.2 ticks per period.
 * Setting a clock anew begins its period anew, and what had passed of the old
 * one is lost. That, and what the rates drawn so far were off, each new rate
 * makes up for: in the long run there is one tick per period.
 *
 * What this leaves of a rhythm: of a program whose rounds take as long as a period,
 * and of a third of each round, 20 s of ticks of 1 ms give the share within 0.7 points (one
 * standard deviation: as many random ticks would come to 0.3, a metronome to 47).
 * Keeping a rate for less long would not help; rounds 1.15 times as long do (0.1).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct clock_jitter {
	uint64_t period; /* of sampling, ns */
	uint64_t tick;	 /* the clocks' period at present, ns */
	uint64_t since;	 /* when it was set */
	int64_t behind;	 /* ns for which ticks are missing (below 0: there are too many) */
};

/* Sets jitter->tick for the first time. @random is any number, here and below; times are in ns. */
void clock_jitter__start(struct clock_jitter *jitter, uint64_t period, uint32_t random,
			 uint64_t now);

/* From now on there is to be one tick per @period. The clocks are to be set to jitter->tick. */
void clock_jitter__set_period(struct clock_jitter *jitter, uint64_t period, uint32_t random,
			      uint64_t now);

/* To be called often. True: the clocks are to be set to jitter->tick, right now. */
bool clock_jitter__step(struct clock_jitter *jitter, uint32_t random, uint64_t now);
