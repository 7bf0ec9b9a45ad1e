/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process whose first thread ends before the other. The kernel lists the thread group
 * leader as a zombie until the process ends.
 *
 * True by construction: the leader ends three seconds after FILE is written (--ready FILE);
 * the thread named "heir" runs until it is killed.
 */
#include "tests/programs/common/program.h"

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
