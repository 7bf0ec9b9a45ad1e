/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of dwell at which it measures what probes cost, and breakpoints. A processor defines
 *
 * - PROBE_FUNCTION_EMULATED(name): defines a function that does nothing, whose first instruction
 * the kernel emulates at a uprobe, and name_end(), its last instruction
 * - PROBE_FUNCTION_STEPPED(name): the same, but the kernel single-steps the instruction
 * - BREAKPOINT_BYTES: bp_len of a hardware breakpoint at an instruction
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/probe_functions.h"
#else
#error "arch/README.md: the probes of this processor are not known"
#endif
