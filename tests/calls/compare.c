// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests of which one in a hundred does something more, 100 ms long: it sleeps, or waits for a
 *lock that another thread holds. Its requests' lengths, and of what they do more, are printed as
 * "LENGTH MORE" in ns, one request a line.
 *
 *	compare sleep|lock REQUESTS
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "include/dwell.h"

#define FUNCTION       __attribute__((noinline))
#define NO_TAIL_CALL() __asm__ volatile("")
#define MORE_US	       100000

pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t wanted, taken;
static volatile int stop;

DWELL_UNTIMED static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

FUNCTION void compute(void)
{
	for (uint64_t until = now() + 20000; now() < until;)
		;
}

FUNCTION void sleep_long(void)
{
	usleep(MORE_US);
	NO_TAIL_CALL();
}

FUNCTION void wait_long(void)
{
	pthread_mutex_lock(&known_lock);
	pthread_mutex_unlock(&known_lock);
	NO_TAIL_CALL();
}

FUNCTION void hold_long(void)
{
	pthread_mutex_lock(&known_lock);
	sem_post(&taken);
	usleep(MORE_US);
	pthread_mutex_unlock(&known_lock);
	NO_TAIL_CALL();
}

DWELL_UNTIMED static void *hold(void *arg)
{
	for (;;) {
		sem_wait(&wanted);
		if (stop)
			return NULL;
		hold_long();
	}
}

/* Returns the ns of what it does more. */
FUNCTION uint64_t serve(void (*more)(void))
{
	uint64_t begin, end = 0;

	DWELL_BEGIN("served");
	compute();
	begin = now();
	if (more)
		more();
	end = now();
	compute();
	DWELL_END("served");
	return more ? end - begin : 0;
}

DWELL_UNTIMED int main(int argc, char **argv)
{
	void (*more)(void) = strcmp(argv[1], "lock") ? sleep_long : wait_long;
	int n = atoi(argv[2]);
	pthread_t holder;

	sem_init(&wanted, 0, 0);
	sem_init(&taken, 0, 0);
	pthread_create(&holder, NULL, hold, NULL);
	sleep(1); /* new threads are found after a while */
	for (int i = 0; i < n; i++) {
		int is_slow = i % 100 == 50;
		uint64_t begin, did;

		if (is_slow && more == wait_long) {
			sem_post(&wanted);
			sem_wait(&taken);
		}
		begin = now();
		did = serve(is_slow ? more : NULL);
		printf("%llu %llu\n", (unsigned long long)(now() - begin), (unsigned long long)did);
	}
	stop = 1;
	sem_post(&wanted);
	pthread_join(holder, NULL);
	return 0;
}
