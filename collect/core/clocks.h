/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampling clocks, one per CPU: on-CPU samples, with the period of the blocked ones. */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"

struct bpf_program;
struct capture_cpu;
struct clocks;

/*
 * Runs @on_tick every @period_ns on average on every CPU from now on, and counts what that costs
 * in @costs, the kernel side's, which must outlive the clocks. -errno with a message.
 */
int clocks__new(struct bpf_program *on_tick, uint32_t period_ns, const struct capture_cpu *costs,
		struct clocks **out);

/*
 * Sets the clocks to another rate when it is time for that (see clock_jitter.h), or when ticks
 * cost too much of a CPU (clock_throttle.h). To be called often.
 */
void clocks__adjust(struct clocks *clocks);

/* See clock_throttle__slowest(). */
uint64_t clocks__slowest(const struct clocks *clocks, uint64_t *share);

void clocks__free(struct clocks *clocks);
DEFINE_CLEANUP(struct clocks *, clocks__free)
