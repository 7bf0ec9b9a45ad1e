/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For code that runs in other people's programs. A processor defines
 *
 *	long system_call(number, a, b, c, d, e, f): a system call without the C library, which may
 *be interrupted anywhere, and would set errno. The result, or -errno void relax_cpu(void): what a
 *loop that waits executes in each round
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/system_call.h"
#else
#error "arch/README.md: how this processor calls the kernel is not known"
#endif
