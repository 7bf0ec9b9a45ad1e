/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The motivating example of Blocked Samples (OSDI'24, figure 1).
 *
 *   T1  compute_light, one 4 KiB disk write, eight small disk reads, barrier
 *   T2  compute_heavy, barrier
 *
 * True by construction: both threads pass the barrier the same number of times. In case 1
 * compute_heavy takes twice as long as all of T1's work, so T1 waits at the barrier and T2
 * hardly does; in case 2 it takes 0.4 times as long, and T2 waits. All of T1's disk time is in
 * do_write and do_reads, all of T2's work is on a CPU. The barrier is a mutex and a condition
 * variable.
 *
 * T1 is pinned to the CPU that takes the disk's interrupts, T2 to another; --keep-cpus-busy keeps
 * these from going idle.
 *
 * The number of loops follows from the speed of the disk, measured at the start. To measure
 * the gain of a change, run again with the loop counts of the first run, or less:
 * --light-loops, --heavy-loops, --reads, --no-write. A round of case 2 takes about a
 * millisecond; --fold N makes it N times as long.
 *
 * Truth, per thread: lifetime, and for every activity its wall time split into on-CPU,
 * run-queue and blocked time.
 */
#include "tests/programs/common/disk_file.h"
#include "tests/programs/common/switch_log.h"
#include "tests/programs/common/keep_cpus_busy.h"

#include <getopt.h>

enum activity { LIGHT, WRITE, READS, HEAVY, BARRIER, ACTIVITIES };

static const char *const activity_names[ACTIVITIES] = {
	"compute_light", "do_write", "do_reads", "compute_heavy", "wait_barrier",
};

static struct {
	int test_case;
	uint64_t seconds;
	uint64_t iterations; /* 0: until the seconds are over */
	uint64_t light_loops;
	uint64_t heavy_loops;
	int reads;
	int writes;
	bool pin;
	bool busy_cpus;
	const char *dir;
	const char *ready;
} options = {
	.test_case = 1,
	.seconds = 5,
	.reads = 8,
	.writes = 1,
	.pin = true,
	.dir = "/var/tmp",
};

struct worker {
	const char *name;
	int cpu; /* that it is pinned to; -1: any */
	pid_t tid;
	uint64_t lifetime;
	struct phase_times spent[ACTIVITIES];
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int arrived;
	uint64_t generation;
	bool stop; /* set by the last to arrive, so that both stop in the same round */
	uint64_t began;
} barrier = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.cond = PTHREAD_COND_INITIALIZER,
};

static struct disk_file read_file;
static struct disk_file write_file;
static char *read_memory;
static char *write_memory;

KEEP void compute_light(void)
{
	BURN(options.light_loops);
	NO_TAIL_CALL();
}

KEEP void compute_heavy(void)
{
	BURN(options.heavy_loops);
	NO_TAIL_CALL();
}

KEEP void do_write(uint64_t turn)
{
	for (int i = 0; i < options.writes; i++) {
		off_t offset = (turn * options.writes + i) * 4096 % write_file.size;

		if (pwrite(write_file.fd, write_memory, 4096, offset) != 4096)
			die("%s", write_file.path);
	}
	NO_TAIL_CALL();
}

KEEP void do_reads(uint64_t turn)
{
	const size_t size = read_file.block;

	for (int i = 0; i < options.reads; i++) {
		off_t offset = (turn * options.reads + i) * 8192 % read_file.size;

		if (pread(read_file.fd, read_memory, size, offset) != (ssize_t)size)
			die("%s", read_file.path);
	}
	NO_TAIL_CALL();
}

/* The last thread to arrive decides whether to stop, and wakes the other. */
static void open_barrier(void)
{
	barrier.arrived = 0;
	barrier.generation++;
	if (options.iterations)
		barrier.stop = barrier.generation == options.iterations;
	else
		barrier.stop = wall_ns() - barrier.began > options.seconds * NS_PER_S;
	pthread_mutex_unlock(&barrier.mutex);
	/* After the unlock: otherwise the woken thread would wait for the mutex. */
	pthread_cond_broadcast(&barrier.cond);
}

static void pass_barrier(void)
{
	uint64_t generation = barrier.generation;

	while (generation == barrier.generation)
		pthread_cond_wait(&barrier.cond, &barrier.mutex);
	pthread_mutex_unlock(&barrier.mutex);
}

/* False when the run is over. */
KEEP bool wait_barrier(void)
{
	pthread_mutex_lock(&barrier.mutex);
	if (++barrier.arrived == 2)
		open_barrier();
	else
		pass_barrier();
	NO_TAIL_CALL();
	return !barrier.stop;
}

static void border(struct worker *worker, struct switch_log *log, struct thread_times *last,
		   enum activity done)
{
	struct thread_times now = thread_times__now(log);

	phase_times__add(&worker->spent[done], last, &now);
	*last = now;
}

static void *thread1(void *arg)
{
	struct worker *worker = arg;
	struct switch_log log;
	struct thread_times last, first;
	bool more = true;

	stay_on(worker->cpu);
	worker->tid = thread_id();
	switch_log__open(&log);
	set_name("T1");
	first = last = thread_times__now(&log);
	for (uint64_t turn = 0; more; turn++) {
		compute_light();
		border(worker, &log, &last, LIGHT);
		do_write(turn);
		border(worker, &log, &last, WRITE);
		do_reads(turn);
		border(worker, &log, &last, READS);
		more = wait_barrier();
		border(worker, &log, &last, BARRIER);
	}
	worker->lifetime = last.wall - first.wall;
	return NULL;
}

static void *thread2(void *arg)
{
	struct worker *worker = arg;
	struct switch_log log;
	struct thread_times last, first;
	bool more = true;

	stay_on(worker->cpu);
	worker->tid = thread_id();
	switch_log__open(&log);
	set_name("T2");
	first = last = thread_times__now(&log);
	while (more) {
		compute_heavy();
		border(worker, &log, &last, HEAVY);
		more = wait_barrier();
		border(worker, &log, &last, BARRIER);
	}
	worker->lifetime = last.wall - first.wall;
	return NULL;
}

/* Median time of T1's disk work in one turn. */
static uint64_t measure_disk(void)
{
	uint64_t took[65];
	const int tries = sizeof(took) / sizeof(took[0]);

	for (int i = 0; i < tries; i++) {
		uint64_t begin = wall_ns();

		do_write(i);
		do_reads(i);
		took[i] = wall_ns() - begin;
	}
	qsort(took, tries, sizeof(took[0]), compare_numbers);
	return took[tries / 2];
}

/*
 * Chooses two of the allowed CPUs: @one has the fastest reads, and so takes the disk's
 * interrupts; @two is any other. With one CPU, or without pinning, both stay -1.
 */
static void choose_cpus(int *one, int *two)
{
	uint64_t best = UINT64_MAX;
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	if (!options.pin || CPU_COUNT(&allowed) < 2)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		uint64_t took;

		if (!CPU_ISSET(cpu, &allowed))
			continue;
		stay_on(cpu);
		took = measure_disk();
		if (took >= best && *two >= 0)
			continue;
		*two = took < best ? *one : cpu;
		*one = took < best ? cpu : *one;
		best = took < best ? took : best;
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
}

/* T1 computes for 0.4 of its disk time, T2 for 2 or 0.4 times all of T1's turn. */
static void set_loops(int cpu)
{
	uint64_t per_ms, disk, light, heavy;
	cpu_set_t allowed;

	if (options.light_loops && options.heavy_loops)
		return;
	per_ms = loops_per_ms();
	sched_getaffinity(0, sizeof(allowed), &allowed);
	stay_on(cpu);
	disk = measure_disk();
	sched_setaffinity(0, sizeof(allowed), &allowed);
	light = disk * 4 / 10;
	heavy = (light + disk) * (options.test_case == 1 ? 20 : 4) / 10;
	if (!options.light_loops)
		options.light_loops = light * per_ms / NS_PER_MS;
	if (!options.heavy_loops)
		options.heavy_loops = heavy * per_ms / NS_PER_MS;
}

static void print_worker(const struct worker *worker, const char *end)
{
	const char *comma = "";

	printf("  {\"name\": \"%s\", \"tid\": %d, \"lifetime_ns\": %" PRIu64 ",\n"
	       "   \"activities\": {",
	       worker->name, worker->tid, worker->lifetime);
	for (int i = 0; i < ACTIVITIES; i++) {
		const struct phase_times *spent = &worker->spent[i];
		uint64_t blocked = phase_times__blocked(spent);

		if (!spent->count)
			continue;
		printf("%s\n    \"%s\": {\"count\": %" PRIu64 ", \"wall_ns\": %" PRIu64
		       ", \"cpu_ns\": %" PRIu64 ", \"runqueue_ns\": %" PRIu64
		       ", \"blocked_ns\": %" PRIu64 ", \"unknown_ns\": %" PRIu64 "}",
		       comma, activity_names[i], spent->count, spent->wall, spent->cpu,
		       spent->runqueue, blocked, spent->unknown);
		comma = ",";
	}
	printf("}}%s\n", end);
}

static void print_truth(const struct worker *one, const struct worker *two)
{
	uint64_t wait1 = phase_times__blocked(&one->spent[BARRIER]);
	uint64_t wait2 = phase_times__blocked(&two->spent[BARRIER]);

	printf("{\"program\": \"figure1\", \"case\": %d, \"pid\": %d, \"iterations\": %" PRIu64
	       ",\n \"light_loops\": %" PRIu64 ", \"heavy_loops\": %" PRIu64
	       ", \"read_bytes\": %zu, \"critical\": \"%s\",\n \"threads\": [\n",
	       options.test_case, getpid(), barrier.generation, options.light_loops,
	       options.heavy_loops, read_file.block, wait1 > wait2 ? "T2" : "T1");
	print_worker(one, ",");
	print_worker(two, "");
	printf(" ]}\n");
}

static const struct option long_options[] = {
	{"case", required_argument, NULL, 'c'},
	{"seconds", required_argument, NULL, 's'},
	{"iterations", required_argument, NULL, 'i'},
	{"light-loops", required_argument, NULL, 'l'},
	{"heavy-loops", required_argument, NULL, 'h'},
	{"reads", required_argument, NULL, 'r'},
	{"no-write", no_argument, NULL, 'n'},
	{"fold", required_argument, NULL, 'f'},
	{"no-pin", no_argument, NULL, 'p'},
	{"keep-cpus-busy", no_argument, NULL, 'w'},
	{"dir", required_argument, NULL, 'd'},
	{"ready", required_argument, NULL, 'R'},
	{},
};

static void parse(int argc, char **argv)
{
	int opt, fold = 1;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			options.test_case = atoi(optarg);
			break;
		case 's':
			options.seconds = strtoull(optarg, NULL, 10);
			break;
		case 'i':
			options.iterations = strtoull(optarg, NULL, 10);
			break;
		case 'l':
			options.light_loops = strtoull(optarg, NULL, 10);
			break;
		case 'h':
			options.heavy_loops = strtoull(optarg, NULL, 10);
			break;
		case 'r':
			options.reads = atoi(optarg);
			break;
		case 'n':
			options.writes = 0;
			break;
		case 'f':
			fold = atoi(optarg);
			break;
		case 'p':
			options.pin = false;
			break;
		case 'w':
			options.busy_cpus = true;
			break;
		case 'd':
			options.dir = optarg;
			break;
		case 'R':
			options.ready = optarg;
			break;
		default:
			exit(2);
		}
	}
	options.reads *= fold;
	options.writes *= fold;
}

int main(int argc, char **argv)
{
	struct worker one = {.name = "T1", .cpu = -1}, two = {.name = "T2", .cpu = -1};
	struct busy_cpus busy = {};
	pthread_t first, second;

	parse(argc, argv);
	disk_file__create(&read_file, options.dir, "read", 16 << 20, 0);
	disk_file__create(&write_file, options.dir, "write", 1 << 20, O_DSYNC);
	unlink(read_file.path);
	unlink(write_file.path);
	read_memory = disk_buffer(4096);
	write_memory = disk_buffer(4096);
	switch_log__measure_switch();
	switch_log__prepare();
	if (options.busy_cpus)
		busy_cpus__start(&busy);
	choose_cpus(&one.cpu, &two.cpu);
	set_loops(one.cpu);
	ready(options.ready);

	barrier.began = wall_ns();
	first = start_thread(thread1, &one);
	second = start_thread(thread2, &two);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	busy_cpus__stop(&busy);
	print_truth(&one, &two);
	return 0;
}
