// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions that measure the length of each of their calls themselves, and write them to a file of
 * their name, one ns a line.
 *
 *	measured SECONDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "include/dwell.h"

#define MOST	 4000000
#define FUNCTION __attribute__((noinline))

struct lengths {
	const char *name;
	uint32_t *ns;
	size_t n;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;

DWELL_UNTIMED static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Not called: as a tail call, it would run when the function that is measured has ended. */
__attribute__((always_inline)) static inline void keep(struct lengths *lengths, uint64_t begin)
{
	if (lengths->n < MOST)
		lengths->ns[lengths->n++] = (uint32_t)(now() - begin);
}

static double iterations_per_ns;

DWELL_UNTIMED static inline void iterate(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("");
}

/* As much work as takes @ns, if nothing interrupts it. */
DWELL_UNTIMED static inline void compute(uint64_t ns)
{
	iterate((uint64_t)((double)ns * iterations_per_ns));
}

/* By the fastest of some attempts. */
DWELL_UNTIMED static void calibrate(void)
{
	for (int i = 0; i < 200; i++) {
		uint64_t begin = now();
		double rate;

		iterate(20000);
		rate = 20000. / (double)(now() - begin);
		iterations_per_ns = rate > iterations_per_ns ? rate : iterations_per_ns;
	}
}

FUNCTION void steady(struct lengths *lengths)
{
	uint64_t begin = now();

	compute(3000);
	keep(lengths, begin);
}

/* Two lengths, far apart. */
FUNCTION void bimodal(struct lengths *lengths)
{
	uint64_t begin = now();

	compute(lengths->n % 50 ? 2000 : 40000);
	keep(lengths, begin);
}

/* A heavy tail: 2 us times 1 / uniform, at most 400 us. */
FUNCTION void heavy(struct lengths *lengths)
{
	uint64_t begin = now(), ns = 2000 * 1000 / (uint64_t)(5 + rand() % 996);

	compute(ns);
	keep(lengths, begin);
}

/* LDB's synthetic program: twenty frames, rebuilt every 100 to 3 us (NSDI'24, section 6.1). */
#define DEEP(name, next)                                                                           \
	FUNCTION void name(struct lengths *lengths)                                                \
	{                                                                                          \
		next(lengths);                                                                     \
		__asm__ volatile(""); /* no tail call */                                           \
	}
#define MEASURED_DEEP(name, next, own)                                                             \
	FUNCTION void name(struct lengths *lengths)                                                \
	{                                                                                          \
		uint64_t begin = now();                                                            \
                                                                                                   \
		next(lengths);                                                                     \
		keep(own, begin);                                                                  \
	}

static struct lengths deep[] = {{.name = "deep0"}, {.name = "deep10"}, {.name = "deep19"}};

FUNCTION void deep19(struct lengths *lengths)
{
	static const uint64_t ns[] = {3000, 10000, 30000, 100000, 3000, 10000, 3000};
	uint64_t begin = now();

	compute(ns[deep[2].n % 7]);
	keep(&deep[2], begin);
}

DEEP(deep18, deep19)
DEEP(deep17, deep18)
DEEP(deep16, deep17)
DEEP(deep15, deep16)
DEEP(deep14, deep15)
DEEP(deep13, deep14)
DEEP(deep12, deep13)
DEEP(deep11, deep12)
MEASURED_DEEP(deep10, deep11, &deep[1])
DEEP(deep9, deep10)
DEEP(deep8, deep9)
DEEP(deep7, deep8)
DEEP(deep6, deep7)
DEEP(deep5, deep6)
DEEP(deep4, deep5)
DEEP(deep3, deep4)
DEEP(deep2, deep3)
DEEP(deep1, deep2)
MEASURED_DEEP(deep0, deep1, &deep[0])

FUNCTION void hold_long(void)
{
	pthread_mutex_lock(&mutex);
	compute(2000000);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile(""); /* no tail call */
}

FUNCTION void take(struct lengths *lengths)
{
	uint64_t begin = now();

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	keep(lengths, begin);
}

/* A request. */
FUNCTION void serve(struct lengths *lengths)
{
	DWELL_BEGIN("served");
	take(lengths);
	DWELL_END("served");
}

DWELL_UNTIMED static void *holder(void *arg)
{
	while (!stop) {
		hold_long();
		usleep(8000);
	}
	return NULL;
}

DWELL_UNTIMED static void write_all(const struct lengths *lengths)
{
	FILE *to = fopen(lengths->name, "w");

	for (size_t i = 0; i < lengths->n; i++)
		fprintf(to, "%u\n", lengths->ns[i]);
	fclose(to);
}

int main(int argc, char **argv)
{
	struct lengths all[] = {
		{.name = "steady"}, {.name = "bimodal"}, {.name = "heavy"}, {.name = "take"}};
	void (*const functions[])(struct lengths *) = {steady, bimodal, heavy, serve};
	uint64_t until = now() + (uint64_t)(atof(argv[1]) * 1e9);
	pthread_t thread;

	calibrate();
	for (size_t i = 0; i < 4; i++)
		all[i].ns = malloc(MOST * sizeof(*all[i].ns));
	for (size_t i = 0; i < 3; i++)
		deep[i].ns = malloc(MOST * sizeof(*deep[i].ns));
	pthread_create(&thread, NULL, holder, NULL);
	while (now() < until) {
		for (size_t i = 0; i < 4; i++)
			for (int k = 0; k < (i < 3 ? 50 : 1); k++)
				functions[i](&all[i]);
		for (int k = 0; k < 14; k++)
			deep0(NULL);
	}
	stop = 1;
	pthread_join(thread, NULL);
	for (size_t i = 0; i < 4; i++)
		write_all(&all[i]);
	for (size_t i = 0; i < 3; i++)
		write_all(&deep[i]);
	return 0;
}
