// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that detects when a profiler pauses it by signals: it counts system calls that
 * fail with EINTR or end too early, lost signals, and threads that cannot be cancelled.
 *
 *	undisturbed [--seconds S] [--calm] [--block] [--exit STATUS | --crash]
 *	undisturbed --closed ...	closes all descriptors, then execs itself with ...
 *
 * One thread computes in burn(), a target to speed up by pausing all other threads; with --calm,
 * there is only one other, which sleeps. The last line is {"eintr": N, "early": N, "alarms": N,
 * "expected_alarms": N, "cancelled": N, "threads": N, "rounds": N, "burn": [WITHOUT, ALL],
 * "watched": N, "child": STATUS}. All are known beforehand, except the rounds, how many of them had
 * a tracer attached to the probe undisturbed:round, and burn(): its share of the time of the
 * rounds, without and with what it waited for a CPU.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "include/dwell.h"
#include "tests/programs/common/probe.h"
#include "tests/programs/common/program.h"

static volatile bool ending;
PROBE_SEMAPHORE(round);
static uint64_t eintr, early, rounds, watched;
static double burning; /* the share of its time in which the burner had a CPU */
#define ALARMS 100
static volatile sig_atomic_t alarms;
static volatile bool alarmed_ends;
static int channel[2];
static sem_t items;

__attribute__((noinline)) static void burn(void)
{
	BURN(150000);
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Checks the @result of a call that should have waited for @ns since @begin. */
static void check(long result, uint64_t begin, uint64_t ns)
{
	if (result < 0 && errno == EINTR)
		__atomic_fetch_add(&eintr, 1, __ATOMIC_RELAXED);
	else if (now() - begin < ns)
		__atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
}

static void *sleeper(void *arg)
{
	const struct timespec pause = {.tv_nsec = 1500000};

	while (!ending) {
		uint64_t begin = now();

		check(clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL) ? -1 : 0, begin, 1500000);
	}
	return arg;
}

static void *poller(void *arg)
{
	while (!ending) {
		uint64_t begin = now();

		check(poll(NULL, 0, 2), begin, 2000000);
	}
	return arg;
}

/* Reads byte after byte from the talker, and checks that none is lost. */
static void *listener(void *arg)
{
	unsigned char expected = 0, byte;

	for (;;) {
		ssize_t n = read(channel[0], &byte, 1);

		if (n < 0) {
			check(n, 0, 0);
			continue;
		}
		if (!n)
			return arg;
		if (byte != expected++)
			__atomic_fetch_add(&early, 1000, __ATOMIC_RELAXED);
	}
}

static void *talker(void *arg)
{
	unsigned char byte = 0;

	while (!ending) {
		if (write(channel[1], &byte, 1) == 1)
			byte++;
		else
			check(-1, 0, 0);
		usleep(300);
	}
	close(channel[1]);
	return arg;
}

static void *taker(void *arg)
{
	while (!ending)
		check(sem_wait(&items), 0, 0);
	return arg;
}

static void *burner(void *arg)
{
	uint64_t begin = now();

	while (!ending) {
		burn();
		sem_post(&items);
		rounds++;
		DWELL_PROGRESS_NAMED("round");
		if (round_semaphore) {
			PROBE(undisturbed, round);
			watched++;
		}
	}
	burning = 1 - (double)run_queue_ns() / (double)(now() - begin);
	sem_post(&items);
	return arg;
}

static void *endless(void *arg)
{
	for (;;)
		usleep(1000);
	return arg;
}

static void on_alarm(int number)
{
	alarms++;
}

/*
 * Waits for the ticks of a timer, all of which must arrive. sigwaitinfo() fails whenever a signal
 * is sent to its thread, even one that is ignored then; other calls go on.
 */
static void *alarmed(void *arg)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
	struct itimerspec tick = {{0, 10000000}, {0, 10000000}};
	timer_t timer;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &tick, NULL);
	for (int i = 0; i < ALARMS; i++) {
		siginfo_t info;
		int got = sigwaitinfo(&set, &info);

		check(got < 0 ? -1 : 0, 0, 0);
		if (got == SIGRTMIN + 3)
			on_alarm(got);
	}
	timer_delete(timer);
	alarmed_ends = true;
	return arg;
}

static int cancel_some(int n)
{
	int cancelled = 0;

	for (int i = 0; i < n; i++) {
		pthread_t thread;
		void *result;

		if (pthread_create(&thread, NULL, endless, NULL))
			continue;
		usleep(2000);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	return cancelled;
}

static int child_status(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		burn();
		_exit(7);
	}
	while (waitpid(pid, &status, 0) != pid)
		check(-1, 0, 0);
	return WEXITSTATUS(status);
}

/*
 * Of children that begin and end while the timer runs: of the first one whose status is wrong, or
 * of the last one. SIGCHLD is ignored.
 */
static int child_statuses(void)
{
	int status;

	do
		status = child_status();
	while (status == 7 && !alarmed_ends);
	return status;
}

int main(int argc, char **argv)
{
	void *(*const roles[])(void *) = {burner, sleeper, poller, listener,
					  talker, taker,   alarmed};
	enum { ROLES = sizeof(roles) / sizeof(roles[0]), CALM_ROLES = 2 };
	pthread_t threads[ROLES];
	bool block = false, crash = false;
	double seconds = 2;
	int n_roles = ROLES, status = 0, cancelled = 0, child = 0;
	sigset_t all;

	if (argc > 1 && !strcmp(argv[1], "--closed")) {
		close_range(3, ~0U, 0);
		argv[1] = argv[0];
		execv("/proc/self/exe", argv + 1);
		return 126;
	}
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
			seconds = atof(argv[++i]);
		else if (!strcmp(argv[i], "--exit") && i + 1 < argc)
			status = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--calm"))
			n_roles = CALM_ROLES;
		block |= !strcmp(argv[i], "--block");
		crash |= !strcmp(argv[i], "--crash");
	}
	sigfillset(&all);
	if (!block) {
		sigemptyset(&all);
		sigaddset(&all, SIGRTMIN + 3);
	}
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	sem_init(&items, 0, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, channel))
		return 1;
	for (int i = 0; i < n_roles; i++)
		pthread_create(&threads[i], NULL, roles[i], NULL);
	if (n_roles == ROLES) {
		cancelled = cancel_some(20);
		child = child_statuses();
	}
	usleep((useconds_t)(seconds * 1e6));
	if (crash)
		abort();
	ending = true;
	for (int i = 0; i < n_roles; i++)
		pthread_join(threads[i], NULL);
	printf("{\"eintr\": %lu, \"early\": %lu, \"alarms\": %d, \"expected_alarms\": %d, "
	       "\"cancelled\": %d, \"threads\": 20, \"rounds\": %lu, \"burn\": [%.3f, 1], "
	       "\"watched\": %lu, "
	       "\"child\": %d}\n",
	       eintr, early, alarms, ALARMS, cancelled, rounds, burning, watched, child);
	return status;
}
