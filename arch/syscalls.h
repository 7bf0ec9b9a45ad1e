/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls: names, and which of them wait for a descriptor or send to a peer. The
 * numbers come from the kernel headers.
 */
#pragma once

#include <stdbool.h>

/*
 * The name, such as "read", of system call @nr on @machine (as in uname -m; NULL: this
 * machine), or NULL. Known are this machine's table and the generic one (aarch64, riscv64,
 * loongarch64).
 */
const char *syscalls__name(const char *machine, int nr);

/*
 * Whether the first argument of @nr (of this machine) is the descriptor that the call waits
 * for. False for poll, select, mmap and the like.
 */
bool syscalls__takes_fd(int nr);

/*
 * Whether @nr (of this machine) may send to a peer: over loopback the receiver is then woken
 * within the call. True also for receiving calls, which send acknowledgements.
 */
bool syscalls__sends(int nr);

/* Whether @nr (of this machine) sends to or receives from its first argument, if it is a socket. */
bool syscalls__sends_to(int nr);
bool syscalls__receives_from(int nr);

/* The number of system call @name on this machine, or -1. */
int syscalls__number(const char *name);

/* Numbers are below this; for tables indexed by number. */
#define SYSCALLS_MAX 512
