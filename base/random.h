/* SPDX-License-Identifier: BSD-2-Clause */
/* Pseudo-random numbers: splitmix64, the same for the same seed. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"

struct random {
	uint64_t state; /* initially the seed */
};

/* A seed that differs from run to run. */
static inline uint64_t random__seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = now_ns(CLOCK_MONOTONIC);
	return seed;
}

static inline uint64_t random__next(struct random *random)
{
	random->state += 0x9e3779b97f4a7c15ull;
	return hash__mix(random->state);
}

/* Below @n, which is not 0. */
static inline size_t random__below(struct random *random, size_t n)
{
	return (size_t)(((__uint128_t)random__next(random) * n) >> 64);
}

/* In [0, 1). */
static inline double random__unit(struct random *random)
{
	return (double)(random__next(random) >> 11) * 0x1p-53;
}
