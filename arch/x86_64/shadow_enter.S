/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The targets of the jumps in arch/x86_64/shadow_asm.h. They preserve all registers but rax, r10, r11,
 * and do not touch the red zone of the function that they are in.
 */
	.text

/*
 * rax: the place of the next entry; r10: where to go on; r11: the function's return address. Returns
 * the function's own entry in rax.
 */
	.globl	__dwell_shadow_enter
	.hidden	__dwell_shadow_enter
	.type	__dwell_shadow_enter, @function
__dwell_shadow_enter:
	.cfi_startproc
	.cfi_undefined rip
	leaq	-128(%rsp), %rsp
	pushq	%rbp
	movq	%rsp, %rbp
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	pushq	%r10
	andq	$-16, %rsp
	movq	%rax, %rdi
	movq	%r10, %rsi
	leaq	136(%rbp), %rdx		/* the function's stack pointer */
	movq	%r11, %rcx
	cld
	call	__dwell_shadow_push
	movq	-8(%rbp), %rdi
	movq	-16(%rbp), %rsi
	movq	-24(%rbp), %rdx
	movq	-32(%rbp), %rcx
	movq	-40(%rbp), %r8
	movq	-48(%rbp), %r9
	movq	-56(%rbp), %r10
	movq	%rbp, %rsp
	popq	%rbp
	leaq	128(%rsp), %rsp
	notrack jmp	*%r10
	.cfi_endproc
	.size	__dwell_shadow_enter, . - __dwell_shadow_enter

/*
 * rax: the function's own entry; r10: where to go on. Kills the entries above it, and makes the
 * place behind it the top.
 */
	.globl	__dwell_shadow_reset
	.hidden	__dwell_shadow_reset
	.type	__dwell_shadow_reset, @function
__dwell_shadow_reset:
	.cfi_startproc
	.cfi_undefined rip
	testl	$0xffff, %eax		/* it found no room: the stack stays full */
	jz	.Lset
	addq	$32, %rax
	movq	%rax, %r11
.Lkill:
	testl	$0xffff, %r11d
	jz	.Lset
	testb	$1, 8(%r11)
	jz	.Lset
	movq	$0, 8(%r11)
	addq	$32, %r11
	jmp	.Lkill
.Lset:
	movq	__dwell_shadow@gottpoff(%rip), %r11
	movq	%rax, %fs:(%r11)
	notrack jmp	*%r10
	.cfi_endproc
	.size	__dwell_shadow_reset, . - __dwell_shadow_reset

	.section .note.GNU-stack, "", @progbits
