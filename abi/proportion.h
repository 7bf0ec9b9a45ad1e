/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Shares of times, whose products have more than 64 bits. The kernel side has no wider type. */
#pragma once

#include <linux/types.h>

/* By how many bits @n has to be shifted to the right to fit in 32. */
static inline __u32 bits_above_32(__u64 n)
{
	__u32 bits = 0;

	for (__u32 step = 16; step; step /= 2)
		if (n >> (bits + step) >> 32)
			bits += step;
	return bits + (n >> bits >> 32 != 0);
}

/*
 * @value * @part / @whole, where @part <= @whole; 0 if @whole is 0. Exact, rounded down, if @value
 * and @part are below 2^32 (4.3 s in ns); otherwise off by at most 1 + 2^-29 of @value.
 */
static inline __u64 proportion(__u64 value, __u64 part, __u64 whole)
{
	__u32 of_value = bits_above_32(value), of_part = bits_above_32(part);

	if (!whole)
		return 0;
	return (value >> of_value) * (part >> of_part) / (whole >> of_part) << of_value;
}
