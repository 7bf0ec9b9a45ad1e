/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rusage -o FILE COMMAND...: runs the command, and writes to FILE what it and all descendants
 * that it waited for have used, by the kernel's counters.
 *
 * True by construction: switches are exact except for the last of each task, which may be
 * missing. Exit status: the command's, or 128+signal. Only the command handles SIGINT.
 */
#include "tests/programs/common/program.h"

int main(int argc, char **argv)
{
	struct rusage used;
	uint64_t begin;
	FILE *out;
	int status;
	pid_t pid;

	if (argc < 4 || strcmp(argv[1], "-o")) {
		errno = EINVAL;
		die("usage: rusage -o FILE COMMAND...");
	}
	begin = wall_ns();
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		execvp(argv[3], argv + 3);
		die("%s", argv[3]);
	}
	signal(SIGINT, SIG_IGN);
	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	out = fopen(argv[2], "we");
	if (!out)
		die("%s", argv[2]);
	fprintf(out,
		"{\"program\": \"rusage\", \"pid\": %d, \"wall_ns\": %" PRIu64
		", \"user_us\": %lld, \"system_us\": %lld, \"voluntary\": %ld, "
		"\"involuntary\": %ld}\n",
		pid, wall_ns() - begin, used.ru_utime.tv_sec * 1000000ll + used.ru_utime.tv_usec,
		used.ru_stime.tv_sec * 1000000ll + used.ru_stime.tv_usec, used.ru_nvcsw,
		used.ru_nivcsw);
	fclose(out);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
