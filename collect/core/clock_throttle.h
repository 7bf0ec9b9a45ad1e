/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds the share of each CPU that the sampling clocks take. Where ticks cost more (a short
 * period, deep stacks, an emulated or busy host), they are moved apart, by powers of two
 * of the period, and each counts for as many more points: estimates stay unbiased, with a
 * coarser grain. When ticks have become cheap, they come together again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define CLOCK_SHARE_MAX 100 /* of a CPU, in thousandths */

/* What the ticks of one CPU have cost since the start, as the kernel side measures it. */
struct clock_cost {
	uint64_t ticks;
	uint64_t ns;
};

struct clock_throttle;

/* For @cpus clocks of @period_ns. @now is any clock's time in ns, here and below. -ENOMEM. */
int clock_throttle__new(uint64_t period_ns, size_t cpus, uint64_t now, struct clock_throttle **out);

/*
 * Takes note of @costs, one for each CPU, and decides. To be called often. True: ticks are to
 * lie 2^clock_throttle__shift() periods apart from now on, which they did not before.
 */
bool clock_throttle__step(struct clock_throttle *throttle, const struct clock_cost *costs,
			  uint64_t now);

unsigned int clock_throttle__shift(const struct clock_throttle *throttle);

/*
 * Returns the longest distance between ticks so far, in ns; 0: the clocks were never slowed. In
 * *@share, which share of a CPU ticks at the period asked for would have taken at most, in
 * thousandths: more than 1000 when they could not have kept up.
 */
uint64_t clock_throttle__slowest(const struct clock_throttle *throttle, uint64_t *share);

void clock_throttle__free(struct clock_throttle *throttle);
DEFINE_CLEANUP(struct clock_throttle *, clock_throttle__free)
