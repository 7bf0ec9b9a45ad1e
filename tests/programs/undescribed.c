/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls through assembly without unwind tables.
 *
 * True by construction: nearly all time is in innermost(), called by bare(), which keeps a
 * frame pointer, called by outer(); or in lonely(), which uses rbp as an ordinary register, so
 * that it does not point to a frame.
 */
#include <time.h>

#include "tests/programs/common/program.h"

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
	uint64_t loops = loops_per_ms();

	/* Four seconds on the CPU, whatever else runs. */
	while (clock() < 4 * CLOCKS_PER_SEC)
		outer(loops * 10);
	return 0;
}
