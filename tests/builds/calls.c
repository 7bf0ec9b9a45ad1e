// SPDX-License-Identifier: BSD-2-Clause
/* Calls of work() for two to three seconds, for dwell-cc. */
#include <stdio.h>
#include <time.h>

static volatile unsigned long sum;

/* Large enough to be instrumented, however well it is compiled (compiler/selection.h). */
__attribute__((noinline)) static void work(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		sum = sum * 33 + i * n;
		if (sum & 1)
			sum ^= n >> 3;
		else
			sum += i / (n | 1);
	}
}

int main(void)
{
	time_t end = time(NULL) + 3;
	unsigned long calls = 0;

	while (time(NULL) < end) {
		work(10000 + calls % 10);
		calls++;
	}
	printf("%lu calls\n", calls);
	return 0;
}
