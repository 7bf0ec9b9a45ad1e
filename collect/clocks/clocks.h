/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampling clocks, one per CPU, for on-CPU samples. */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"

struct bpf_program;
struct capture_cpu;
struct clocks;

/*
 * From now on runs @on_tick every @period_ns on average on every CPU. @costs, which must outlive
 * the clocks, are the kernel side's counts of each CPU. -errno with a message.
 */
int clocks__new(struct bpf_program *on_tick, uint32_t period_ns, const struct capture_cpu *costs,
		struct clocks **out);

/* Changes the rate if it is time for that (clock_jitter.h, clock_throttle.h). To be called often.
 */
void clocks__adjust(struct clocks *clocks);

/* See clock_throttle__slowest(). */
uint64_t clocks__slowest(const struct clocks *clocks, uint64_t *share);

void clocks__free(struct clocks *clocks);
DEFINE_CLEANUP(struct clocks *, clocks__free)
