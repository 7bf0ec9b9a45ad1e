/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Frames of functions, for the kernel side and user space. A processor defines
 *
 * - RED_ZONE: bytes below the stack pointer that a leaf function may use
 * - CALL_PUSHES: bytes that a call pushes: the return address. 0: it is left in a register
 * - RETURN_AT: calls leave the return address at the canonical frame address (CFA) + this
 * - ENTRY_CFA: at a function's entry, the CFA is the stack pointer + this * 8
 * - SAVED_FP: functions that have a frame pointer save their caller's at CFA + this * 8
 * - SIGNAL_IP, SIGNAL_SP, SIGNAL_FP: offsets of these registers in struct ucontext
 */
#pragma once

#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#include "arch/x86_64/frames.h"
#else
#error "arch/README.md: the frames of this processor are not known"
#endif
