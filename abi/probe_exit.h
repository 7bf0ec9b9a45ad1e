/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes at the places where a function is left. The high bits of their cookies say when: 0:
 * always; else the condition (arch/condition.h) of a conditional jump out of the function.
 */
#pragma once

#include <linux/types.h>

#define PROBE_EXIT_SHIFT	     48
#define PROBE_EXIT_COOKIE(condition) ((__u64)(condition) << PROBE_EXIT_SHIFT)
#define PROBE_EXIT_CONDITION(cookie) ((__u32)((cookie) >> PROBE_EXIT_SHIFT))
