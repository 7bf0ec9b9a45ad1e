/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that takes a profiler long to begin with: it maps the files that are its arguments as
 * code. late [--seconds N] [--ready FILE] FILE...
 *
 * True by construction: its thread "reader" is blocked all the time, reading an empty pipe, and
 * main sleeps.
 */
#include "tests/programs/common/program.h"

#include <sys/mman.h>

static int ends[2];

static void *run_reader(void *arg)
{
	char byte;

	set_name("reader");
	if (read(ends[0], &byte, 1) != 0)
		die("read");
	return arg;
}

static void map_code(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat about;

	if (fd < 0 || fstat(fd, &about) ||
	    mmap(NULL, about.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		die("%s", path);
	close(fd);
}

int main(int argc, char **argv)
{
	const char *ready_path = NULL;
	uint64_t seconds = 60;
	pthread_t reader;
	int i = 1;

	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		if (!strcmp(argv[i], "--seconds"))
			seconds = strtoull(argv[i + 1], NULL, 10);
		else
			ready_path = argv[i + 1];
	}
	for (; i < argc; i++)
		map_code(argv[i]);
	if (pipe2(ends, O_CLOEXEC))
		die("pipe");
	reader = start_thread(run_reader, NULL);
	ready(ready_path);
	sleep_ns(seconds * NS_PER_S);
	close(ends[1]);
	pthread_join(reader, NULL);
	return 0;
}
