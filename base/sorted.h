/* SPDX-License-Identifier: BSD-2-Clause */
/* Search in arrays that are sorted by a uint64_t member. */
#pragma once

#include <stddef.h>
#include <stdint.h>

static inline uint64_t sorted__key(const void *keys, size_t stride, size_t i)
{
	return *(const uint64_t *)((const char *)keys + i * stride);
}

/* Use SORTED_COUNT_UNTIL(). */
static inline size_t sorted__count_until(const void *elements, size_t stride, size_t offset,
					 size_t n, uint64_t key, size_t near)
{
	const char *keys = n ? (const char *)elements + offset : NULL;
	size_t low = 0, high = n, at = near < n ? near : n;

	/* The bounds close in in steps that double: far from @near, each step is a cache miss. */
	for (size_t step = 1; at > 0 && sorted__key(keys, stride, at - 1) > key; step *= 2) {
		high = at - 1;
		at = at > step ? at - step : 0;
	}
	low = at;
	for (size_t step = 1; at < high && sorted__key(keys, stride, at) <= key; step *= 2) {
		low = at + 1;
		at = high - at > step ? at + step : high;
	}
	high = at < high ? at : high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sorted__key(keys, stride, middle) <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The number of the @n @elements whose @member, a uint64_t, is at most @key; they are in ascending
 * order of it. Exponential search: fast if the result is close to @near.
 */
#define SORTED_COUNT_UNTIL(elements, n, member, key, near)                                         \
	((void)sizeof(&(elements)->member == (uint64_t *)NULL), /* its type is checked */          \
	 sorted__count_until((elements), sizeof(*(elements)),                                      \
			     offsetof(typeof(*(elements)), member), (n), (key), (near)))
