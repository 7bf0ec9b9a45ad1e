/* SPDX-License-Identifier: BSD-2-Clause */
/* Inlined from a header: the call site is in another file. */
#pragma once

extern volatile unsigned int sink;

static inline __attribute__((always_inline)) unsigned int mix(unsigned int x)
{
	x ^= x >> 16;
	x *= 0x7feb352dU;
	sink += x;
	return x ^ (x >> 15);
}

static inline __attribute__((always_inline)) unsigned int mix_twice(unsigned int x)
{
	unsigned int y = mix(x);

	return mix(y + 1);
}
