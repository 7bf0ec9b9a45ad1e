/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A processor defines
 *
 * - uint64_t read_cycles(void): a counter at a constant rate, the same on all CPUs
 * - void relax_cpu(void): what a loop that waits executes in each round
 */
#pragma once

#include <stdint.h>

#if defined(__x86_64__)
#include "arch/x86_64/cycles.h"
#else
#error "arch/README.md: the counter of this processor is not known"
#endif
