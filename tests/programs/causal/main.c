/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small applications with known gains: how much faster each gets when a part of it gets
 * faster. The program leaves out a percentage of that part's work, and measures the period
 * between visits of the progress point again. (Coz, SOSP'15; Blocked Samples, OSDI'24.)
 *
 *   causal --list                            cases and their targets, one JSON object a line
 *   causal CASE --calibrate [--dir DIR]      the options that determine the work of CASE
 *   causal CASE [--seconds S | --rounds N] [--scale TARGET=PERCENT]... [--dir DIR]
 *          [--ns-per-loop X] [--disk-ns READ,BUSY,WRITE,BUSY,CPU]
 *   causal CASE --curve TARGET [--seconds S] ...
 *
 * --scale leaves out a percentage of the target's work. Of a function that is loops, sleeps
 * and disk operations; of a class, the time of the waits. --ns-per-loop and --disk-ns are the
 * costs of a loop and of the disk, measured once. The work of a case depends on nothing else:
 * runs that are compared get the same options, because the speed of a machine changes.
 *
 * True by construction: a target's work is in one function, on one line, and every round has
 * the same work. Unless a case says so, CPUs are not the limit: at most two threads are
 * runnable at a time. The main thread waits for the end, unless it is part of the case.
 *
 * The expected gains are above each case, in rounds.c (threads that meet after each round),
 * flow.c (items passed from thread to thread), locks.c (locks and CPUs) and tasks.c (tasks
 * that begin and end). bench/causal-truth measures them.
 *
 * Truth: visits of the progress point, the time they took, and the mean latency, all after a
 * warm-up.
 */
#include "tests/programs/causal/case.h"
#include "tests/programs/causal/disk.h"

#include <getopt.h>

static const struct known_case *const cases[] = {
	&coz_figure1_case,
	&bs_figure1_1_case,
	&bs_figure1_2_case,
	&pipeline_case,
	&critical_section_case,
	&barrier_case,
	&usleep_barrier_case,
	&semaphores_case,
	&futex_case,
	&pipes_case,
	&forks_case,
	&oversubscribed_case,
	&pool_case,
	&errands_case,
	&cores_case,
	&cores_4_case,
	&phases_case,
	&contention_case,
	&latency_case,
	&latency_two_case,
	&latency_clock_case,
	&threads_case,
	&epoll_case,
	&rwlock_case,
	&tcp_case,
	&spin_case,
};

#define N_CASES (sizeof(cases) / sizeof(cases[0]))

static void print_target(const struct target *target)
{
	printf("{\"name\": \"%s\", \"kind\": \"%s\", \"dwell\": \"%s\"", target->name,
	       target->class ? "class" : "function", target->class ? target->class : target->name);
	if (target->file)
		printf(", \"line\": \"%s:%d\"", target->file, target->line);
	printf(", \"max\": %d}", target__max(target));
}

static void list_cases(void)
{
	for (size_t i = 0; i < N_CASES; i++) {
		const struct known_case *known = cases[i];

		printf("{\"case\": \"%s\", \"targets\": [", known->name);
		for (int k = 0; k < TARGETS_MAX && known->targets[k]; k++) {
			printf("%s", k ? ", " : "");
			print_target(known->targets[k]);
		}
		printf("], \"point\": \"%s\", \"latency\": ", known->point);
		printf(known->latency ? "\"%s\"" : "null", known->latency);
		printf(", \"seconds\": %d, \"note\": \"%s\"}\n",
		       known->seconds ? known->seconds : 3, known->note);
	}
}

static void __attribute__((noreturn)) list_only(void)
{
	list_cases();
	exit(0);
}

static void __attribute__((noreturn)) usage(void)
{
	fprintf(stderr,
		"usage: causal CASE [--seconds S | --rounds N] [--scale TARGET=PERCENT]...\n"
		"              [--dir DIR] [--ns-per-loop X] [--disk-ns R,B,W,B,CPU]\n"
		"       causal CASE --curve TARGET [--seconds S] ...\n"
		"       causal CASE --calibrate [--dir DIR]\n"
		"       causal --list\nwith one of these cases:\n");
	for (size_t i = 0; i < N_CASES; i++)
		fprintf(stderr, "  %s\n", cases[i]->name);
	exit(2);
}

/* The target whose name is the first @size characters of @name. */
static struct target *find_target(const struct known_case *known, const char *name, size_t size)
{
	for (int i = 0; i < TARGETS_MAX && known->targets[i]; i++) {
		struct target *target = known->targets[i];

		if (strlen(target->name) == size && !strncmp(target->name, name, size))
			return target;
	}
	fprintf(stderr, "causal: there is no target %.*s in %s; there are\n", (int)size, name,
		known->name);
	for (int i = 0; i < TARGETS_MAX && known->targets[i]; i++)
		fprintf(stderr, "  %s\n", known->targets[i]->name);
	exit(2);
}

/* "TARGET=PERCENT" */
static void set_scale(const struct known_case *known, const char *text)
{
	size_t size = strcspn(text, "=");
	struct target *target = find_target(known, text, size);

	target->scale = text[size] ? atoi(text + size + 1) : -1;
	if (target->scale >= 0 && target->scale <= target__max(target))
		return;
	fprintf(stderr, "causal: --scale %s: want %s=PERCENT, up to %d\n", text, target->name,
		target__max(target));
	exit(2);
}

static void set_disk(const char *text)
{
	if (sscanf(text, "%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%d", &disk.read.wall,
		   &disk.read.busy, &disk.write.wall, &disk.write.busy, &disk.cpu) != 5 ||
	    !disk.read.wall)
		usage();
}

static const struct known_case *find_case(const char *name)
{
	for (size_t i = 0; i < N_CASES; i++)
		if (!strcmp(name, cases[i]->name))
			return cases[i];
	usage();
}

/* Reads options; returns whether only to calibrate. */
static bool parse(int argc, char **argv, const struct known_case **known)
{
	static const struct option long_options[] = {
		{"seconds", required_argument, NULL, 's'},
		{"rounds", required_argument, NULL, 'r'},
		{"scale", required_argument, NULL, 'x'},
		{"dir", required_argument, NULL, 'd'},
		{"ns-per-loop", required_argument, NULL, 'n'},
		{"disk-ns", required_argument, NULL, 'D'},
		{"curve", required_argument, NULL, 'C'},
		{"calibrate", no_argument, NULL, 'c'},
		{"list", no_argument, NULL, 'l'},
		{},
	};
	const char *scales[TARGETS_MAX];
	const char *curve = NULL;
	bool calibrate_only = false;
	int opt, n_scales = 0;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == 's')
			options.seconds = strtod(optarg, NULL);
		else if (opt == 'r')
			options.rounds = strtoull(optarg, NULL, 10);
		else if (opt == 'x' && n_scales < TARGETS_MAX)
			scales[n_scales++] = optarg;
		else if (opt == 'd')
			options.dir = optarg;
		else if (opt == 'n')
			options.ns_per_loop = strtod(optarg, NULL);
		else if (opt == 'D')
			set_disk(optarg);
		else if (opt == 'C')
			curve = optarg;
		else if (opt == 'c')
			calibrate_only = true;
		else if (opt == 'l')
			list_only();
		else
			usage();
	}
	if (optind + 1 != argc)
		usage();
	*known = find_case(argv[optind]);
	run__create();
	while (n_scales)
		set_scale(*known, scales[--n_scales]);
	if (curve)
		run__make_curve(find_target(*known, curve, strlen(curve)));
	return calibrate_only;
}

static void print_calibration(const struct known_case *known)
{
	printf("{\"ns_per_loop\": %.5f, \"arguments\": [\"--ns-per-loop\", \"%.5f\"",
	       options.ns_per_loop, options.ns_per_loop);
	if (known->disk) {
		disk__measure();
		printf(", \"--disk-ns\", \"%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d\"",
		       disk.read.wall, disk.read.busy, disk.write.wall, disk.write.busy, disk.cpu);
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	const struct known_case *known;
	bool calibrate_only = parse(argc, argv, &known);

	/* Threads and processes inherit it: sleeps are not prolonged to save wakeups. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (options.ns_per_loop <= 0)
		options.ns_per_loop = (double)NS_PER_MS / loops_per_ms();
	if (calibrate_only) {
		print_calibration(known);
		return 0;
	}
	run__begin();
	known->run();
	run__finish();
	run__print(known->name, known->point);
	return 0;
}
