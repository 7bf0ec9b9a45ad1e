// SPDX-License-Identifier: BSD-2-Clause
/*
 * Many short requests: THREADS threads, one after the other, have 2000 each. Threads use rings of
 * their own, of 4096 events, so few are overwritten.
 *
 *	spans THREADS
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "include/dwell.h"
#include "tests/programs/common/burn.h"

#define REQUESTS 2000

static void *serve(void *arg)
{
	for (int i = 0; i < REQUESTS; i++) {
		DWELL_BEGIN("served");
		BURN(i);
		DWELL_END("served");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, serve, NULL))
			return 1;
		pthread_join(thread, NULL);
		usleep(20000);
	}
	return 0;
}
