/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's struct sigaction; the C library's is different. A processor defines
 *
 * - struct kernel_sigaction, with handler, flags, restorer and mask
 * - SA_RESTORER_KERNEL: the flag that says that there is a restorer
 * - SIGNAL_RESTORER(name): defines a function that returns from a handler
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/signal_action.h"
#else
#error "arch/README.md: how handlers of signals return on this processor is not known"
#endif
