# A program whose entry is not described, right behind a function that is: as
# outermost. What is said of both is one row.
	.text
	.globl outermost, entry, other
outermost:
	.cfi_startproc
	.cfi_undefined rip
	nop
	nop
	.cfi_endproc
entry:
	nop
	hlt
other:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
