// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes that each cancel one thread: cancels [--processes N]. So the C library, or a
 * library that intercepts it, handles a first cancellation N times, beside a thread that
 * computes in burn(), a target to speed up. A process whose thread is not cancelled ends after
 * 5 s. The last line is {"cancelled": N, "lost": N}.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/dwell.h"
#include "tests/programs/common/burn.h"

__attribute__((noinline)) static void burn(void)
{
	BURN(150000);
}

static void *burner(void *arg)
{
	for (;;) {
		burn();
		DWELL_PROGRESS_NAMED("round");
	}
	return arg;
}

static void *sleeper(void *arg)
{
	for (;;)
		usleep(200);
	return arg;
}

static void cancel_one(void)
{
	pthread_t burning, thread;
	void *result;

	alarm(5);
	if (pthread_create(&burning, NULL, burner, NULL) ||
	    pthread_create(&thread, NULL, sleeper, NULL))
		_exit(1);
	usleep(3000 + getpid() % 3000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	_exit(result == PTHREAD_CANCELED ? 0 : 1);
}

int main(int argc, char **argv)
{
	int n = argc == 3 && !strcmp(argv[1], "--processes") ? atoi(argv[2]) : 100;
	int cancelled = 0, lost = 0;

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			cancel_one();
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 1;
		cancelled += !status;
		lost += status != 0;
	}
	printf("{\"cancelled\": %d, \"lost\": %d}\n", cancelled, lost);
	return 0;
}
