// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread that computes gets a signal again and again, which it handles. While burn() is sped up,
 * it is paused: its handler must run before or after a pause, but not in it.
 *
 *	urged [--seconds S]
 *
 * Prints {"handled": N, "nested": N, "ran": R}: how often the handler ran, how often it interrupted
 * another one, which blocked signals that this program never blocks, and which part of the time the
 * thread of burn() had a CPU.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "include/dwell.h"
#include "tests/programs/common/burn.h"

static volatile bool ending;
static volatile sig_atomic_t handled, nested;

static void on_urgent(int number, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;

	handled++;
	nested += sigismember(&interrupted->uc_sigmask, SIGUSR1);
}

__attribute__((noinline)) static void burn(void)
{
	BURN(150000);
}

static double seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Stores the part of the time that it ran. */
static void *burner(void *ran)
{
	double begin = seconds_of(CLOCK_MONOTONIC);

	while (!ending) {
		burn();
		DWELL_PROGRESS_NAMED("round");
	}
	*(double *)ran =
		seconds_of(CLOCK_THREAD_CPUTIME_ID) / (seconds_of(CLOCK_MONOTONIC) - begin);
	return NULL;
}

/* A timer of the kernel's, which goes on in pauses, sends SIGURG to this thread. */
static void begin_signals(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
	struct itimerspec tick = {{0, 300000}, {0, 300000}};
	timer_t timer;

	event._sigev_un._tid = gettid();
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &tick, NULL);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 2 && !strcmp(argv[1], "--seconds") ? atoi(argv[2]) : 2);
	struct sigaction action = {.sa_sigaction = on_urgent, .sa_flags = SA_SIGINFO | SA_RESTART};
	pthread_t thread;
	double ran;

	sigaction(SIGURG, &action, NULL);
	pthread_create(&thread, NULL, burner, &ran);
	begin_signals();
	while (time(NULL) < end)
		BURN(1000);
	ending = true;
	pthread_join(thread, NULL);
	printf("{\"handled\": %d, \"nested\": %d, \"ran\": %.3f}\n", (int)handled, (int)nested,
	       ran);
	return 0;
}
