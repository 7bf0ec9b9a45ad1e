/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#define PROBE_FUNCTION(name, first, last)                                                          \
	void name(void);                                                                           \
	void name##_end(void);                                                                     \
	__asm__(".text\n.globl " #name "\n"                                                        \
		".type " #name ", @function\n" #name ":\n\t" first "\n\t" last "\n"                \
		".globl " #name "_end\n" #name "_end:\n\tret\n"                                    \
		".size " #name ", . - " #name "\n")

#define PROBE_FUNCTION_EMULATED(name) PROBE_FUNCTION(name, "push %rbp", "pop %rbp")
#define PROBE_FUNCTION_STEPPED(name)  PROBE_FUNCTION(name, "sub $8, %rsp", "add $8, %rsp")

#define BREAKPOINT_BYTES sizeof(long)
