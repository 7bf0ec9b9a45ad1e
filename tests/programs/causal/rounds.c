/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases in which threads meet after every round: the slowest thread determines the period,
 * until another is slower.
 */
#include "tests/programs/causal/case.h"
#include "tests/programs/causal/disk.h"

/* A barrier made of a mutex and a condition variable. */
struct meeting {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int arrived;
	uint64_t generation;
};

#define MEETING                                                                                    \
	{                                                                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER,              \
	}

KEEP void meet(struct meeting *meeting, int threads)
{
	uint64_t generation;

	pthread_mutex_lock(&meeting->mutex);
	generation = meeting->generation;
	if (++meeting->arrived == threads) {
		meeting->arrived = 0;
		meeting->generation++;
		pthread_cond_broadcast(&meeting->cond);
	}
	while (generation == meeting->generation)
		pthread_cond_wait(&meeting->cond, &meeting->mutex);
	pthread_mutex_unlock(&meeting->mutex);
	NO_TAIL_CALL();
}

/*
 * coz-figure1: two threads, with 6.7 ms and 6.4 ms of work, are created and joined every
 * round.
 *
 * Expected: loop_a 4.5 % at most, loop_b nothing.
 */
COMPUTE(loop_a)
COMPUTE(loop_b)

static void *run_a(void *arg)
{
	loop_a(6700);
	return arg;
}

static void *run_b(void *arg)
{
	loop_b(6400);
	return arg;
}

static void case_coz_figure1(void)
{
	while (!run__over()) {
		pthread_t a = start_thread(run_a, NULL);
		pthread_t b = start_thread(run_b, NULL);

		pthread_join(a, NULL);
		pthread_join(b, NULL);
		PROGRESS("round");
	}
}

const struct known_case coz_figure1_case = {
	.name = "coz-figure1",
	.run = case_coz_figure1,
	.point = "round",
	.targets = {&loop_a_target, &loop_b_target},
	.note = "two threads a round, created and joined: loop_a at most 4.5 %",
};

/*
 * bs-figure1-1, bs-figure1-2: the example of Blocked Samples. A round is four times as
 * long, so that 25 % of its writes are one write.
 *
 *   T1  compute_light (0.4 of the disk time), 4 writes, 32 reads, barrier
 *   T2  compute_heavy (2 or 0.4 times all of T1's work), barrier
 *
 * T1 is pinned to the CPU that takes the disk's interrupts, T2 to another: their places change
 * the period by a tenth.
 *
 * Expected, first case: compute_heavy up to 50 %, nothing else. Second case: compute_light
 * 29 %, reads and writes by their share of the period, io until T2 is slower; compute_heavy
 * nothing.
 */
static struct {
	struct meeting meeting;
	uint64_t light_us;
	uint64_t heavy_us;
} figure = {.meeting = MEETING};

COMPUTE(compute_light)
COMPUTE(compute_heavy)

static int another_cpu(int cpu)
{
	cpu_set_t allowed;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int other = 0; other < CPU_SETSIZE; other++)
		if (other != cpu && CPU_ISSET(other, &allowed))
			return other;
	return cpu;
}

static void *run_disk_user(void *arg)
{
	stay_on(disk.cpu);
	for (uint64_t turn = 0;; turn++) {
		compute_light(figure.light_us);
		writes(turn);
		reads(turn);
		meet(&figure.meeting, 2);
		PROGRESS("round");
	}
	return arg;
}

static void *run_computer(void *arg)
{
	stay_on(another_cpu(disk.cpu));
	for (;;) {
		compute_heavy(figure.heavy_us);
		meet(&figure.meeting, 2);
	}
	return arg;
}

static void run_figure(double ratio)
{
	uint64_t disk_us = disk__round_ns() / NS_PER_US;

	figure.light_us = disk_us * 0.4;
	figure.heavy_us = disk_us * 1.4 * ratio;
	disk__open();
	start_thread(run_disk_user, NULL);
	start_thread(run_computer, NULL);
}

static void case_bs_figure1_1(void)
{
	run_figure(2);
}

const struct known_case bs_figure1_1_case = {
	.name = "bs-figure1-1",
	.run = case_bs_figure1_1,
	.point = "round",
	.targets = {&compute_heavy_target, &compute_light_target, &reads_target, &writes_target,
		    &io_target},
	.note = "disk work against twice as long computing, barrier",
	.seconds = 10,
	.disk = true,
};

static void case_bs_figure1_2(void)
{
	run_figure(0.4);
}

const struct known_case bs_figure1_2_case = {
	.name = "bs-figure1-2",
	.run = case_bs_figure1_2,
	.point = "round",
	.targets = {&compute_heavy_target, &compute_light_target, &reads_target, &writes_target,
		    &io_target},
	.note = "disk work against 0.4 times as long computing, barrier",
	.seconds = 10,
	.disk = true,
};

/*
 * barrier: three threads with unequal work. The first only computes, the second mostly
 * sleeps, the third has little work.
 *
 * Expected: work_long until work_medium is slower, nothing else.
 */
static pthread_barrier_t barrier;

COMPUTE(work_long)
COMPUTE_AND_NAP(work_medium)
COMPUTE(work_short)

static void *run_long(void *arg)
{
	for (;;) {
		work_long(3200);
		pthread_barrier_wait(&barrier);
		PROGRESS("round");
	}
	return arg;
}

static void *run_medium(void *arg)
{
	for (;;) {
		work_medium(200, 4);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void *run_short(void *arg)
{
	for (;;) {
		work_short(300);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void case_barrier(void)
{
	pthread_barrier_init(&barrier, NULL, 3);
	start_thread(run_long, NULL);
	start_thread(run_medium, NULL);
	start_thread(run_short, NULL);
}

const struct known_case barrier_case = {
	.name = "barrier",
	.run = case_barrier,
	.point = "round",
	.targets = {&work_long_target, &work_medium_target, &work_short_target},
	.note = "three threads with unequal work: work_long until work_medium is slower",
};

/*
 * usleep-barrier: one thread sleeps eight times, another computes for two thirds of that time.
 *
 * Expected: doze and the class other up to a third; compute nothing.
 */
COMPUTE_AND_NAP(doze)
COMPUTE(compute)

static void *run_dozing(void *arg)
{
	for (;;) {
		doze(0, 8);
		pthread_barrier_wait(&barrier);
		PROGRESS("round");
	}
	return arg;
}

static void *run_computing(void *arg)
{
	for (;;) {
		compute(2400);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void case_usleep_barrier(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	start_thread(run_dozing, NULL);
	start_thread(run_computing, NULL);
}

const struct known_case usleep_barrier_case = {
	.name = "usleep-barrier",
	.run = case_usleep_barrier,
	.point = "round",
	.targets = {&doze_target, &compute_target, &other_target},
	.note = "sleeping against computing: doze until compute is slower",
};

/*
 * phases: 500 rounds of 4 ms, then 330 of 6 ms, and again. In the early phase the first
 * thread is slower, in the late phase the second.
 *
 * Expected: early_long and late_long by their phase's share of the time, about half, until the
 * other thread is slower; early_brief and late_brief nothing. A profiler that does not know
 * that a target ran in one phase only predicts about twice as much.
 *
 * The gain does not depend on the length of a phase. Each block of a curve is one cycle of
 * phases, a tenth as long as otherwise.
 */
#define EARLY_ROUNDS 500
#define LATE_ROUNDS  330
#define WARM_ROUNDS  60

static struct meeting phases_meeting = MEETING;
static uint64_t early_rounds = EARLY_ROUNDS, cycle_rounds = EARLY_ROUNDS + LATE_ROUNDS;

COMPUTE(early_long)
COMPUTE(early_brief)
COMPUTE(late_long)
COMPUTE(late_brief)

static uint64_t first_round(void)
{
	return (cycle_rounds - WARM_ROUNDS % cycle_rounds) % cycle_rounds;
}

static void *run_phases_one(void *arg)
{
	for (uint64_t round = first_round();; round++) {
		if (round % cycle_rounds < early_rounds)
			early_long(4000);
		else
			late_brief(2000);
		meet(&phases_meeting, 2);
		PROGRESS_AT("round", (round + 1) % cycle_rounds == 0);
	}
	return arg;
}

static void *run_phases_two(void *arg)
{
	for (uint64_t round = first_round();; round++) {
		if (round % cycle_rounds < early_rounds)
			early_brief(1500);
		else
			late_long(6000);
		meet(&phases_meeting, 2);
	}
	return arg;
}

static void case_phases(void)
{
	if (run->n_scales) {
		early_rounds /= 10;
		cycle_rounds /= 10;
	}
	run->settle_ns = 0; /* at a border all threads meet, and the next is far */
	start_thread(run_phases_one, NULL);
	start_thread(run_phases_two, NULL);
}

const struct known_case phases_case = {
	.name = "phases",
	.run = case_phases,
	.point = "round",
	.targets = {&early_long_target, &early_brief_target, &late_long_target, &late_brief_target},
	.note = "two phases of 2 s: each one's long function by half",
};

/*
 * spin: two threads meet at a barrier where they busy-wait.
 *
 * Expected: spin_long up to 40 %, spin_short nothing. To the kernel, busy-waiting is
 * computing, and no thread wakes another.
 */
static struct {
	int arrived;
	uint32_t generation;
} spinning;

static void relax(void)
{
#if defined(__x86_64__)
	__asm__ volatile("pause" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

COMPUTE(spin_long)
COMPUTE(spin_short)

KEEP void spin_until_both(void)
{
	uint32_t generation = __atomic_load_n(&spinning.generation, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&spinning.arrived, 1, __ATOMIC_ACQ_REL) == 2) {
		__atomic_store_n(&spinning.arrived, 0, __ATOMIC_RELAXED);
#ifndef USE_COZ
		DWELL_SPIN_RELEASE(&spinning);
#endif
		__atomic_store_n(&spinning.generation, generation + 1, __ATOMIC_RELEASE);
		return;
	}
#ifndef USE_COZ
	DWELL_SPIN_BEGIN(&spinning);
#endif
	while (__atomic_load_n(&spinning.generation, __ATOMIC_ACQUIRE) == generation)
		relax();
#ifndef USE_COZ
	DWELL_SPIN_END(&spinning);
#endif
	NO_TAIL_CALL();
}

static void *run_spin_long(void *arg)
{
	for (;;) {
		spin_long(2000);
		spin_until_both();
		PROGRESS("round");
	}
	return arg;
}

static void *run_spin_short(void *arg)
{
	for (;;) {
		spin_short(1200);
		spin_until_both();
	}
	return arg;
}

static void case_spin(void)
{
	start_thread(run_spin_long, NULL);
	start_thread(run_spin_short, NULL);
}

const struct known_case spin_case = {
	.name = "spin",
	.run = case_spin,
	.point = "round",
	.targets = {&spin_long_target, &spin_short_target},
	.note = "a barrier that busy-waits: spin_long until spin_short is slower",
};
