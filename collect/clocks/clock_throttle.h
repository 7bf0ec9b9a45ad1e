/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds the share of each CPU that the sampling clocks take. If ticks cost more (a short period,
 * deep stacks, an emulated or busy host), the clocks are slowed by a power of two, and each tick
 * represents as many more sampling points: estimates stay unbiased, with a larger variance. When
 * ticks have become cheap, clocks are sped up again. What ticks cost is estimated by tick_costs.h:
 * time in which the hypervisor ran something else does not slow the clocks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define CLOCK_SHARE_MAX 100 /* of a CPU, in thousandths */

struct clock_throttle;

/*
 * For @cpus clocks of @period_ns, with ticks that are expected to cost @cost ns each. They start as
 * slow as that requires: ticks that take all of a CPU would leave no time to slow them down. @now
 * is the time of any clock in ns, here and below. Returns 0 or -ENOMEM.
 */
int clock_throttle__new(uint64_t period_ns, size_t cpus, uint64_t cost, uint64_t now,
			struct clock_throttle **out);

/* A tick of @cpu took @ns for @work, see struct capture_tick. */
void clock_throttle__tick(struct clock_throttle *throttle, size_t cpu, uint64_t ns, uint32_t work);

/*
 * Adapts the clocks to what ticks cost. To be called often. True: clock_throttle__shift() has
 * changed, and the caller sets the clocks.
 */
bool clock_throttle__step(struct clock_throttle *throttle, uint64_t now);

/* n, where ticks are to lie 2^n periods apart. */
unsigned int clock_throttle__shift(const struct clock_throttle *throttle);

/*
 * The longest distance between ticks so far, in ns; 0: the clocks were never slowed. Sets *@share
 * to what a tick took in thousandths of the period asked for, the largest estimate while the clocks
 * were slowed (what was expected, if there was none): over 1000 if the CPU could not have handled
 * them all.
 */
uint64_t clock_throttle__slowest(const struct clock_throttle *throttle, uint64_t *share);

void clock_throttle__free(struct clock_throttle *throttle);
DEFINE_CLEANUP(struct clock_throttle *, clock_throttle__free)
