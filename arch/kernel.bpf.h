/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the kernel side has to know of the processor. The includer has defined CORE (kernel types
 * whose fields are relocated) and FIELD(). A processor defines
 *
 * - struct pt_regs, and struct thread_info (with cpu), with the fields that are used
 * - REGS_IP(), REGS_SP(), REGS_FP() and REGS_LINK() of struct pt_regs: by role, see abi/unwind.h
 * - REGS_FLAGS(): what condition__is_taken() takes
 * - REGS_SYSCALL(): the number of the system call; negative: it is in none
 * - REGS_ARG1(), REGS_ARG2(): its arguments
 * - REGS_AFTER_SYSCALL(): whether IP is behind the instruction of a system call
 * - REGS_RESTARTS(): whether user code will probably restart an interrupted system call
 * - IS_COMPAT(task): whether the number is one of the 32-bit table
 * - NR_FUTEX, NR_FUTEX_COMPAT: numbers in both tables
 * - TRAMPOLINE_BYTES: of the code that functions with return probes return to
 * - TRAMPOLINE_PUSHED: bytes that it pushes; the first 8 become the original return address
 */
#pragma once

#include "arch/frames.h"

#if defined(__TARGET_ARCH_x86)
#include "arch/x86_64/kernel.bpf.h"
#else
#error "arch/README.md: the kernel side does not know this processor"
#endif

/* Of all processors: these calls are newer than the common numbering. */
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAIT  455
