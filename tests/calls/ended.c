// SPDX-License-Identifier: BSD-2-Clause
/*
 * Asks for threads that were joined whether they have ended: the kernel may remove them at any
 * time. Prints how many have not, of so many.
 *
 *	ended THREADS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "compiler/runtime/shadow_memory.h"

static void *say_tid(void *arg)
{
	*(uint32_t *)arg = (uint32_t)gettid();
	return NULL;
}

int main(int argc, char **argv)
{
	int alive = 0, n = atoi(argv[1]);

	for (int i = 0; i < n; i++) {
		struct shadow_stack stack = {};
		pthread_t thread;

		if (pthread_create(&thread, NULL, say_tid, &stack.tid))
			return 1;
		pthread_join(thread, NULL);
		alive += !shadow_stack__is_ended(&stack);
	}
	printf("%d of %d\n", alive, n);
	return 0;
}
