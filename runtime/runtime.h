/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libdwell.so: what `dwell causal run` preloads into the profiled program. Small on
 * purpose: it maps the memory shared with dwell, keeps it open for what the program starts,
 * pauses threads when the kernel side says so, and answers programs that were built with
 * coz.h.
 */
#pragma once

#include "abi/delay_area.h"

#define EXPORTED __attribute__((visibility("default")))

/* The memory shared with dwell; NULL: the program is not run by dwell causal. */
struct causal_area *pause__area(void);

/* The descriptor of that memory; -1: there is none. */
int pause__descriptor(void);

/* Another handler was installed for the signal: install ours again, which calls that one. */
void pause__take_signal_again(void);
