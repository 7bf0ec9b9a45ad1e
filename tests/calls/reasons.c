// SPDX-License-Identifier: BSD-2-Clause
/*
 * Functions that take long for one reason each, and measure their calls themselves: begin, wall
 * and CPU time, one call a line, to a file of their name.
 *
 *	reasons CALLS
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "include/dwell.h"

#define MOST	 10000
#define FUNCTION __attribute__((noinline))

struct calls {
	const char *name;
	uint64_t begin[MOST], wall[MOST], cpu[MOST];
	int n;
};

static struct calls disk = {"by_disk"}, lock = {"by_lock"}, queue = {"by_queue"},
		    network = {"by_network"}, rest = {"by_rest"};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int file, sockets[2];
static volatile int stop, held;

DWELL_UNTIMED static uint64_t time_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Not called: as a tail call, it would run when the function that is measured has ended. */
__attribute__((always_inline)) static inline void keep(struct calls *calls, uint64_t wall,
						       uint64_t cpu)
{
	calls->cpu[calls->n] = time_of(CLOCK_THREAD_CPUTIME_ID) - cpu;
	calls->begin[calls->n] = wall;
	calls->wall[calls->n++] = time_of(CLOCK_MONOTONIC) - wall;
}

#define BEGIN() uint64_t wall = time_of(CLOCK_MONOTONIC), cpu = time_of(CLOCK_THREAD_CPUTIME_ID)

/* Past the page cache: some reads, so that the device dominates. */
FUNCTION void by_disk(char *buffer)
{
	BEGIN();

	for (int i = 0; i < 20; i++)
		if (pread(file, buffer, 65536, (off_t)(rand() % 64) * 65536) < 0)
			perror("pread");
	keep(&disk, wall, cpu);
}

FUNCTION void hold(void)
{
	pthread_mutex_lock(&mutex);
	held = 1;
	usleep(4000);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("");
}

FUNCTION void by_lock(void)
{
	BEGIN();

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	keep(&lock, wall, cpu);
}

/* Its CPU is shared with a thread that does not sleep. */
FUNCTION void by_queue(void)
{
	BEGIN();

	while (time_of(CLOCK_THREAD_CPUTIME_ID) - cpu < 6000000)
		;
	keep(&queue, wall, cpu);
}

FUNCTION void by_network(void)
{
	char byte;

	BEGIN();
	if (write(sockets[0], "?", 1) != 1 || read(sockets[0], &byte, 1) != 1)
		perror("socket");
	keep(&network, wall, cpu);
}

FUNCTION void by_rest(void)
{
	BEGIN();

	usleep(3000);
	keep(&rest, wall, cpu);
}

DWELL_UNTIMED static void *holder(void *arg)
{
	while (!stop) {
		hold();
		usleep(200);
	}
	return NULL;
}

DWELL_UNTIMED static void *hog(void *arg)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
	pthread_setname_np(pthread_self(), "hog");
	while (!stop)
		;
	return NULL;
}

/* Answers after 3 ms. */
DWELL_UNTIMED static void *answer(void *arg)
{
	char byte;

	while (read(sockets[1], &byte, 1) == 1) {
		usleep(3000);
		if (write(sockets[1], "!", 1) != 1)
			break;
	}
	return NULL;
}

DWELL_UNTIMED static void share_cpu(int calls)
{
	cpu_set_t first, before;
	pthread_t thread;

	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	pthread_create(&thread, NULL, hog, NULL);
	sched_setaffinity(0, sizeof(first), &first);
	for (int i = 0; i < calls; i++)
		by_queue();
	stop = 1;
	pthread_join(thread, NULL);
	stop = 0;
	sched_setaffinity(0, sizeof(before), &before);
}

DWELL_UNTIMED static void wait_for_lock(int calls)
{
	pthread_t thread;

	pthread_create(&thread, NULL, holder, NULL);
	for (int i = 0; i < calls; i++) {
		while (!held)
			sched_yield();
		by_lock();
		held = 0;
	}
	stop = 1;
	pthread_join(thread, NULL);
	stop = 0;
}

DWELL_UNTIMED static void write_all(const struct calls *calls)
{
	FILE *to = fopen(calls->name, "w");

	for (int i = 0; i < calls->n; i++)
		fprintf(to, "%lu %lu %lu\n", calls->begin[i], calls->wall[i], calls->cpu[i]);
	fclose(to);
}

int main(int argc, char **argv)
{
	int calls = atoi(argv[1]);
	pthread_t thread;
	char *buffer;

	if (posix_memalign((void **)&buffer, 65536, 65536))
		return 1;
	file = open("data", O_RDONLY | O_DIRECT);
	if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 2;
	usleep(700000); /* until the scanner has found the stack */
	pthread_create(&thread, NULL, answer, NULL);
	for (int i = 0; i < calls; i++) {
		by_disk(buffer);
		by_network();
		by_rest();
	}
	wait_for_lock(calls);
	share_cpu(calls);
	shutdown(sockets[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	write_all(&disk);
	write_all(&lock);
	write_all(&queue);
	write_all(&network);
	write_all(&rest);
	return 0;
}
