/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the known-answer programs: clocks, calibrated computing, files that
 * really reach the disk. Everything is static, each program is one file. (What
 * programs measure of their own run is in moments.h.)
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "burn.h"

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

/* A function that must appear under its own name in every stack. */
#if defined(__clang__)
#define KEEP static __attribute__((noinline, unused))
#else
#define KEEP static __attribute__((noipa, unused))
#endif
#define HELPER static __attribute__((unused))

/* Keeps the call before it from becoming a jump, which would drop the caller's frame. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

HELPER void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	int err = errno;
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, args);
	fprintf(stderr, ": %s\n", strerror(err));
	va_end(args);
	exit(2);
}

/* For qsort(), of uint64_t. */
HELPER int compare_numbers(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

HELPER uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

HELPER uint64_t wall_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

HELPER pid_t thread_id(void)
{
	return syscall(SYS_gettid);
}

HELPER void sleep_ns(uint64_t ns)
{
	struct timespec ts = {ns / NS_PER_S, ns % NS_PER_S};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

KEEP void calibrate(uint64_t loops)
{
	BURN(loops);
	NO_TAIL_CALL();
}

/* Turns of BURN() in one ms of CPU time: the best of several tries. */
HELPER uint64_t loops_per_ms(void)
{
	const uint64_t loops = 500000;
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 10; i++) {
		uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t took;

		calibrate(loops);
		took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		if (took && took < best) /* 0: in an emulator whose CPUs' clocks differ */
			best = took;
	}
	return loops * NS_PER_MS / best;
}

/* A small generator, one per thread: the same seed draws the same phases. */
HELPER uint64_t draw(uint64_t *state, uint64_t low, uint64_t high)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return low + *state % (high - low + 1);
}

#define DISK_ALIGN_MAX 4096

/* A file that is read and written around the page cache. */
struct disk_file {
	int fd;
	size_t block; /* smallest direct transfer that works, 512 or 4096 */
	uint64_t size;
	char path[512];
};

HELPER void *disk_buffer(size_t size)
{
	void *memory = NULL;

	if (posix_memalign(&memory, DISK_ALIGN_MAX, size))
		die("posix_memalign");
	memset(memory, 'd', size);
	return memory;
}

/*
 * Creates DIR/dwell-PID-NAME, filled with @size bytes (a multiple of 1 MiB) that
 * are on the disk, and opens it O_DIRECT plus @flags. Without O_DIRECT (some
 * file systems) it is opened without: the truth then shows no disk time.
 */
HELPER void disk_file__create(struct disk_file *file, const char *dir, const char *name,
			      uint64_t size, int flags)
{
	const size_t chunk = 1 << 20;
	char *memory = disk_buffer(chunk);
	int fd;

	snprintf(file->path, sizeof(file->path), "%s/dwell-%d-%s", dir, getpid(), name);
	fd = open(file->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		die("%s", file->path);
	for (uint64_t done = 0; done < size; done += chunk)
		if (write(fd, memory, chunk) != (ssize_t)chunk)
			die("%s", file->path);
	if (fsync(fd))
		die("%s", file->path);
	close(fd);

	file->size = size;
	file->fd = open(file->path, O_RDWR | O_DIRECT | O_CLOEXEC | flags);
	if (file->fd < 0)
		file->fd = open(file->path, O_RDWR | O_CLOEXEC | flags);
	if (file->fd < 0)
		die("%s", file->path);
	file->block = pread(file->fd, memory, 512, 512) == 512 ? 512 : 4096;
	free(memory);
}

HELPER void disk_file__remove(struct disk_file *file)
{
	unlink(file->path);
	close(file->fd);
}

/* Tells a test that the program is where it wants it. */
HELPER void ready(const char *path)
{
	int fd;

	if (!path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		die("%s", path);
	dprintf(fd, "%d\n", getpid());
	close(fd);
}

HELPER void set_name(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}

HELPER void stay_on(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

#define WARM_MAX 64

struct warmers {
	pid_t pids[WARM_MAX];
	int count;
};

/*
 * Keeps every CPU this process may use awake with an idle-priority child. An
 * idle CPU takes 10 to 60 us from a wakeup to the woken thread (more in virtual
 * machines); with warm CPUs it is 1 to 2 us.
 */
HELPER void warmers__start(struct warmers *warmers)
{
	const struct sched_param param = {};
	pid_t parent = getpid();
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && warmers->count < WARM_MAX; cpu++) {
		pid_t pid;

		if (!CPU_ISSET(cpu, &allowed))
			continue;
		pid = fork();
		if (pid < 0)
			die("fork");
		if (pid) {
			warmers->pids[warmers->count++] = pid;
			continue;
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "warm");
		stay_on(cpu);
		sched_setscheduler(0, SCHED_IDLE, &param);
		while (getppid() == parent)
			BURN(1000000);
		_exit(0);
	}
}

HELPER void warmers__stop(struct warmers *warmers)
{
	const struct sched_param param = {};

	/* On a busy machine they would not even get to die at idle priority. */
	set_name("ending");
	for (int i = 0; i < warmers->count; i++) {
		sched_setscheduler(warmers->pids[i], SCHED_OTHER, &param);
		kill(warmers->pids[i], SIGKILL);
		waitpid(warmers->pids[i], NULL, 0);
	}
	warmers->count = 0;
}

HELPER pthread_t start_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, run, arg);
	if (errno)
		die("pthread_create");
	return thread;
}
