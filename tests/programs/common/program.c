/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/common/program.h"

#include <stdarg.h>

void die(const char *fmt, ...)
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

int compare_numbers(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

uint64_t wall_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t run_queue_ns(void)
{
	unsigned long long ran, waited;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (!file)
		die("schedstat");
	if (fscanf(file, "%llu %llu", &ran, &waited) != 2)
		die("schedstat");
	fclose(file);
	return waited;
}

/* The line of CPU @cpu in @file; the returned text is the thread's own. */
static const char *cpu_line(int file, int cpu)
{
	static _Thread_local char text[16384];
	char name[16];
	ssize_t n = pread(file, text, sizeof(text) - 1, 0);
	const char *line;

	if (n < 0)
		die("counters of CPUs");
	text[n] = 0;
	snprintf(name, sizeof(name), "\ncpu%d ", cpu);
	line = strstr(text, name);
	if (!line)
		die("there is no CPU %d", cpu);
	return line;
}

uint64_t busy_ns(int cpu)
{
	static _Thread_local int schedstat = -1, stat = -1;
	unsigned long long busy, idle, iowait;

	if (stat < 0) {
		stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
		schedstat = open("/proc/schedstat", O_RDONLY | O_CLOEXEC);
	}
	if (schedstat >= 0 &&
	    sscanf(cpu_line(schedstat, cpu), " %*s %*u %*u %*u %*u %*u %*u %llu", &busy) == 1)
		return busy;
	if (sscanf(cpu_line(stat, cpu), " %*s %*u %*u %*u %llu %llu", &idle, &iowait) != 2)
		die("/proc/stat");
	return wall_ns() - (idle + iowait) * NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
}

void sleep_ns(uint64_t ns)
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

uint64_t loops_per_ms(void)
{
	const uint64_t loops = 500000;
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 10; i++) {
		uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t took;

		calibrate(loops);
		took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		if (took && took < best) /* may be 0 in an emulator whose CPUs' clocks differ */
			best = took;
	}
	return loops * NS_PER_MS / best;
}

uint64_t draw(uint64_t *state, uint64_t low, uint64_t high)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return low + *state % (high - low + 1);
}

void ready(const char *path)
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

pid_t thread_id(void)
{
	return syscall(SYS_gettid);
}

void set_name(const char *name)
{
	pthread_setname_np(pthread_self(), name);
}

void stay_on(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

pthread_t start_thread(void *(*run)(void *arg), void *arg)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, run, arg);
	if (errno)
		die("pthread_create");
	return thread;
}
