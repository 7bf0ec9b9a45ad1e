/* SPDX-License-Identifier: BSD-2-Clause */
/* A loop that uses CPU time, for C and C++. */
#pragma once

#include <stdint.h>

/*
 * Runs @loops iterations of dependent operations, about 2 ns each. A macro: an inlined function
 * would appear in stacks under its own name. Its variables are in registers: with a counter in
 * memory, some processors take up to three times as long at times, and pauses and samples change
 * when.
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
