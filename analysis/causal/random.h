/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers of the bootstrap: splitmix64, the same for the same seed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct causal_random {
	uint64_t state;
};

static inline uint64_t causal_random__next(struct causal_random *random)
{
	random->state += 0x9e3779b97f4a7c15ull;
	return hash__mix(random->state);
}

/* Below @n, which is not 0. */
static inline size_t causal_random__below(struct causal_random *random, size_t n)
{
	return (size_t)(((__uint128_t)causal_random__next(random) * n) >> 64);
}

/* In [0, 1). */
static inline double causal_random__unit(struct causal_random *random)
{
	return (double)(causal_random__next(random) >> 11) * 0x1p-53;
}
