// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread that sleeps often and briefly, beside one that computes: naps [--seconds S]. A
 * speedup of burn() does not change the number of sleeps, however often it pauses the sleeping
 * thread. The last line is {"naps": N}.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/dwell.h"

static volatile bool ending;

__attribute__((noinline)) static void burn(void)
{
	for (volatile int i = 0; i < 200000; i++)
		;
}

static void *burner(void *arg)
{
	while (!ending)
		burn();
	return arg;
}

int main(int argc, char **argv)
{
	const struct timespec nap = {.tv_nsec = 150000};
	bool with_seconds = argc == 3 && !strcmp(argv[1], "--seconds");
	time_t end = time(NULL) + (with_seconds ? atoi(argv[2]) : 3);
	uint64_t naps = 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, burner, NULL))
		return 1;
	for (; time(NULL) < end; naps++) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
		DWELL_PROGRESS_NAMED("nap");
	}
	ending = true;
	pthread_join(thread, NULL);
	printf("{\"naps\": %llu}\n", (unsigned long long)naps);
	return 0;
}
