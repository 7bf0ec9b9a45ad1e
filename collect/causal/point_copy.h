/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A progress point as the program has written it to memory that it shares, and may change at any
 * time: what is used of it is copied first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifndef DWELL_DISABLE
#define DWELL_DISABLE
#endif
#include "include/dwell.h"

struct point_copy {
	uint32_t type;		     /* enum dwell_point_type, or any other number */
	char name[DWELL_POINT_NAME]; /* ends with a NUL */
};

/* False: the point has no name yet. */
static inline bool point_copy__take(const struct dwell_point *shared, struct point_copy *copy)
{
	if (!__atomic_load_n(&shared->named, __ATOMIC_ACQUIRE))
		return false;
	copy->type = __atomic_load_n(&shared->type, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < DWELL_POINT_NAME; i++)
		copy->name[i] = __atomic_load_n(&shared->name[i], __ATOMIC_RELAXED);
	copy->name[DWELL_POINT_NAME - 1] = '\0';
	return true;
}
