// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two children with the same pid, one after the other, which do not execute another program:
 * "reused CALLS" calls in_first() so often in one and in_second() in the other, for 2 ms each time.
 * To be run as root in a pid namespace of its own. The status is 3 if there is no such pid.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL __attribute__((noinline))

CALL void in_first(void)
{
	usleep(2000);
	__asm__ volatile(""); /* no tail call */
}

CALL void in_second(void)
{
	usleep(2000);
	__asm__ volatile("");
}

CALL pid_t run(void (*function)(void), int calls)
{
	pid_t pid = fork();

	for (int i = 0; !pid && i < calls; i++)
		function();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 0;
	pid_t pid = run(in_first, calls);
	FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");

	usleep(300000);
	if (!last || fprintf(last, "%d", pid - 1) < 0 || fclose(last))
		return 3;
	return run(in_second, calls) == pid ? 0 : 3;
}
