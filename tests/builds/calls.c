// SPDX-License-Identifier: BSD-2-Clause
/* Calls of work() for two seconds, for dwell-cc. */
#include <stdio.h>
#include <time.h>

static volatile unsigned long sum;

__attribute__((noinline)) static void work(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sum += i * n;
}

int main(void)
{
	time_t end = time(NULL) + 3;
	unsigned long calls = 0;

	while (time(NULL) < end) {
		work(10000);
		calls++;
	}
	printf("%lu calls\n", calls);
	return 0;
}
