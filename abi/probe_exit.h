/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes at the places where a function is left. The high bits of their cookies say when: 0:
 * always; else 16 + the condition code (x86) of a conditional jump out of the function.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#define PROBE_EXIT_SHIFT	     48
#define PROBE_EXIT_COOKIE(condition) ((__u64)(condition) << PROBE_EXIT_SHIFT)
#define PROBE_EXIT_CONDITION(cookie) ((__u32)((cookie) >> PROBE_EXIT_SHIFT))

#define PROBE_EXIT_CARRY    (1ULL << 0)
#define PROBE_EXIT_PARITY   (1ULL << 2)
#define PROBE_EXIT_ZERO	    (1ULL << 6)
#define PROBE_EXIT_SIGN	    (1ULL << 7)
#define PROBE_EXIT_OVERFLOW (1ULL << 11)

/* Whether a jump with @condition code is taken with @flags. The lowest bit inverts. */
static inline bool probe_exit__is_taken(__u32 condition, __u64 flags)
{
	bool zero = flags & PROBE_EXIT_ZERO, carry = flags & PROBE_EXIT_CARRY;
	bool less = !(flags & PROBE_EXIT_SIGN) != !(flags & PROBE_EXIT_OVERFLOW);
	bool taken = false;

	switch (condition >> 1 & 7) {
	case 0:
		taken = flags & PROBE_EXIT_OVERFLOW;
		break;
	case 1:
		taken = carry;
		break;
	case 2:
		taken = zero;
		break;
	case 3:
		taken = carry || zero;
		break;
	case 4:
		taken = flags & PROBE_EXIT_SIGN;
		break;
	case 5:
		taken = flags & PROBE_EXIT_PARITY;
		break;
	case 6:
		taken = less;
		break;
	default:
		taken = zero || less;
	}
	return taken != (condition & 1);
}
