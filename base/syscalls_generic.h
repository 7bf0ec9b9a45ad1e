/* SPDX-License-Identifier: BSD-2-Clause */
/* The system call table that newer architectures share; for base/syscalls.c. */
#pragma once

#include <stddef.h>

struct syscall_text {
	const char *name;
	const char *number; /* decimal digits; anything else: not in the headers */
};

const struct syscall_text *syscalls_generic__table(size_t *n);
