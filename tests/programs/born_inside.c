/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that is created in a control group: born_inside GROUP --ready FILE. FILE has the pid of
 * the new process, which sleeps again and again, and is killed when the first one ends.
 */
#include "tests/programs/common/program.h"

#include <linux/sched.h>

static void nap(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_name("inside");
	for (;;)
		sleep_ns(10 * NS_PER_MS);
}

int main(int argc, char **argv)
{
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
	long child;

	if (argc != 4 || strcmp(argv[2], "--ready")) {
		errno = EINVAL;
		die("GROUP --ready FILE");
	}
	args.cgroup = (uint64_t)open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	child = syscall(SYS_clone3, &args, sizeof(args));
	if (child < 0)
		die("clone3 into %s", argv[1]);
	if (!child) {
		ready(argv[3]);
		nap();
	}
	waitpid((pid_t)child, NULL, 0);
	return 0;
}
