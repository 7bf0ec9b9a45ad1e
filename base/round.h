/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * The whole number nearest to @value; 0 if it is negative or not a number, UINT64_MAX if it is
 * too large. C leaves these conversions undefined, and damaged files hold such values.
 */
static inline uint64_t round__uint64(double value)
{
	if (!(value > 0))
		return 0;
	return value < 0x1p64 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}
