// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the report page costs: `dwell html` on random traces of 1 and 10 million intervals with
 * 100,000 stacks: CPU time, memory, and bytes of the page for each interval.
 *
 *	bench/page [--recording FILE] [--keep FOLDER]
 *
 * --keep leaves the pages (and recordings) of the random traces in FOLDER, to be opened in a
 *browser.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/random_trace.h"
#include "model/model.h"

#define STACKS 100000

static uint64_t intervals_of(const char *path)
{
	struct model *model = NULL;
	uint64_t n = 0;

	if (!model__load(path, &model))
		n = model->n_intervals;
	model__free(model);
	return n;
}

static void measure(const char *dwell, const char *name, const char *path, const char *page)
{
	struct rusage usage = {};
	struct stat file = {};
	uint64_t n = intervals_of(path);
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		execl(dwell, dwell, "html", "-i", path, "-o", page, (char *)NULL);
		_exit(127);
	}
	wait4(pid, &status, 0, &usage);
	if (status || stat(page, &file) || !n) {
		fprintf(stderr, "%s: dwell html failed (%d)\n", path, status);
		return;
	}
	printf("%-10s %10llu %9.2f s %8.0f MiB %9.1f MB %8.2f\n", name, (unsigned long long)n,
	       (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
	       (double)usage.ru_maxrss / 1024, (double)file.st_size / 1e6,
	       (double)file.st_size / (double)n);
	fflush(stdout);
}

static void measure_random(const char *dwell, const char *folder, bool keep, uint64_t millions)
{
	char data[512], page[512], name[32];

	snprintf(name, sizeof(name), "random-%llu", (unsigned long long)millions);
	snprintf(data, sizeof(data), "%s/%s.data", folder, name);
	snprintf(page, sizeof(page), "%s/%s.html", folder, name);
	unlink(data);
	if (random_trace__pool(data, millions * 1000000, STACKS))
		fprintf(stderr, "%s cannot be written\n", data);
	else
		measure(dwell, name, data, page);
	if (keep)
		return;
	unlink(data);
	unlink(page);
}

int main(int argc, char **argv)
{
	const char *dwell = getenv("DWELL") ? getenv("DWELL") : "build/dwell";
	const char *kept = NULL, *recording = NULL;
	char folder[] = "/var/tmp/dwell-bench-XXXXXX", page[512];

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--keep"))
			kept = argv[i + 1];
		if (!strcmp(argv[i], "--recording"))
			recording = argv[i + 1];
	}
	if (!kept && !mkdtemp(folder))
		return 1;
	printf("%-10s %10s %11s %12s %12s %8s\n", "trace", "intervals", "dwell html", "memory",
	       "page", "bytes/interval");
	for (uint64_t millions = 1; !recording && millions <= 10; millions *= 10)
		measure_random(dwell, kept ? kept : folder, kept != NULL, millions);
	if (recording) {
		snprintf(page, sizeof(page), "%s/page.html", kept ? kept : folder);
		measure(dwell, "recorded", recording, page);
		if (!kept)
			unlink(page);
	}
	if (!kept)
		rmdir(folder);
	return 0;
}
