/* SPDX-License-Identifier: BSD-2-Clause */
/* The system call table of asm-generic/unistd.h; for arch/syscalls.c. */
#pragma once

#include <stddef.h>

struct syscall_text {
	const char *name;
	const char *number; /* decimal; anything else: the headers lack the call */
};

const struct syscall_text *syscalls_generic__table(size_t *n);
