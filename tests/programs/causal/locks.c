/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases in which threads share a lock, or the CPUs. */
#include "tests/programs/causal/case.h"

/*
 * critical-section: three threads, each of which holds the lock for a part of its cycle.
 *
 * Expected: both inside and outside gain: inside by more than its share of a thread's cycle
 * while the lock is contended; without contention the time outside is left.
 */
static pthread_mutex_t section = PTHREAD_MUTEX_INITIALIZER;

COMPUTE(inside)
COMPUTE_AND_NAP(outside)

static void *run_sections(void *arg)
{
	for (;;) {
		outside(400, 4);
		pthread_mutex_lock(&section);
		inside(1000);
		pthread_mutex_unlock(&section);
		PROGRESS("section");
	}
	return arg;
}

static void case_critical_section(void)
{
	for (int i = 0; i < 3; i++)
		start_thread(run_sections, NULL);
}

const struct known_case critical_section_case = {
	.name = "critical-section",
	.run = case_critical_section,
	.point = "section",
	.targets = {&inside_target, &outside_target, &other_target},
	.note = "three threads and a mutex",
};

/* A fair lock: first come, first served. */
struct fifo_lock {
	pthread_mutex_t mutex;
	pthread_cond_t turn;
	uint64_t next;
	uint64_t served;
};

KEEP void fifo_lock__acquire(struct fifo_lock *lock)
{
	uint64_t ticket;

	pthread_mutex_lock(&lock->mutex);
	ticket = lock->next++;
	while (ticket != lock->served)
		pthread_cond_wait(&lock->turn, &lock->mutex);
	pthread_mutex_unlock(&lock->mutex);
	NO_TAIL_CALL();
}

KEEP void fifo_lock__release(struct fifo_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
	lock->served++;
	pthread_mutex_unlock(&lock->mutex);
	pthread_cond_broadcast(&lock->turn);
	NO_TAIL_CALL();
}

/*
 * contention: one thread answers requests, and takes the lock for each. Another cleans up in
 * the background: it searches, then holds the lock for a long time.
 *
 * Expected: serve and purge gain. search loses, up to two thirds: the faster it is, the more
 * often purge holds the lock, at most once per request.
 */
static struct fifo_lock store = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.turn = PTHREAD_COND_INITIALIZER,
};

COMPUTE(serve)
COMPUTE(account)
COMPUTE(search)
COMPUTE(purge)

static void *run_serving(void *arg)
{
	for (;;) {
		serve(randomized(500));
		fifo_lock__acquire(&store);
		account(300);
		fifo_lock__release(&store);
		PROGRESS("request");
	}
	return arg;
}

static void *run_cleaning(void *arg)
{
	for (;;) {
		search(randomized(2500));
		fifo_lock__acquire(&store);
		purge(randomized(1500));
		fifo_lock__release(&store);
	}
	return arg;
}

static void case_contention(void)
{
	start_thread(run_serving, NULL);
	start_thread(run_cleaning, NULL);
}

const struct known_case contention_case = {
	.name = "contention",
	.run = case_contention,
	.point = "request",
	.targets = {&serve_target, &search_target, &purge_target},
	.note = "a fair lock: search makes it worse",
};

/*
 * rwlock: two readers, and a writer with precedence over them.
 *
 * Expected: look_up, render and update gain. interval loses: it is the time between two
 * writes, in which the readers can run.
 */
static pthread_rwlock_t table;

COMPUTE(look_up)
COMPUTE_AND_NAP(render)
COMPUTE(update)
COMPUTE_AND_NAP(interval)

static void *run_reader(void *arg)
{
	for (;;) {
		pthread_rwlock_rdlock(&table);
		look_up(randomized(700));
		pthread_rwlock_unlock(&table);
		render(randomized(200), 2);
		PROGRESS("lookup");
	}
	return arg;
}

static void *run_writer(void *arg)
{
	for (;;) {
		interval(randomized(300), 4);
		pthread_rwlock_wrlock(&table);
		update(randomized(1800));
		pthread_rwlock_unlock(&table);
	}
	return arg;
}

static void case_rwlock(void)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&table, &attr);
	start_thread(run_reader, NULL);
	start_thread(run_reader, NULL);
	start_thread(run_writer, NULL);
}

const struct known_case rwlock_case = {
	.name = "rwlock",
	.run = case_rwlock,
	.point = "lookup",
	.targets = {&look_up_target, &render_target, &update_target, &interval_target},
	.note = "readers and a writer: interval makes it worse",
};

/*
 * oversubscribed: three threads per CPU that only compute.
 *
 * Expected: hot by its share, a third; cold by two thirds.
 */
COMPUTE(hot)
COMPUTE(cold)

static void *run_hot_and_cold(void *arg)
{
	for (;;) {
		hot(1000);
		cold(2000);
		PROGRESS("item");
	}
	return arg;
}

/* @n threads per CPU. */
static void start_per_cpu(int n, void *(*body)(void *arg))
{
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int i = 0; i < n * CPU_COUNT(&allowed); i++)
		start_thread(body, NULL);
}

static void case_oversubscribed(void)
{
	start_per_cpu(3, run_hot_and_cold);
}

const struct known_case oversubscribed_case = {
	.name = "oversubscribed",
	.run = case_oversubscribed,
	.point = "item",
	.targets = {&hot_target, &cold_target},
	.note = "three threads a CPU: each function by its share",
};

/*
 * pool: four independent threads per CPU. Each waits often and briefly, as for a fast disk,
 * and computes in between. All run the same code at the same time, for less than a sampling
 * period, and wait for a CPU after each wait.
 *
 * Expected: look_around and digest by their share of CPU time; shorter waits nothing.
 */
#define LOOK_NS (60 * NS_PER_US)

static struct target look_around_target = {.name = "look_around"};
COMPUTE(digest)

KEEP void look_around(int times)
{
	for (int i = target__part(&look_around_target, times); i > 0; i--) {
		BURN(20 * NS_PER_US / options.ns_per_loop);
		scaled_sleep(LOOK_NS);
	}
	NO_TAIL_CALL();
}

static void *run_member(void *arg)
{
	for (;;) {
		look_around(8);
		digest(100);
		PROGRESS("item");
	}
	return arg;
}

static void case_pool(void)
{
	start_per_cpu(4, run_member);
}

const struct known_case pool_case = {
	.name = "pool",
	.run = case_pool,
	.point = "item",
	.targets = {&look_around_target, &digest_target, &other_target},
	.note = "four threads a CPU that wait often and briefly: shorter, to no gain",
};

/*
 * errands: two threads on one CPU. One computes all the time, the other sleeps, and runs
 * briefly after each wakeup.
 *
 * Expected: sleeps and errand by their share, though the CPU is never idle: the thread that
 * runs briefly preempts the other at once.
 */
COMPUTE(errand)
static int errands_cpu;

static void *run_errands(void *arg)
{
	stay_on(errands_cpu);
	for (;;) {
		errand(100);
		scaled_sleep(NS_PER_MS);
		PROGRESS("errand");
	}
	return arg;
}

static void *run_hog(void *arg)
{
	stay_on(errands_cpu);
	for (;;)
		BURN(NS_PER_MS / options.ns_per_loop);
	return arg;
}

static void case_errands(void)
{
	errands_cpu = sched_getcpu();
	start_thread(run_hog, NULL);
	start_thread(run_errands, NULL);
}

const struct known_case errands_case = {
	.name = "errands",
	.run = case_errands,
	.point = "errand",
	.targets = {&errand_target, &other_target},
	.note = "a thread that runs briefly beside one that computes, on one CPU",
};

/*
 * cores, cores-4: two or four threads that only compute, on one CPU.
 *
 * Each of n threads on c CPUs waits for a CPU (n / c - 1) times as long as it runs. When
 * this wait shrinks by s, as with more CPUs, the period shrinks by s (1 - c / n); with s = 1
 * each thread has a CPU. From c to c' CPUs the wait shrinks by
 * s = 1 - (n / c' - 1) / (n / c - 1). (Blocked Samples, figure 15: there c' = n = 32.) Here
 * c is 1:
 *
 *   cores    2 CPUs instead of 1 are s = 1
 *   cores-4  2 CPUs instead of 1 are s = 2/3; the case uses no more than 2
 *
 * For s in between, half of the threads move to the other CPU for a fraction f of the time:
 * c = 1 + f, where c = n / (1 + (1 - s) (n - 1)).
 *
 * Expected: class sched 50 % at s = 1 (cores), or at s = 2/3 (cores-4), linear; crunch 100 %.
 */
#define CORES_CYCLE_NS (25 * NS_PER_MS) /* a sixth of a block */
#define CORES_MAX      4

static struct {
	int threads;
	int one, two; /* CPUs */
	pid_t tids[CORES_MAX];
} cores;

static struct target sched_target = {.name = "sched", .class = "sched"};
static struct target sched_of_four_target = {.name = "sched", .class = "sched", .max = 66};
COMPUTE(crunch)

/* A thread that waits for a CPU moves at once. */
static void move(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(tid, sizeof(set), &set);
}

static void *run_crunching(void *arg)
{
	pid_t *tid = arg;

	stay_on(cores.one);
	__atomic_store_n(tid, thread_id(), __ATOMIC_RELEASE);
	for (;;) {
		crunch(2000);
		PROGRESS("item");
	}
	return arg;
}

/* The fraction of time with a second CPU. */
static double more_cpus(void)
{
	const struct target *target = cores.threads == 2 ? &sched_target : &sched_of_four_target;
	double left = target__percent_left(target) / 100.0;

	return cores.threads / (1 + left * (cores.threads - 1)) - 1;
}

static void move_half(int cpu)
{
	for (int i = 0; i < cores.threads / 2; i++)
		move(cores.tids[i], cpu);
}

static void *run_moving(void *arg)
{
	for (;;) {
		uint64_t away = CORES_CYCLE_NS * more_cpus();

		if (away)
			move_half(cores.two);
		sleep_ns(away);
		if (away < CORES_CYCLE_NS)
			move_half(cores.one);
		sleep_ns(CORES_CYCLE_NS - away);
	}
	return arg;
}

static void run_cores(int threads)
{
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		cores.two = cores.one;
		cores.one = cpu;
	}
	cores.threads = threads;
	for (int i = 0; i < threads; i++)
		start_thread(run_crunching, &cores.tids[i]);
	for (int i = 0; i < threads; i++)
		while (!__atomic_load_n(&cores.tids[i], __ATOMIC_ACQUIRE))
			sleep_ns(NS_PER_MS);
	if (more_cpus() > 0 || sched_target.curve || sched_of_four_target.curve)
		start_thread(run_moving, NULL);
}

static void case_cores(void)
{
	run_cores(2);
}

const struct known_case cores_case = {
	.name = "cores",
	.run = case_cores,
	.point = "item",
	.targets = {&crunch_target, &sched_target},
	.note = "two threads on one CPU; sched at 100 % is two CPUs instead of one",
};

static void case_cores_4(void)
{
	run_cores(4);
}

const struct known_case cores_4_case = {
	.name = "cores-4",
	.run = case_cores_4,
	.point = "item",
	.targets = {&crunch_target, &sched_of_four_target},
	.note = "four threads on one CPU; sched at 66.7 % is two CPUs instead of one",
};
