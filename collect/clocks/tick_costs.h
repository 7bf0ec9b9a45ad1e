/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ticks of the sampling clocks cost when nothing interrupts them, from the run times that were
 * measured. While the hypervisor runs something else, a tick lasts as long as that takes; only some
 * hypervisors say how long that was (the kernel side subtracts it). So:
 *
 *  - Ticks are divided into classes by their work (a power of two of struct capture_tick's: frames
 *    walked and memory copied), within which they cost about the same. A class has a typical cost:
 *    the median of its latest 256 ticks, on all CPUs.
 *  - A tick counts with its run time, but at most with TICK_COST_CAP times the typical cost of its
 *    class. The cost of a CPU's ticks is the mean of that.
 *
 * Half of a class can be stolen from for any length of time without an effect on its typical cost.
 * If s of its ticks are, they look at most 1 + s * (TICK_COST_CAP - 1) times as dear (1.6 times for
 * s = 30%), and in practice far less. Ticks with more work than others are in a class of their own:
 * their cost counts in full, however few they are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define TICK_COST_CAP 3

struct tick_costs;

/* For @cpus CPUs. Returns 0 or -ENOMEM. */
int tick_costs__new(size_t cpus, struct tick_costs **out);

/* A tick of @cpu, below the number of CPUs, took @ns for @work, see struct capture_tick. */
void tick_costs__add(struct tick_costs *costs, size_t cpu, uint64_t ns, uint32_t work);

/*
 * The mean cost in ns of the ticks added since the last call, on the CPU where it is highest. 0:
 * unknown. CPUs with few ticks, and classes with few ticks so far, are ignored.
 */
uint64_t tick_costs__take(struct tick_costs *costs);

void tick_costs__free(struct tick_costs *costs);
DEFINE_CLEANUP(struct tick_costs *, tick_costs__free)
