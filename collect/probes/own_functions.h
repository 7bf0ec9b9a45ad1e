/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of dwell that do nothing, at which it measures what probes cost. They are called in
 * short batches, of which the fastest counts: others may have been interrupted, on a busy machine
 * nearly all.
 */
#pragma once

#include <stdint.h>

#define OWN_FUNCTION_BATCHES 100
#define OWN_FUNCTION_CALLS   5 /* of a batch */

/* By how the kernel executes the first instruction under a uprobe (arch/probe_functions.h). */
void own_function_emulated(void);
void own_function_stepped(void);

/* The offset of the code at @address, which is dwell's own, in dwell's file; 0: not found. */
uint64_t own_function__offset(void (*address)(void));
