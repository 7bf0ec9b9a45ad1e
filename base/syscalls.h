/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls: number, name, and which of them take a descriptor first. The
 * numbers come from the kernel's own headers.
 */
#pragma once

#include <stdbool.h>

/*
 * The name of system call @nr on @machine (as in uname -m; NULL: this machine),
 * without "sys_". NULL when unknown. Knows this machine's and the generic table
 * (aarch64, riscv64, loongarch64).
 */
const char *syscalls__name(const char *machine, int nr);

/* The number of system call @name on this machine, or -1. */
int syscalls__number(const char *name);

/*
 * Whether the first argument of @nr (of this machine) is the descriptor that
 * the call would wait for. poll, select, mmap and the like are not among them.
 */
bool syscalls__takes_fd(int nr);

/*
 * Whether @nr hands something to a peer while it runs: over loopback, the peer is woken
 * in its course.
 */
bool syscalls__sends(int nr);

/* Numbers are below this; for tables indexed by number. */
#define SYSCALLS_MAX 512
