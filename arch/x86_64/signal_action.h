/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <signal.h>
#include <stdint.h>

struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

#define SA_RESTORER_KERNEL 0x04000000UL

#define SIGNAL_RESTORER(name)                                                                      \
	void name(void);                                                                           \
	__asm__(".text\n"                                                                          \
		".type " #name ", @function\n" #name ":\n"                                         \
		"	mov $15, %eax\n" /* rt_sigreturn */                                        \
		"	syscall\n"                                                                       \
		".size " #name ", . - " #name "\n")
