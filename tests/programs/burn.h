/* SPDX-License-Identifier: BSD-2-Clause */
/* Computing, in C and C++. */
#pragma once

#include <stdint.h>

/*
 * The loop all computing is made of: a chain of dependent operations, about 2 ns
 * a turn. A macro: an inlined function would stand in stacks under its own name.
 */
#define BURN(loops)                                                                                \
	do {                                                                                       \
		uint64_t burn_x = 1;                                                               \
                                                                                                   \
		for (uint64_t burn_i = (loops); burn_i; burn_i--) {                                \
			burn_x ^= burn_x << 13;                                                    \
			burn_x ^= burn_x >> 7;                                                     \
			burn_x ^= burn_x << 17;                                                    \
			__asm__ volatile("" : "+r"(burn_x));                                       \
		}                                                                                  \
	} while (0)
