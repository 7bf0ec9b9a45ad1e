/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the kernel side has to know of the processor. The includer has defined CORE (kernel types
 * whose fields are relocated) and FIELD(). A processor defines
 *
 *	struct pt_regs, struct thread_info (with cpu), with the fields that are used
 *	REGS_IP(), REGS_SP(), REGS_FP(), REGS_LINK(), REGS_FLAGS()    of struct pt_regs; FP is the
 *frame pointer, LINK the register of UNWIND_CFA_SP_LINK, FLAGS what condition__is_taken() takes
 *	REGS_ARG1(), REGS_ARG2()     of a system call
 *	REGS_SYSCALL()               its number; negative: it is in none
 *	REGS_AFTER_SYSCALL()         whether IP is behind the instruction of a system call
 *	REGS_RESTARTS()              whether user code will probably restart an interrupted system
 *call IS_COMPAT(task)              its system call has a number of the 32-bit table NR_FUTEX,
 *NR_FUTEX_COMPAT    numbers of system calls, in both tables TRAMPOLINE_BYTES             of the
 *code that functions with return probes return to TRAMPOLINE_PUSHED            bytes that it
 *pushes, with the original return address the last
 *
 * and what arch/frames.h says.
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
