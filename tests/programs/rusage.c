/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rusage -o FILE COMMAND...: runs the command and writes the kernel's own count
 * of what it and all descendants it waited for have used.
 *
 * True by construction: switches are exact but for the last one of each task,
 * which a parent may or may not see. Exit status: the command's, or 128+signal.
 * SIGINT is left to the command.
 */
#include "known.h"

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
