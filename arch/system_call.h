/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For code that runs in other people's programs. A processor defines
 *
 * - long system_call(number, a, b, c, d, e, f): a system call without the C library, so that errno
 *   is not set. The result, or -errno
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/system_call.h"
#else
#error "arch/README.md: how this processor calls the kernel is not known"
#endif
