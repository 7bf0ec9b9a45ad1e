/* SPDX-License-Identifier: BSD-2-Clause */
/* Recordings of random waits, of any size. Functions return 0 or -errno. */
#pragma once

#include <stdint.h>

/*
 * 100 threads that hand work to each other at random, half of them blocked at a time, at
 * @places places of the program, each with a stack of its own.
 */
int random_trace__pool(const char *path, uint64_t intervals, uint32_t places);

/* Chains of 1,000 threads, each waiting for the next one: the deepest nesting there is. */
int random_trace__nested(const char *path, uint64_t intervals);
