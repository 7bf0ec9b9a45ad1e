// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread that sleeps often and briefly, beside one that computes: naps [--seconds S]. A
 * speedup of burn() does not change the number of sleeps, however often it pauses the sleeping
 * thread. The last line is {"naps": N, "queued": [0, S]}: S is the share of its time that the
 * sleeping thread waited for a CPU.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/dwell.h"
#include "tests/programs/common/burn.h"

static volatile bool ending;

__attribute__((noinline)) static void burn(void)
{
	BURN(150000);
}

static void *burner(void *arg)
{
	while (!ending)
		burn();
	return arg;
}

/* The share of the time since @begin, in ns, that the calling thread has waited for a CPU. */
static double queued_share(uint64_t begin)
{
	unsigned long long ran, queued = 0;
	struct timespec now;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (!file || fscanf(file, "%llu %llu", &ran, &queued) != 2)
		queued = 0;
	if (file)
		fclose(file);
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)queued / (double)(now.tv_sec * 1000000000ull + now.tv_nsec - begin);
}

int main(int argc, char **argv)
{
	const struct timespec nap = {.tv_nsec = 150000};
	bool with_seconds = argc == 3 && !strcmp(argv[1], "--seconds");
	time_t end = time(NULL) + (with_seconds ? atoi(argv[2]) : 3);
	uint64_t naps = 0;
	struct timespec now;
	pthread_t thread;
	uint64_t begin;

	clock_gettime(CLOCK_MONOTONIC, &now);
	begin = now.tv_sec * 1000000000ull + now.tv_nsec;
	if (pthread_create(&thread, NULL, burner, NULL))
		return 1;
	for (; time(NULL) < end; naps++) {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
		DWELL_PROGRESS_NAMED("nap");
	}
	printf("{\"naps\": %llu, \"queued\": [0, %.4f]}\n", (unsigned long long)naps,
	       queued_share(begin));
	ending = true;
	pthread_join(thread, NULL);
	return 0;
}
