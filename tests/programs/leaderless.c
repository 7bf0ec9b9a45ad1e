/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process whose first thread leaves, while the other goes on. The leader stays
 * as a zombie, which the kernel still lists, to the end of the process.
 *
 * True by construction: the leader ends three seconds after FILE is written
 * (--ready FILE), the thread named "heir" not before it is killed.
 */
#include "known.h"

static void *heir(void *arg)
{
	set_name("heir");
	for (;;)
		sleep_ns(10 * NS_PER_MS);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 3 || strcmp(argv[1], "--ready")) {
		errno = EINVAL;
		die("--ready FILE");
	}
	start_thread(heir, NULL);
	ready(argv[2]);
	sleep_ns(3 * NS_PER_S);
	pthread_exit(NULL);
}
