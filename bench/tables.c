// SPDX-License-Identifier: BSD-2-Clause
/*
 * What unwind tables cost: for the files named, or, without any, for all that the
 * processes of this machine map executable now. Each is built three times; the
 * fastest counts, as the first one also reads the file.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <dirent.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "symbols/unwind/unwind_table.h"

#define TRIES 3

struct sum {
	uint64_t files;
	uint64_t without; /* files without a table */
	uint64_t file_bytes;
	uint64_t rows;
	uint64_t ns;
};

static void add_file(struct sum *sum, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t best = UINT64_MAX, rows = 0;
	struct stat stats;

	if (fd < 0 || fstat(fd, &stats))
		return;
	for (int i = 0; i < TRIES; i++) {
		_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
		uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID), took;

		if (unwind_table__build(fd, &table)) {
			sum->without++;
			return;
		}
		took = now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		best = took < best ? took : best;
		rows = table->n_rows;
	}
	sum->files++;
	sum->file_bytes += (uint64_t)stats.st_size;
	sum->rows += rows;
	sum->ns += best;
}

/* The files that process @pid maps executable, those not in @seen. */
static void add_process(struct sum *sum, const char *pid, struct intern *seen)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *maps = NULL;
	char name[300];
	size_t size = 0;
	bool fresh;

	snprintf(name, sizeof(name), "/proc/%s/maps", pid);
	maps = fopen(name, "re");
	while (maps && getline(&line, &size, maps) > 0) {
		const char *path = strchr(line, '/');

		line[strcspn(line, "\n")] = '\0';
		if (!path || !strstr(line, " r-xp ") ||
		    intern__id(seen, path, strlen(path), &fresh) < 0 || !fresh)
			continue;
		snprintf(name, sizeof(name), "/proc/%s/root%s", pid, path);
		add_file(sum, name);
	}
}

static void add_machine(struct sum *sum)
{
	struct intern seen = {};
	DIR *proc = opendir("/proc");
	const struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			add_process(sum, entry->d_name, &seen);
	if (proc)
		closedir(proc);
	intern__free(&seen);
}

int main(int argc, char **argv)
{
	struct sum sum = {};

	for (int i = 1; i < argc; i++)
		add_file(&sum, argv[i]);
	if (argc == 1)
		add_machine(&sum);
	printf("%" PRIu64 " files, %.1f MB (%" PRIu64 " without unwind information): %" PRIu64
	       " rows, %.2f MB, built in %.1f ms, %.0f ns a row\n",
	       sum.files, (double)sum.file_bytes / 1e6, sum.without, sum.rows,
	       (double)sum.rows * sizeof(struct unwind_row) / 1e6, (double)sum.ns / 1e6,
	       sum.rows ? (double)sum.ns / (double)sum.rows : 0);
	return 0;
}
