/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions of jumps, which are numbers from CONDITION_FIRST to CONDITION_LAST. A processor
 * defines
 *
 * - bool condition__is_taken(condition, flags): whether such a jump is taken; flags: REGS_FLAGS()
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#define CONDITION_FIRST 16
#define CONDITION_LAST	31

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "arch/x86_64/condition.h"
#else
#error "arch/README.md: the jumps of this processor are not known"
#endif
