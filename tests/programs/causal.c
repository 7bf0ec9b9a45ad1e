/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small applications of which is known how much faster they get when a part of them
 * does: that part can really be made smaller, and the period between visits of the
 * progress point be measured again. (Coz, SOSP'15; Blocked Samples, OSDI'24.)
 *
 *   causal --list                            cases and their targets, one JSON object a line
 *   causal CASE --calibrate [--dir DIR]      the options that fix what CASE does
 *   causal CASE [--seconds S | --rounds N] [--scale TARGET=PERCENT]... [--dir DIR]
 *          [--ns-per-loop X] [--disk-ns READ,BUSY,WRITE,BUSY,CPU]
 *   causal CASE --curve TARGET [--seconds S] ...
 *
 * --scale leaves out so many percent of the target's work: of the loops that a function
 * computes, of the naps it takes, of the disk operations it does; of a class, the waiting.
 * --ns-per-loop and --disk-ns are what a loop and the disk took when measured once. The
 * work of a case follows from them alone, so runs that are to be compared get the same
 * ones: machines have neighbours, and are faster at some times than at others.
 *
 * True by construction: a target's work is in a function of its own and in no other, on
 * one line, and every round has the same work. CPUs are not the limit unless a case says
 * so: at most two threads want to run at a time, the others wait. The main thread waits for
 * the end of the measurement, or takes part where a case says so.
 *
 * What is expected is stated above each case, in causal_rounds.h (threads that meet),
 * causal_flow.h (work goes from one to the next), causal_locks.h (locks and CPUs) and
 * causal_tasks.h (tasks that come and go). bench/causal-truth measures it.
 *
 * Truth: visits of the progress point, the time they took, and the latency of what begins
 * and ends in between, after a warm-up.
 */
#include "causal_flow.h"
#include "causal_locks.h"
#include "causal_rounds.h"
#include "causal_tasks.h"

#include <getopt.h>

#define TARGETS_MAX 6

struct known_case {
	const char *name;
	void (*run)(void);
	const char *point;
	const char *latency; /* NULL: nothing begins and ends */
	struct target *targets[TARGETS_MAX];
	const char *note;
	int seconds; /* that a curve needs, as much is left to chance; 0: 3 */
	bool disk;
};

static const struct known_case cases[] = {
	{
		.name = "coz-figure1",
		.run = case_coz_figure1,
		.point = "round",
		.targets = {&loop_a_target, &loop_b_target},
		.note = "two threads a round, created and joined: loop_a at most 4.5 %",
	},
	{
		.name = "bs-figure1-1",
		.run = case_bs_figure1_1,
		.point = "round",
		.targets = {&compute_heavy_target, &compute_light_target, &reads_target,
			    &writes_target, &io_target},
		.note = "disk work against twice as long computing, barrier",
		.seconds = 10,
		.disk = true,
	},
	{
		.name = "bs-figure1-2",
		.run = case_bs_figure1_2,
		.point = "round",
		.targets = {&compute_heavy_target, &compute_light_target, &reads_target,
			    &writes_target, &io_target},
		.note = "disk work against 0.4 times as long computing, barrier",
		.seconds = 10,
		.disk = true,
	},
	{
		.name = "pipeline",
		.run = case_pipeline,
		.point = "item",
		.targets = {&stage_fetch_target, &stage_transform_target, &stage_check_target,
			    &stage_store_target, &other_target},
		.note = "four stages, bounded queues: stage_transform until stage_fetch is slower",
	},
	{
		.name = "critical-section",
		.run = case_critical_section,
		.point = "section",
		.targets = {&inside_target, &outside_target, &other_target},
		.note = "three threads and a mutex",
	},
	{
		.name = "barrier",
		.run = case_barrier,
		.point = "round",
		.targets = {&work_long_target, &work_medium_target, &work_short_target},
		.note = "three threads with unequal work: work_long until work_medium is slower",
	},
	{
		.name = "usleep-barrier",
		.run = case_usleep_barrier,
		.point = "round",
		.targets = {&doze_target, &compute_target, &other_target},
		.note = "sleeping against computing: doze until compute is slower",
	},
	{
		.name = "semaphores",
		.run = case_semaphores,
		.point = "item",
		.targets = {&produce_target, &consume_target},
		.note = "a producer, two consumers: produce until they are slower",
	},
	{
		.name = "futex",
		.run = case_futex,
		.point = "turn",
		.targets = {&ahead_target, &handover_target, &behind_target},
		.note = "futex system calls: handover by its share, behind until ahead is slower",
	},
	{
		.name = "pipes",
		.run = case_pipes,
		.point = "record",
		.targets = {&generate_target, &convert_target, &collect_target},
		.note = "three processes: convert until collect is slower",
	},
	{
		.name = "forks",
		.run = case_forks,
		.point = "task",
		.targets = {&prepare_target, &meanwhile_target, &child_task_target},
		.note = "a process for every task: prepare, and child_task until meanwhile is "
			"slower",
	},
	{
		.name = "oversubscribed",
		.run = case_oversubscribed,
		.point = "item",
		.targets = {&hot_target, &cold_target},
		.note = "three threads a CPU: each function by its share",
	},
	{
		.name = "pool",
		.run = case_pool,
		.point = "item",
		.targets = {&look_around_target, &digest_target, &other_target},
		.note = "four threads a CPU that wait often and briefly: shorter, to no gain",
	},
	{
		.name = "errands",
		.run = case_errands,
		.point = "errand",
		.targets = {&errand_target, &other_target},
		.note = "a thread that runs briefly beside one that computes, on one CPU",
	},
	{
		.name = "cores",
		.run = case_cores,
		.point = "item",
		.targets = {&crunch_target, &sched_target},
		.note = "two threads on one CPU; sched at 100 % is two CPUs instead of one",
	},
	{
		.name = "cores-4",
		.run = case_cores_4,
		.point = "item",
		.targets = {&crunch_target, &sched_of_four_target},
		.note = "four threads on one CPU; sched at 66.7 % is two CPUs instead of one",
	},
	{
		.name = "phases",
		.run = case_phases,
		.point = "round",
		.targets = {&early_long_target, &early_brief_target, &late_long_target,
			    &late_brief_target},
		.note = "two phases of 2 s: each one's long function by half",
	},
	{
		.name = "contention",
		.run = case_contention,
		.point = "request",
		.targets = {&serve_target, &search_target, &purge_target},
		.note = "a fair lock: search makes it worse",
	},
	{
		.name = "latency",
		.run = case_latency,
		.point = "reply",
		.latency = "request",
		.targets = {&serve_request_target, &receive_target},
		.note = "an open queue, 0.6 busy: latency shrinks, throughput stays",
		.seconds = 10,
	},
	{
		.name = "latency-two",
		.run = case_latency_two,
		.point = "reply",
		.latency = "request",
		.targets = {&ask_elsewhere_target, &receive_target},
		.note = "the same with two servers",
		.seconds = 10,
	},
	{
		.name = "latency-clock",
		.run = case_latency_clock,
		.point = "reply",
		.latency = "request",
		.targets = {&serve_request_target, &receive_target},
		.note = "the same with requests by the clock, which waits for nobody",
		.seconds = 10,
	},
	{
		.name = "threads",
		.run = case_threads,
		.point = "task",
		.targets = {&plan_target, &task_begin_target, &task_finish_target},
		.note = "two threads for every task",
	},
	{
		.name = "epoll",
		.run = case_epoll,
		.point = "event",
		.targets = {&dispatch_target, &handle_target},
		.note = "an event loop and two workers, by eventfd",
	},
	{
		.name = "rwlock",
		.run = case_rwlock,
		.point = "lookup",
		.targets = {&look_up_target, &render_target, &update_target, &interval_target},
		.note = "readers and a writer: interval makes it worse",
	},
	{
		.name = "tcp",
		.run = case_tcp,
		.point = "reply",
		.targets = {&client_work_target, &server_work_target},
		.note = "two processes over loopback: server_work until client_work is slower",
	},
	{
		.name = "spin",
		.run = case_spin,
		.point = "round",
		.targets = {&spin_long_target, &spin_short_target},
		.note = "a barrier that busy-waits: spin_long until spin_short is slower",
	},
};

#define N_CASES (sizeof(cases) / sizeof(cases[0]))

static void print_target(const struct target *target)
{
	printf("{\"name\": \"%s\", \"kind\": \"%s\", \"dwell\": \"%s\"", target->name,
	       target->class ? "class" : "function", target->class ? target->class : target->name);
	if (target->file)
		printf(", \"line\": \"%s:%d\"", target->file, target->line);
	printf(", \"max\": %d}", MAX_SCALE(target));
}

static void list_cases(void)
{
	for (size_t i = 0; i < N_CASES; i++) {
		const struct known_case *known = &cases[i];

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
		fprintf(stderr, "  %s\n", cases[i].name);
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
	if (target->scale >= 0 && target->scale <= MAX_SCALE(target))
		return;
	fprintf(stderr, "causal: --scale %s: want %s=PERCENT, up to %d\n", text, target->name,
		MAX_SCALE(target));
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
		if (!strcmp(name, cases[i].name))
			return &cases[i];
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

	/* Threads and processes inherit it: naps are not made longer to save wakeups. */
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
