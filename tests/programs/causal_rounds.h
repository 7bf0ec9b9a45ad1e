/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases of causal.c in which threads meet after every round: the slowest of them is
 * what counts, up to where another becomes the slowest.
 */
#pragma once

#include "causal_disk.h"

/* A barrier of a mutex and a condition variable. */
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
 * coz-figure1: two threads, one of which has 6.7 ms of work, the other 6.4 ms, are
 * created and joined every round.
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
	while (!run_over()) {
		pthread_t a = start_thread(run_a, NULL);
		pthread_t b = start_thread(run_b, NULL);

		pthread_join(a, NULL);
		pthread_join(b, NULL);
		PROGRESS("round");
	}
}

/*
 * bs-figure1-1, bs-figure1-2: the example of Blocked Samples, with four times as much in
 * a round, so that a quarter of the writes is one.
 *
 *   T1  compute_light (0.4 of the disk time), 4 writes, 32 reads, barrier
 *   T2  compute_heavy (2 or 0.4 times all of T1's work), barrier
 *
 * T1 stays on the CPU that takes the disk's interrupts, T2 on another: where they are makes
 * a tenth of the period.
 *
 * Expected: 1: compute_heavy up to 50 %, nothing else. 2: compute_light 29 %, reads and
 * writes by their share, all of them together up to where T2 is slower; compute_heavy
 * nothing.
 */
static struct {
	struct meeting meeting;
	uint64_t light_us;
	uint64_t heavy_us;
} figure = {.meeting = MEETING};

COMPUTE(compute_light)
COMPUTE(compute_heavy)

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
	uint64_t disk_us = disk_round_ns() / NS_PER_US;

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

static void case_bs_figure1_2(void)
{
	run_figure(0.4);
}

/*
 * barrier: three threads with unequal work. The first only computes, the second sleeps
 * most of its time, the third has little to do.
 *
 * Expected: work_long up to where it takes as long as work_medium, nothing else.
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

/*
 * usleep-barrier: one thread sleeps eight times, another computes for two thirds of that.
 *
 * Expected: doze up to a third, and so the class; compute nothing.
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

/*
 * phases: 500 rounds of 4 ms, then 330 of 6 ms, and so on. In the early phase the first
 * thread is slower, in the late phase the second one.
 *
 * Expected: early_long and late_long each by its phase's share of the time, about half,
 * up to where the other thread is slower; early_brief and late_brief nothing. A profiler
 * that does not know that a target ran in one phase only promises about twice as much.
 *
 * Each round has its work, so it does not matter for the truth how long a phase is. A
 * curve takes one cycle for each block: phases are a tenth as long then.
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
	run->settle_ns = 0; /* nothing is under way at a border, and the next one is far */
	start_thread(run_phases_one, NULL);
	start_thread(run_phases_two, NULL);
}

/*
 * spin: two threads meet at a barrier at which they busy-wait.
 *
 * Expected: spin_long up to 40 %, spin_short nothing. The waiting looks like work, and
 * who is waited for is nobody's waker.
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
