/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many threads (--threads) that always do the same at the same time: in turn, they wait in five
 * system calls, for their shares of a cycle, until times that all have in common. Or many processes
 * (--processes) that all want a CPU at the same time, once a cycle.
 *
 * Threads measure their time in each system call: what they waited there, and for a CPU after it.
 * Of processes, it is the time that they waited for a CPU, as the kernel counts it, until they have
 * exited. Sums are printed.
 */
#include "tests/programs/common/program.h"

#include <getopt.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/select.h>

#define CALLS 5
#define SLEEP 2

static const char *const names[CALLS] = {"futex", "poll", "clock_nanosleep", "pselect6",
					 "rt_sigtimedwait"};
static const unsigned int percents[CALLS] = {4, 9, 50, 24, 13};

static uint64_t begin_ns, end_ns, cycle_ns = 400 * NS_PER_MS, work_us = 100;
static uint64_t in_call_ns[CALLS]; /* sums over threads */
static uint64_t queued_ns;	   /* sum over processes */

/* Waits in system call number @call for @ns. */
static void wait_in(int call, uint64_t ns)
{
	struct timespec timeout = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
	struct pollfd none = {.fd = -1};
	uint32_t word = 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (call == 0)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &timeout, NULL, 0);
	else if (call == 1)
		syscall(SYS_poll, &none, 1, (int)((ns + NS_PER_MS - 1) / NS_PER_MS));
	else if (call == SLEEP)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &timeout, NULL);
	else if (call == 3)
		pselect(0, NULL, NULL, NULL, &timeout, NULL);
	else
		sigtimedwait(&set, NULL, &timeout);
}

static void *run_thread(void *arg)
{
	uint64_t until = begin_ns, mine[CALLS] = {}, now = wall_ns();

	(void)arg;
	if (now < begin_ns) {
		sleep_ns(begin_ns - now);
		mine[SLEEP] = wall_ns() - now;
	}
	for (int call = 0; until < end_ns; call = (call + 1) % CALLS) {
		until += cycle_ns * percents[call] / 100;
		now = wall_ns();
		if (now >= until)
			continue; /* it came too late: the next ones are shorter */
		wait_in(call, until - now);
		mine[call] += wall_ns() - now;
	}
	for (int call = 0; call < CALLS; call++)
		__atomic_fetch_add(&in_call_ns[call], mine[call], __ATOMIC_RELAXED);
	return NULL;
}

static void run_threads(long n)
{
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	pthread_attr_t attr;

	if (!threads)
		die("calloc");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN + 16384);
	for (long i = 0; i < n; i++) {
		errno = pthread_create(&threads[i], &attr, run_thread, NULL);
		if (errno)
			die("thread %ld", i);
	}
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void run_process(uint64_t per_ms)
{
	uint64_t until = begin_ns, now;

	for (; until < end_ns; until += cycle_ns) {
		now = wall_ns();
		if (now < until)
			sleep_ns(until - now);
		BURN(per_ms * work_us / 1000);
	}
	exit(0);
}

/* The time that process @pid, which is not reaped yet, has waited for a CPU. */
static uint64_t queued_of(pid_t pid)
{
	uint64_t queued = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*u %" SCNu64, &queued) != 1)
		die("%s", path);
	fclose(file);
	return queued;
}

static void run_processes(long n)
{
	uint64_t per_ms = loops_per_ms();
	siginfo_t ended;

	for (long i = 0; i < n; i++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (!child)
			run_process(per_ms);
	}
	while (!waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT)) {
		queued_ns += queued_of(ended.si_pid);
		waitpid(ended.si_pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"threads", required_argument, NULL, 't'},
		{"processes", required_argument, NULL, 'p'},
		{"cycle-ms", required_argument, NULL, 'c'},
		{"work-us", required_argument, NULL, 'w'},
		{"ms", required_argument, NULL, 'm'},
		{},
	};
	long threads = 0, processes = 0;
	uint64_t ms = 3000;
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == 't')
			threads = atol(optarg);
		else if (opt == 'p')
			processes = atol(optarg);
		else if (opt == 'c')
			cycle_ns = strtoull(optarg, NULL, 10) * NS_PER_MS;
		else if (opt == 'w')
			work_us = strtoull(optarg, NULL, 10);
		else if (opt == 'm')
			ms = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	/* Until then, all are there. */
	begin_ns = wall_ns() + (uint64_t)(threads + processes) * 100 * NS_PER_US;
	end_ns = begin_ns + ms * NS_PER_MS;
	if (threads)
		run_threads(threads);
	if (processes)
		run_processes(processes);
	printf("{\"program\": \"crowd\", \"queued_ns\": %" PRIu64 ", \"calls\": {", queued_ns);
	for (int call = 0; call < CALLS; call++)
		printf("%s\"%s\": %" PRIu64, call ? ", " : "", names[call], in_call_ns[call]);
	printf("}}\n");
	return 0;
}
