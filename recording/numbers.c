// SPDX-License-Identifier: BSD-2-Clause
#include "recording/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

void numbers__reset(struct numbers *numbers)
{
	numbers->limit = NUMBERS_BASE;
	for (size_t kind = 0; kind < ARRAY_SIZE(numbers->defined); kind++)
		if (numbers->defined[kind].bits)
			memset(numbers->defined[kind].bits, 0,
			       numbers->defined[kind].words * sizeof(uint64_t));
}

void numbers__free(struct numbers *numbers)
{
	for (size_t kind = 0; kind < ARRAY_SIZE(numbers->defined); kind++)
		free(numbers->defined[kind].bits);
	*numbers = (struct numbers){};
}

void numbers__allow(struct numbers *numbers, uint64_t bytes)
{
	/* Numbers have 32 bits. */
	if (bytes > UINT32_MAX || numbers->limit + bytes * NUMBERS_PER_BYTE > UINT32_MAX)
		numbers->limit = UINT32_MAX;
	else
		numbers->limit += bytes * NUMBERS_PER_BYTE;
}

bool numbers__defined(const struct numbers *numbers, enum number_kind kind, uint64_t number)
{
	uint64_t word = number / 64;

	return word < numbers->defined[kind].words &&
	       numbers->defined[kind].bits[word] >> (number % 64) & 1;
}

int numbers__define(struct numbers *numbers, enum number_kind kind, uint32_t number)
{
	size_t word = number / 64;

	if (number == 0 || number > numbers->limit)
		return -ERANGE;
	if (kind >= NUMBER_THREAD)
		return 0;
	if (numbers__defined(numbers, kind, number))
		return -EEXIST;
	if (word >= numbers->defined[kind].words) {
		size_t words = numbers->defined[kind].words;

		if (array__grow((void **)&numbers->defined[kind].bits, words,
				&numbers->defined[kind].words, word + 1 - words, sizeof(uint64_t)))
			return -ENOMEM;
		memset(numbers->defined[kind].bits + words, 0,
		       (numbers->defined[kind].words - words) * sizeof(uint64_t));
	}
	numbers->defined[kind].bits[word] |= 1ULL << (number % 64);
	return 0;
}
