// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lines and functions for code.h to find: inlined ones, cold ones, static ones
 * of the same name in two files.
 */
#include "jobs.h"

#include <stdio.h>
#include <stdlib.h>

volatile unsigned int sink;

__attribute__((noinline)) static unsigned int once(unsigned int x)
{
	return stir(x) + 1;
}

__attribute__((cold, noinline)) static void complain(unsigned int sum)
{
	fprintf(stderr, "unlikely %u\n", sum);
}

__attribute__((noinline)) unsigned int job_run(const unsigned char *bytes, size_t n)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (bytes[i] & 1)
			sum += stir_twice(bytes[i]); /* LINE: inlined */
		else
			sum ^= stir(sum + bytes[i]);
	}
	if (__builtin_expect(sum == 42, 0)) {
		complain(sum); /* LINE: cold */
		if (sum != job_check(sum))
			abort();
	}
	return sum; /* LINE: return */
}

int main(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		size_t n = 0;

		while (argv[i][n])
			n++;
		sink += job_run((const unsigned char *)argv[i], n); /* LINE: call */
		sink += once(sink);
	}
	printf("%u\n", job_check(sink));
	return 0;
}
