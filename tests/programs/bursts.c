// SPDX-License-Identifier: BSD-2-Clause
/*
 * Seven threads that use the CPUs for bursts of different lengths: bursts [--seconds S]
 * [--file F]. `brief` sleeps 30 us and computes 20 us, `long` sleeps 7 ms and computes 3 ms,
 * `reader` reads 4 KiB by direct reads, `mutex-1` and `mutex-2` compute for 1.5 ms with one mutex
 * held, `spin-1` and `spin-2` compute.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/common/burn.h"

#define BLOCK	  4096
#define BLOCKS	  4096
#define LOOPS_US  500 /* of BURN(), about 1 us */
#define N_THREADS 7

static atomic_bool ending;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *path = "bursts.tmp";

static void brief(void)
{
	usleep(30);
	BURN(20 * LOOPS_US);
}

static void lengthy(void)
{
	usleep(7000);
	BURN(3000 * LOOPS_US);
}

static void with_mutex(void)
{
	pthread_mutex_lock(&mutex);
	BURN(1500 * LOOPS_US);
	pthread_mutex_unlock(&mutex);
}

static void spin(void)
{
	BURN(1000 * LOOPS_US);
}

static int file = -1;
static void *block;

static void read_block(void)
{
	static uint32_t seed = 1;

	seed = seed * 1664525 + 1013904223;
	if (pread(file, block, BLOCK, (off_t)(seed >> 20) % BLOCKS * BLOCK) != BLOCK)
		abort();
}

static const struct {
	const char *name;
	void (*round)(void);
} threads[N_THREADS] = {
	{"brief", brief},	 {"long", lengthy}, {"reader", read_block}, {"mutex-1", with_mutex},
	{"mutex-2", with_mutex}, {"spin-1", spin},  {"spin-2", spin},
};

static void *run(void *arg)
{
	size_t i = (size_t)arg;

	pthread_setname_np(pthread_self(), threads[i].name);
	while (!ending)
		threads[i].round();
	return NULL;
}

static int make_file(void)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || posix_memalign(&block, BLOCK, BLOCK))
		return -1;
	memset(block, 1, BLOCK);
	for (int i = 0; i < BLOCKS; i++)
		if (write(fd, block, BLOCK) != BLOCK)
			return -1;
	fsync(fd);
	close(fd);
	file = open(path, O_RDONLY | O_DIRECT);
	return file < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	pthread_t ids[N_THREADS];
	unsigned int seconds = 3;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seconds"))
			seconds = (unsigned int)atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--file"))
			path = argv[i + 1];
	}
	if (make_file()) {
		perror(path);
		return 1;
	}
	for (size_t i = 0; i < N_THREADS; i++)
		if (pthread_create(&ids[i], NULL, run, (void *)i))
			return 1;
	sleep(seconds);
	ending = true;
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_join(ids[i], NULL);
	unlink(path);
	return 0;
}
