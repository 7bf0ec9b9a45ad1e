// SPDX-License-Identifier: BSD-2-Clause
/*
 * A function whose calls are short, but for one in 2000, which sleeps for 150 ms. Prints how many
 * calls slept, and how long the longest one took, in ns.
 *
 *	naps SECONDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t spins;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) void nap(uint64_t i)
{
	if (i % 2000 == 1999)
		usleep(150000);
	else
		for (int k = 0; k < 1000; k++)
			spins++;
}

int main(int argc, char **argv)
{
	uint64_t until = now() + (uint64_t)(atof(argv[1]) * 1e9), longest = 0, i = 0;

	while (now() < until) {
		uint64_t begin = now(), length;

		nap(i++);
		length = now() - begin;
		longest = length > longest ? length : longest;
	}
	printf("%llu %llu\n", (unsigned long long)i / 2000, (unsigned long long)longest);
	return 0;
}
