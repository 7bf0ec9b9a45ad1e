// SPDX-License-Identifier: BSD-2-Clause
/*
 * A child of a thread that is not the first: "forked CALLS" calls in_child() so often there, for 2
 * ms each time, after threads that stay have pushed.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL __attribute__((noinline))

static pthread_barrier_t barrier;
static int calls;

CALL void in_child(void)
{
	usleep(2000);
	__asm__ volatile(""); /* no tail call */
}

CALL void *stay(void *arg)
{
	pthread_barrier_wait(&barrier);
	pause();
	return arg;
}

CALL void *fork_here(void *arg)
{
	pid_t pid;

	pthread_barrier_wait(&barrier);
	pid = fork();
	for (int i = 0; !pid && i < calls; i++)
		in_child();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[5];

	calls = argc > 1 ? atoi(argv[1]) : 0;
	pthread_barrier_init(&barrier, NULL, 5);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, stay, NULL);
	pthread_create(&threads[4], NULL, fork_here, NULL);
	pthread_join(threads[4], NULL);
	return 0;
}
