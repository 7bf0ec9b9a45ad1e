/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/* Inlined in several units, and into itself at several levels. */
static inline unsigned int stir(unsigned int x)
{
	x ^= x >> 15;
	x *= 0x2c1b3c6dU;
	return x ^ (x >> 12);
}

static inline unsigned int stir_twice(unsigned int x)
{
	x = stir(x);
	return stir(x + 1);
}

unsigned int job_run(const unsigned char *bytes, size_t n);
unsigned int job_check(unsigned int sum);
