/* SPDX-License-Identifier: BSD-2-Clause */
/* The time of a clock in ns. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t timespec_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/* Of one of the clocks that always exist. */
static inline uint64_t now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return timespec_ns(&time);
}
