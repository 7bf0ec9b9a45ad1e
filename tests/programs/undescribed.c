/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls through assembly that says nothing of its frames.
 *
 * True by construction: nearly all the time is spent in innermost(), called by
 * bare(), called by outer() (with a frame pointer in bare), or in lonely(), which
 * has none and uses rbp for something else: whoever follows it, gets nowhere.
 */
#include "known.h"

void bare(void (*function)(uint64_t), uint64_t argument);
void lonely(uint64_t loops);

__asm__(".text\n"
	".globl bare\n"
	".type bare, @function\n"
	"bare:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	call *%rax\n"
	"	pop %rbp\n"
	"	ret\n"
	".size bare, . - bare\n"
	".globl lonely\n"
	".type lonely, @function\n"
	"lonely:\n"
	"	push %rbp\n"
	"	mov $1, %ebp\n"
	"1:	sub $1, %rdi\n"
	"	jnz 1b\n"
	"	pop %rbp\n"
	"	ret\n"
	".size lonely, . - lonely\n");

KEEP void innermost(uint64_t loops)
{
	BURN(loops);
	NO_TAIL_CALL();
}

KEEP void outer(uint64_t loops)
{
	bare(innermost, loops);
	lonely(loops);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	uint64_t until = wall_ns() + NS_PER_S, loops = loops_per_ms();

	while (wall_ns() < until)
		outer(loops * 10);
	return 0;
}
