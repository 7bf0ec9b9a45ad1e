/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See arch/shadow_asm.h.
 *
 * A signal handler may interrupt at any instruction, and pushes and pops entries of its own. So the
 * thread's pointer goes past the new entry first, in one instruction, and the entry is written
 * then.
 *
 * Whatever is not the plain case goes to __dwell_shadow_enter: the thread's first call, a full
 * stack, and an entry below that is not that of a caller in a frame close above: left behind by an
 * exception or longjmp, or of another machine stack. It does what the rest of the push does, and
 * jumps to the address in r10. It is reached by a jump, since a call would need an aligned stack,
 * and would overwrite the red zone. The stack pointer is written less 1, so that the comparison
 * refuses an equal one, too.
 */
#pragma once

#define SHADOW_LARGEST_FRAME "8192"

/*
 * @SITE: the operand with the function's return address, in a register other than rax, r10, r11.
 * Output: rax, the function's own entry. Clobbers r10, r11, the flags. The slow path gets @SITE in
 * r11.
 */
#define SHADOW_PUSH(P, D, SITE)                                                                    \
	"movq __dwell_shadow@gottpoff(" P "rip), " P "r11\n\t"                                     \
	"movq " P "fs:(" P "r11), " P "rax\n\t"                                                    \
	"leaq 1f(" P "rip), " P "r10\n\t"                                                          \
	"movq " SITE ", " P "r11\n\t"                                                              \
	"testl " D "0xffff, " P "eax\n\t"                                                          \
	"jz __dwell_shadow_enter\n\t"                                                              \
	"movq -16(" P "rax), " P "r11\n\t"                                                         \
	"subq " P "rsp, " P "r11\n\t"                                                              \
	"cmpq " D SHADOW_LARGEST_FRAME ", " P "r11\n\t"                                            \
	"movq " SITE ", " P "r11\n\t"                                                              \
	"jae __dwell_shadow_enter\n\t"                                                             \
	"movq __dwell_shadow@gottpoff(" P "rip), " P "r11\n\t"                                     \
	"addq " D "32, " P "fs:(" P "r11)\n\t"                                                     \
	"addq " D "2, " P "fs:8(" P "r11)\n\t"                                                     \
	"movq " P "r10, (" P "rax)\n\t"                                                            \
	"movq " SITE ", 24(" P "rax)\n\t"                                                          \
	"leaq -1(" P "rsp), " P "r10\n\t"                                                          \
	"movq " P "r10, 16(" P "rax)\n\t"                                                          \
	"movq " P "fs:8(" P "r11), " P "r10\n\t"                                                   \
	"movq " P "r10, 8(" P "rax)\n"                                                             \
	"1:"

/* Clobbers r11 and the flags. */
#define SHADOW_POP(P, D, OWN)                                                                      \
	"movq __dwell_shadow@gottpoff(" P "rip), " P "r11\n\t"                                     \
	"movq " D "0, 8(" OWN ")\n\t"                                                              \
	"movq " OWN ", " P "fs:(" P "r11)"

/*
 * Where a function goes on after callees ended without their pops: at a landing pad, or behind a
 * setjmp. Input: rax, the function's own entry. Clobbers rax, r10, r11, the flags.
 */
#define SHADOW_RESET(P)                                                                            \
	"leaq 1f(" P "rip), " P "r10\n\t"                                                          \
	"jmp __dwell_shadow_reset\n"                                                               \
	"1:"

#define SHADOW_PUSH_GCC	   "r10", "r11", "cc"
#define SHADOW_POP_GCC	   "r11", "cc"
#define SHADOW_RESET_GCC   "r10", "r11", "cc"
#define SHADOW_OWN_GCC	   "=&a"
#define SHADOW_CHANGED_GCC "=a"

#define SHADOW_PUSH_CLANG  "=&{rax},r,~{r10},~{r11},~{cc},~{flags},~{dirflag},~{fpsr}"
#define SHADOW_POP_CLANG   "r,~{r11},~{cc},~{flags},~{dirflag},~{fpsr}"
#define SHADOW_RESET_CLANG "={rax},0,~{r10},~{r11},~{cc},~{flags},~{dirflag},~{fpsr}"

#define SHADOW_TRIPLE x86_64
