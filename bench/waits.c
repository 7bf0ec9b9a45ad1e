// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the analysis of waits costs: `dwell waits` and `dwell path` as a whole on traces of
 * 1, 3 and 10 million intervals (from the file to the result, on one core, and their
 * memory), and of waits the weights alone beside the plain recursion of wPerf (OSDI'18,
 * figure 4), where that comes to an end.
 *
 *	bench/waits [--recording FILE]...	also these traces, of real programs
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/waits/waitlist.h"
#include "base/clock.h"
#include "bench/random_trace.h"

#define RECURSION_LIMIT 60 /* s */

/* `dwell COMMAND` on @path: CPU time and memory of the whole command. */
static void run_dwell(const char *dwell, const char *command, const char *path, double *seconds,
		      double *mib)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		/* A path is that of the first thread; waits have no --of. */
		execl(dwell, dwell, command, "--json", "-i", path,
		      strcmp(command, "path") ? (char *)NULL : "--of", "1001", (char *)NULL);
		_exit(127);
	}
	wait4(pid, &status, 0, &usage);
	*seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	*mib = (double)usage.ru_maxrss / 1024;
	if (status)
		fprintf(stderr, "%s: dwell %s failed (%d)\n", path, command, status);
}

/* The waits of each waiter by begin: what the recursion looks up. */
struct timelines {
	const struct wait *waits;
	size_t *first;
	uint32_t *order;
};

static void cascade(const struct timelines *lines, uint32_t w, uint64_t from, uint64_t until,
		    uint64_t *weights)
{
	uint32_t waker = lines->waits[w].waker;
	size_t low = lines->first[waker], high = lines->first[waker + 1];

	weights[w] += until - from;
	while (low < high) { /* the first that ends behind @from */
		size_t middle = low + (high - low) / 2;

		if (lines->waits[lines->order[middle]].end <= from)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i < lines->first[waker + 1]; i++) {
		const struct wait *at = &lines->waits[lines->order[i]];

		if (at->begin >= until)
			break;
		cascade(lines, lines->order[i], at->begin > from ? at->begin : from,
			at->end < until ? at->end : until, weights);
	}
}

static void recurse(const struct waitlist *list)
{
	struct timelines lines = {.waits = list->waits.data};
	uint64_t *weights = calloc(list->waits.n, sizeof(*weights));
	size_t n = list->nodes.n;

	lines.first = calloc(n + 2, sizeof(*lines.first));
	lines.order = calloc(list->waits.n, sizeof(*lines.order));
	for (size_t i = 0; i < list->waits.n; i++)
		lines.first[list->waits.data[i].waiter + 2]++;
	for (size_t w = 0; w < n; w++)
		lines.first[w + 2] += lines.first[w + 1];
	for (size_t i = 0; i < list->waits.n; i++)
		lines.order[lines.first[list->waits.data[i].waiter + 1]++] = (uint32_t)i;
	for (uint32_t i = 0; i < list->waits.n; i++)
		cascade(&lines, i, list->waits.data[i].begin, list->waits.data[i].end, weights);
	free(lines.first);
	free(lines.order);
	free(weights);
}

/* CPU time of the weights of @list alone, ours or by recursion; negative: it took too long. */
static double weigh(const struct waitlist *list, bool recursive)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct rlimit limit = {RECURSION_LIMIT, RECURSION_LIMIT};
		uint64_t begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);
		uint64_t *weights = calloc(list->waits.n, sizeof(*weights));

		setrlimit(RLIMIT_CPU, &limit);
		if (recursive)
			recurse(list);
		else if (cascade__weights(list->waits.data, list->waits.n, (uint32_t)list->nodes.n,
					  weights, NULL))
			_exit(1);
		begin = now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
		free(weights);
		_exit(0);
	}
	wait4(pid, &status, 0, &usage);
	return status ? -1
		      : (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
				(double)usage.ru_stime.tv_sec +
				(double)usage.ru_stime.tv_usec / 1e6;
}

static void measure(const char *dwell, const char *name, const char *path)
{
	struct sample_filter filter = {};
	struct waitlist list = {.exact = true};
	struct wait_causes *causes = NULL;
	struct kinds *kinds = NULL;
	struct own_strings strings = {};
	struct model *model = NULL;
	double seconds, mib, path_seconds, path_mib, swept, recursed;

	run_dwell(dwell, "waits", path, &seconds, &mib);
	run_dwell(dwell, "path", path, &path_seconds, &path_mib);
	if (model__load(path, &model) || kinds__new(model, &kinds) ||
	    (strings.model = model, wait_causes__new(&strings, kinds, &causes)) ||
	    waitlist__make(model, causes, &filter, &list)) {
		fprintf(stderr, "%s cannot be loaded\n", path);
		return;
	}
	swept = weigh(&list, false);
	recursed = weigh(&list, true);
	printf("%-10s %10zu %9.2f s %8.0f MiB %9.2f s %8.0f MiB %9.2f s ", name, list.waits.n,
	       seconds, mib, path_seconds, path_mib, swept);
	if (recursed < 0)
		printf("%10s\n", "> 60 s");
	else
		printf("%9.2f s\n", recursed);
	fflush(stdout);
	waitlist__free(&list);
	wait_causes__free(causes);
	own_strings__free(&strings);
	kinds__free(kinds);
	model__free(model);
}

int main(int argc, char **argv)
{
	static const uint64_t sizes[] = {1000000, 3000000, 10000000};
	const char *dwell = getenv("DWELL") ? getenv("DWELL") : "build/dwell";
	char path[] = "/var/tmp/dwell-bench-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	printf("%-10s %10s %11s %12s %11s %12s %11s %11s\n", "trace", "intervals", "dwell waits",
	       "memory", "dwell path", "memory", "weights", "recursion");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		unlink(path);
		if (!random_trace__pool(path, sizes[i], 500))
			measure(dwell, "pool", path);
		unlink(path);
		if (!random_trace__nested(path, sizes[i]))
			measure(dwell, "nested", path);
	}
	unlink(path);
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--recording") != 0)
			measure(dwell, "recorded", argv[i]);
	return 0;
}
