/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that hangs, to attach to: main -> stuck_outer -> stuck_inner -> one system call
 * that does not return. --in pause (default), pipe (a read of an empty pipe of which it holds
 * both ends), futex (a mutex that it holds itself).
 *
 * True by construction: once --ready FILE exists, all time is in that call, until a signal ends
 * the program. After SIGTERM it prints how often the call was interrupted before: 0, unless the
 * profiler disturbs it.
 */
#include "tests/programs/common/program.h"

#include <getopt.h>

static volatile sig_atomic_t terminated;
static unsigned int interrupted;
static const char *where = "pause";

static void terminate(int signal)
{
	terminated = signal;
}

KEEP void stuck_inner(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int ends[2];
	char byte;

	if (!strcmp(where, "pipe")) {
		if (pipe(ends))
			die("pipe");
		while (read(ends[0], &byte, 1) < 0 && !terminated)
			interrupted++;
	} else if (!strcmp(where, "futex")) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_lock(&mutex);
	} else {
		while (pause() && !terminated)
			interrupted++;
	}
	NO_TAIL_CALL();
}

KEEP void stuck_outer(void)
{
	stuck_inner();
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"in", required_argument, NULL, 'i'},
		{"ready", required_argument, NULL, 'R'},
		{},
	};
	const struct sigaction action = {.sa_handler = terminate};
	int opt;

	sigaction(SIGTERM, &action, NULL);
	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == 'i')
			where = optarg;
		else if (opt == 'R')
			ready(optarg);
		else
			return 2;
	}
	stuck_outer();
	printf("{\"program\": \"hang\", \"pid\": %d, \"in\": \"%s\", \"interrupted\": %u}\n",
	       getpid(), where, interrupted);
	return 0;
}
