/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of kernel functions and system calls that decide kinds. */
#pragma once

#include <stddef.h>

#include "abi/kind_steps.h"

struct kind_function {
	const char *name; /* without ".isra.0" and the like */
	struct kind_clue clue;
};

struct kind_syscall {
	const char *name;
	enum wait_kind kind; /* of waits in it, if the kernel stack does not say more */
};

extern const struct kind_function kind_functions[];
extern const size_t n_kind_functions;
extern const struct kind_syscall kind_syscalls[];
extern const size_t n_kind_syscalls;

/*
 * The kind of waits in system call @nr of @machine (as in uname -m; NULL: this machine) by
 * kind_syscalls[]; KIND_NONE: it is not there.
 */
enum wait_kind kind_syscall__kind(const char *machine, int nr);
