/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small applications whose wait-for graph (wPerf, OSDI'18) is known: which thread waits for
 * which, which form a knot, which are sinks, and where the bottleneck is. This is stated above
 * each case, in flow.c (a thread passes work to the next), locks.c (threads wait for each
 * other) and here.
 *
 *   knots CASE [--seconds N] [--dir DIR]
 *
 * True by construction: a thread blocks for long only where its case says so, and computes
 * for a known time in between. The main thread only waits for the others to end, unless a case
 * names it. Shares of time hold when no other process uses the CPUs: a thread that waits for a
 * CPU waits less for other threads, and they wait more for it.
 *
 * Truth: CPU time and items done of each thread, and how long each waited for which other; see
 * graph.h.
 */
#include "tests/programs/knots/cases.h"
#include "tests/programs/knots/graph.h"

#include <getopt.h>

/*
 * cpus: three threads per CPU that only compute.
 *
 * Expected: no edges; every thread is a sink, and two thirds of its time in a run queue.
 * Bottleneck: CPUs.
 */
COMPUTE(compute_alone)

static void run_computing(struct vertex *self)
{
	while (graph__time_left()) {
		compute_alone(1000);
		vertex__worked(self);
	}
}

static void case_cpus(void)
{
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int i = 0; i < 3 * CPU_COUNT(&allowed); i++) {
		char name[16];

		snprintf(name, sizeof(name), "cpu%d", i);
		vertex__add(name, run_computing);
	}
	graph__run_threads();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"pipeline", case_pipeline},
	{"pipeline-fsync", case_pipeline_fsync},
	{"lock", case_lock},
	{"io", case_io},
	{"imbalance", case_imbalance},
	{"full", case_full},
	{"empty", case_empty},
	{"heartbeat", case_heartbeat},
	{"per-request", case_per_request},
	{"pipe", case_pipe},
	{"rpc", case_rpc},
	{"cpus", case_cpus},
	{"broadcast", case_broadcast},
	{"spin", case_spin},
};

static void __attribute__((noreturn)) usage(void)
{
	fprintf(stderr, "usage: knots CASE [--seconds N] [--dir DIR]\nwith one of these cases:\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		fprintf(stderr, "  %s\n", cases[i].name);
	exit(2);
}

/* Returns the index of the case. */
static size_t parse(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"seconds", required_argument, NULL, 's'},
		{"dir", required_argument, NULL, 'd'},
		{},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == 's')
			options.seconds = strtoull(optarg, NULL, 10);
		else if (opt == 'd')
			options.dir = optarg;
		else
			usage();
	}
	if (optind + 1 == argc)
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
			if (!strcmp(argv[optind], cases[i].name))
				return i;
	usage();
}

int main(int argc, char **argv)
{
	size_t number = parse(argc, argv);

	graph__create();
	turns_per_ms = loops_per_ms();
	cases[number].run();
	graph__print(cases[number].name);
	return 0;
}
