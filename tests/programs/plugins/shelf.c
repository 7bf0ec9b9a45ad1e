/* SPDX-License-Identifier: BSD-2-Clause */
/* What shop loads while it runs. */
#include <stdint.h>

void shelve(uint64_t loops);

void shelve(uint64_t loops)
{
	uint64_t x = loops + 1;

	for (uint64_t i = 0; i < loops; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}
