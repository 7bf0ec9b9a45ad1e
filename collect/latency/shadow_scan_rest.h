/* SPDX-License-Identifier: BSD-2-Clause */
/* The CPU of the thread that scans, while no stack needs a look: whether others get it. */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "collect/latency/shadow_scan.h"

/*
 * Sleeps for a moment if there are no stacks, if no thread of a stack runs and one waits for a CPU,
 * or if @idle. If such a thread had the caller's CPU last, the caller moves to another one of @cpus
 * instead, if there is one.
 */
void shadow_scan__rest(const struct shadow_scan *scans, size_t n, const cpu_set_t *cpus, bool idle);
