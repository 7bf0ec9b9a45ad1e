/* SPDX-License-Identifier: BSD-2-Clause */
/* Hardware breakpoints (debug registers) as perf events. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Opens a perf event that fires whenever thread @tid, or a thread or process that it creates from
 * now on, executes the instruction at @address. Returns a file descriptor, which the caller owns,
 * or -errno: -ENOSPC if all breakpoints of the processor (four on x86) are in use, -ESRCH if there
 * is no thread @tid.
 */
int breakpoint__open(pid_t tid, uint64_t address);

/*
 * Whether breakpoints fire on this machine: some hypervisors accept them, but never deliver one.
 * Tried once, on a function of dwell. True if no breakpoint can be opened: breakpoint__open()
 * returns why.
 */
bool breakpoint__is_delivered(void);
