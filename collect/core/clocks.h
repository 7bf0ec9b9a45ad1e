/* SPDX-License-Identifier: BSD-2-Clause */
/* The sampling clocks, one per CPU: on-CPU samples, with the period of the blocked ones. */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"

struct bpf_program;
struct clocks;

/* Runs @on_tick every @period_ns on average on every CPU from now on. -errno with a message. */
int clocks__new(struct bpf_program *on_tick, uint32_t period_ns, struct clocks **out);

/* Sets the clocks to another rate when it is time for that (see clock_jitter.h). To be called
 * often. */
void clocks__jitter(struct clocks *clocks);

void clocks__free(struct clocks *clocks);
DEFINE_CLEANUP(struct clocks *, clocks__free)
