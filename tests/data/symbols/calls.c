// SPDX-License-Identifier: BSD-2-Clause
/* What the symbolizer is asked about: inlining in depth, cold parts, aliases. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

volatile unsigned int sink;

static inline __attribute__((always_inline)) unsigned int fold(const unsigned char *at, size_t n)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (at[i] & 1)
			sum += mix_twice(at[i]);
		else
			sum ^= mix(sum + at[i]);
	}
	return sum;
}

__attribute__((noinline)) unsigned int sum_text(const char *text)
{
	unsigned int sum = fold((const unsigned char *)text, strlen(text));

	if (sum == 42) {
		fprintf(stderr, "unlikely %u\n", sum);
		abort();
	}
	return sum;
}

__attribute__((noinline)) static unsigned int sum_twice(const char *text)
{
	return sum_text(text) + fold((const unsigned char *)text, 3);
}

unsigned int __sum_alias(const char *text) __attribute__((alias("sum_text")));

static int compare(const void *a, const void *b)
{
	return *(const unsigned char *)a - *(const unsigned char *)b;
}

__attribute__((noinline)) unsigned int sum_sorted(char *text)
{
	qsort(text, strlen(text), 1, compare);
	return sum_twice(text) + (unsigned int)sqrt(text[0]);
}

int main(int argc, char **argv)
{
	char text[64] = "the quick brown fox";

	for (int i = 0; i < argc; i++) {
		snprintf(text, sizeof(text), "%s", argv[i]);
		sink += sum_sorted(text);
	}
	printf("%u\n", sink + __sum_alias(text));
	return 0;
}
