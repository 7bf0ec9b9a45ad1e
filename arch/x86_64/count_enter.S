/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In place of arch/x86_64/shadow_enter.S in programs that count their calls. A push of a thread whose
 * next place lies at a boundary comes here, and what it gets is at a boundary, too, so that each
 * push of the program does.
 */
	.text
	.globl	__dwell_shadow_enter
	.hidden	__dwell_shadow_enter
	.type	__dwell_shadow_enter, @function
__dwell_shadow_enter:
	lock incq dwell_calls(%rip)
	leaq	dwell_no_stack(%rip), %rax
	jmp	*%r10
	.size	__dwell_shadow_enter, . - __dwell_shadow_enter

	.globl	__dwell_shadow_reset
	.hidden	__dwell_shadow_reset
	.type	__dwell_shadow_reset, @function
__dwell_shadow_reset:
	jmp	*%r10
	.size	__dwell_shadow_reset, . - __dwell_shadow_reset

	.section .note.GNU-stack, "", @progbits
