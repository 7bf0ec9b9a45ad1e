/* SPDX-License-Identifier: BSD-2-Clause */
/* A condition is 16 + the condition code, which is the lowest four bits of a jump's opcode. */
#pragma once

#define FLAG_CARRY    (1ULL << 0)
#define FLAG_PARITY   (1ULL << 2)
#define FLAG_ZERO     (1ULL << 6)
#define FLAG_SIGN     (1ULL << 7)
#define FLAG_OVERFLOW (1ULL << 11)

/* Whether a jump with @condition code is taken with @flags. The lowest bit inverts. */
static inline bool condition__is_taken(__u32 condition, __u64 flags)
{
	bool zero = flags & FLAG_ZERO, carry = flags & FLAG_CARRY;
	bool less = !(flags & FLAG_SIGN) != !(flags & FLAG_OVERFLOW);
	bool taken = false;

	switch (condition >> 1 & 7) {
	case 0:
		taken = flags & FLAG_OVERFLOW;
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
		taken = flags & FLAG_SIGN;
		break;
	case 5:
		taken = flags & FLAG_PARITY;
		break;
	case 6:
		taken = less;
		break;
	default:
		taken = zero || less;
	}
	return taken != (condition & 1);
}
