/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libdwell.so, which `dwell causal run` preloads into the profiled program. It maps the memory
 * shared with dwell, keeps its descriptor open for programs that the program starts, pauses threads
 * on request of the kernel side, and serves programs that were built with coz.h.
 */
#pragma once

#include "abi/delay_area.h"

#define EXPORTED __attribute__((visibility("default")))

/* The memory shared with dwell; NULL: the program is not run by dwell causal. */
struct causal_area *pause__area(void);

/* The descriptor of that memory; -1: there is none. */
int pause__descriptor(void);

/*
 * Installs our handler again after the program or the C library has installed one for the signal;
 * ours calls that one for signals that are not from the kernel side.
 */
void pause__reinstall_handler(void);
