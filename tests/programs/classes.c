/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that compute, sleep, wait for a lock, read from disk, and wait for a CPU, each for
 * a measured share of time, in intervals much shorter or much longer than a sampling period of
 * 1 ms.
 *
 * A worker repeats these phases: compute (on CPU), clock_nanosleep (other), a mutex that its
 * partner holds while it sleeps (lock), direct reads (io). More threads are runnable than there
 * are CPUs, so all wait in run queues (sched). The length of each phase is random: from 20 to
 * 200 us (--scale short), 5 to 50 ms (long) or either (mixed).
 *
 * True by construction: every wait in a phase has the phase's class. Time that a thread was
 * neither blocked nor in a run queue it was on a CPU, so a thread's times add up to its
 * lifetime. The partner waits for its worker in sem_wait (lock), and sleeps (other). The main
 * thread waits in pthread_join (lock).
 *
 * Blocked time of a phase is its wall time less on-CPU time and run-queue time. Up to its
 * unknown_ns was run-queue time (switch_log.h).
 */
#include "tests/programs/common/disk_file.h"
#include "tests/programs/common/switch_log.h"
#include "tests/programs/common/keep_cpus_busy.h"

#include <getopt.h>
#include <semaphore.h>

enum class { CPU, IO, LOCK, SCHED, OTHER, CLASSES };

static const char *const class_names[CLASSES] = {"cpu", "io", "lock", "sched", "other"};

enum scale { SHORT, LONG, MIXED };

#define WORKERS_MAX 64

static struct {
	uint64_t seconds;
	enum scale scale;
	int workers;
	bool busy_cpus;
	const char *dir;
	const char *ready;
} options = {
	.seconds = 5,
	.scale = MIXED,
	.workers = 4,
	.dir = "/var/tmp",
};

/* A thread's times, and the sums of its phases by the class of their waits. */
struct account {
	char name[16];
	pid_t tid;
	struct switch_log log;
	struct thread_times first;
	struct thread_times last;
	uint64_t counted_cpu; /* by the kernel, from first to last */
	struct phase_times spent[CLASSES];
};

struct worker {
	struct account self;
	struct account partner;
	pthread_t threads[2];
	uint64_t random;
	uint64_t hold; /* ns that the partner holds the mutex; 0: it ends */
	pthread_mutex_t mutex;
	sem_t go;
	sem_t held;
	char *memory;
};

static struct worker workers[WORKERS_MAX];
static struct disk_file file;
static uint64_t loops_per_us;
static uint64_t deadline;

static void account_begin(struct account *account, const char *name)
{
	snprintf(account->name, sizeof(account->name), "%s", name);
	account->tid = thread_id();
	switch_log__open(&account->log);
	set_name(name); /* the profiler books time before it under the old name */
	account->first = account->last = thread_times__now(&account->log);
	account->counted_cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void account_end(struct account *account)
{
	account->counted_cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - account->counted_cpu;
}

/* Ends a phase, whose blocked time has class @class; CPU: it has none. */
static void account_phase(struct account *account, enum class class)
{
	struct thread_times now = thread_times__now(&account->log);

	phase_times__add(&account->spent[class], &account->last, &now);
	account->last = now;
}

static uint64_t draw_length(struct worker *worker)
{
	bool brief = options.scale == SHORT ||
		     (options.scale == MIXED && draw(&worker->random, 0, 99) < 98);

	return brief ? draw(&worker->random, 20 * NS_PER_US, 200 * NS_PER_US)
		     : draw(&worker->random, 5 * NS_PER_MS, 50 * NS_PER_MS);
}

KEEP void phase_compute(uint64_t ns)
{
	BURN(ns * loops_per_us / NS_PER_US);
	NO_TAIL_CALL();
}

KEEP void phase_sleep(uint64_t ns)
{
	sleep_ns(ns);
	NO_TAIL_CALL();
}

KEEP void phase_lock(struct worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	pthread_mutex_unlock(&worker->mutex);
	NO_TAIL_CALL();
}

/* One read in a short phase; large reads until the end of a long one. */
KEEP void phase_read(struct worker *worker, uint64_t ns)
{
	size_t size = ns > NS_PER_MS ? 1 << 20 : 4096;
	uint64_t end = wall_ns() + ns;

	do {
		off_t offset = draw(&worker->random, 0, file.size / size - 1) * size;

		if (pread(file.fd, worker->memory, size, offset) != (ssize_t)size)
			die("%s", file.path);
	} while (ns > NS_PER_MS && wall_ns() < end);
	NO_TAIL_CALL();
}

/* Asks the partner to hold the mutex, then waits for the mutex. */
static void lock_round(struct worker *worker)
{
	worker->hold = draw_length(worker);
	sem_post(&worker->go);
	while (sem_wait(&worker->held))
		;
	phase_lock(worker);
}

static void *run_worker(void *arg)
{
	struct worker *worker = arg;
	struct account *self = &worker->self;
	char name[16];

	snprintf(name, sizeof(name), "worker%zu", worker - workers);
	account_begin(self, name);
	while (self->last.wall < deadline) {
		phase_compute(draw_length(worker));
		account_phase(self, CPU);
		phase_sleep(draw_length(worker));
		account_phase(self, OTHER);
		phase_compute(draw_length(worker));
		account_phase(self, CPU);
		lock_round(worker);
		account_phase(self, LOCK);
		phase_compute(draw_length(worker));
		account_phase(self, CPU);
		phase_read(worker, draw_length(worker));
		account_phase(self, IO);
	}
	worker->hold = 0;
	sem_post(&worker->go);
	account_phase(self, CPU);
	account_end(self);
	return NULL;
}

static void *run_partner(void *arg)
{
	struct worker *worker = arg;
	struct account *self = &worker->partner;
	char name[16];

	snprintf(name, sizeof(name), "partner%zu", worker - workers);
	account_begin(self, name);
	for (;;) {
		while (sem_wait(&worker->go))
			;
		account_phase(self, LOCK);
		if (!worker->hold) {
			account_end(self);
			return NULL;
		}
		pthread_mutex_lock(&worker->mutex);
		sem_post(&worker->held);
		account_phase(self, CPU);
		phase_sleep(worker->hold);
		account_phase(self, OTHER);
		pthread_mutex_unlock(&worker->mutex);
	}
}

static void print_account(const struct account *account, const char *end)
{
	uint64_t lifetime = account->last.wall - account->first.wall;
	uint64_t sched = account->last.runqueue - account->first.runqueue;
	uint64_t blocked[CLASSES] = {}, cpu = lifetime - sched;

	printf("  {\"name\": \"%s\", \"tid\": %d, \"lifetime_ns\": %" PRIu64, account->name,
	       account->tid, lifetime);
	for (int i = 0; i < CLASSES; i++) {
		if (i != CPU)
			blocked[i] = phase_times__blocked(&account->spent[i]);
		cpu -= blocked[i];
	}
	for (int i = 0; i < CLASSES; i++)
		printf(", \"%s_ns\": %" PRIu64, class_names[i],
		       i == CPU	    ? cpu
		       : i == SCHED ? sched
				    : blocked[i]);
	printf(",\n   \"unknown_ns\": {");
	for (int i = 0; i < CLASSES; i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "", class_names[i],
		       account->spent[i].unknown);
	printf("},\n   \"counted_cpu_ns\": %" PRIu64 ", \"io_waits\": %" PRIu64
	       ", \"lock_waits\": %" PRIu64 ", \"other_waits\": %" PRIu64 "}%s\n",
	       account->counted_cpu, account->spent[IO].count, account->spent[LOCK].count,
	       account->spent[OTHER].count, end);
}

static void start_worker(struct worker *worker)
{
	worker->random = 0x9e3779b97f4a7c15 * (worker - workers + 1);
	pthread_mutex_init(&worker->mutex, NULL);
	sem_init(&worker->go, 0, 0);
	sem_init(&worker->held, 0, 0);
	worker->memory = disk_buffer(1 << 20);
	worker->threads[0] = start_thread(run_partner, worker);
	worker->threads[1] = start_thread(run_worker, worker);
}

static enum scale parse_scale(const char *text)
{
	if (!strcmp(text, "short"))
		return SHORT;
	if (!strcmp(text, "long"))
		return LONG;
	if (!strcmp(text, "mixed"))
		return MIXED;
	errno = EINVAL;
	die("--scale %s", text);
}

static const struct option long_options[] = {
	{"seconds", required_argument, NULL, 's'},
	{"scale", required_argument, NULL, 'S'},
	{"workers", required_argument, NULL, 'w'},
	{"keep-cpus-busy", no_argument, NULL, 'W'},
	{"dir", required_argument, NULL, 'd'},
	{"ready", required_argument, NULL, 'R'},
	{},
};

static void parse(int argc, char **argv)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (opt) {
		case 's':
			options.seconds = strtoull(optarg, NULL, 10);
			break;
		case 'S':
			options.scale = parse_scale(optarg);
			break;
		case 'w':
			options.workers = atoi(optarg);
			break;
		case 'W':
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
	if (options.workers < 1 || options.workers > WORKERS_MAX) {
		errno = ERANGE;
		die("--workers %d", options.workers);
	}
}

int main(int argc, char **argv)
{
	struct busy_cpus busy = {};
	struct account self = {};

	parse(argc, argv);
	disk_file__create(&file, options.dir, "classes", 64 << 20, 0);
	unlink(file.path);
	loops_per_us = loops_per_ms() / 1000;
	switch_log__measure_switch();
	if (options.busy_cpus)
		busy_cpus__start(&busy);
	ready(options.ready);

	account_begin(&self, "main");
	deadline = self.first.wall + options.seconds * NS_PER_S;
	for (int i = 0; i < options.workers; i++)
		start_worker(&workers[i]);
	account_phase(&self, CPU);
	for (int i = 0; i < options.workers; i++) {
		pthread_join(workers[i].threads[1], NULL);
		pthread_join(workers[i].threads[0], NULL);
	}
	account_phase(&self, LOCK);
	account_end(&self);
	busy_cpus__stop(&busy);

	printf("{\"program\": \"classes\", \"pid\": %d, \"threads\": [\n", getpid());
	for (int i = 0; i < options.workers; i++) {
		print_account(&workers[i].self, ",");
		print_account(&workers[i].partner, ",");
	}
	print_account(&self, "");
	printf("]}\n");
	return 0;
}
