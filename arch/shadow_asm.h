/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the plugins of dwell-cc insert into functions; abi/shadow_stack.h has the protocol. A
 * processor defines, for both compilers,
 *
 * - SHADOW_PUSH(P, D, SITE): sets the operand that is the function's own entry
 * - SHADOW_POP(P, D, OWN)
 * - SHADOW_RESET(P): where a function goes on after callees ended without their pops, at a landing
 *   pad or behind a setjmp. Changes the operand that is its entry
 * - SHADOW_PUSH_GCC, SHADOW_POP_GCC, SHADOW_RESET_GCC: what they clobber, strings
 * - SHADOW_OWN_GCC, SHADOW_CHANGED_GCC: constraints of the outputs of push and reset
 * - SHADOW_PUSH_CLANG, SHADOW_POP_CLANG, SHADOW_RESET_CLANG: all constraints
 * - SHADOW_TRIPLE: the processor, in LLVM's class Triple
 *
 * @P and @D stand for the percent and dollar signs of the compiler's assembler templates, @SITE for
 * the operand with the return address, @OWN for the one with the own entry. What they jump to is in
 * shadow_enter.S; arch.mk has SHADOW_FLAGS, of the C code that it calls.
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/shadow_asm.h"
#else
#error "arch/README.md: dwell-cc does not know this processor"
#endif
