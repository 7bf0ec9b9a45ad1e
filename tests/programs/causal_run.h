/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the cases of causal.c are made of: work that can really be made smaller, visits
 * of progress points, counted by the program itself, and threads and processes that
 * run until enough was measured.
 *
 * All that is counted lies in memory that processes share.
 */
#pragma once

#include "known.h"

#include <semaphore.h>
#include <sys/mman.h>

#ifdef USE_COZ
#include <coz.h>
#define POINT_PROGRESS(name) COZ_PROGRESS_NAMED(name)
#define POINT_BEGIN(name)    COZ_BEGIN(name)
#define POINT_END(name)	     COZ_END(name)
#else
#include "include/dwell.h"
#define POINT_PROGRESS(name) DWELL_PROGRESS_NAMED(name)
#define POINT_BEGIN(name)    DWELL_BEGIN(name)
#define POINT_END(name)	     DWELL_END(name)
#endif

#define WARM_UP_NS    (300 * NS_PER_MS)
#define NAP_NS	      (400 * NS_PER_US)
#define BLOCK_NS      (150 * NS_PER_MS)
#define SETTLE_NS     (40 * NS_PER_MS)
#define BLOCKS_MAX    4096
#define SCALES_MAX    6
#define MAX_SCALE(of) ((of)->max ? (of)->max : 100)

static struct {
	double seconds;
	uint64_t rounds; /* visits to measure; 0: until the seconds are over */
	double ns_per_loop;
	const char *dir;
} options = {
	.seconds = 3,
	.dir = "/var/tmp",
};

/* Something that can be sped up: a function, or a class of waiting. */
struct target {
	const char *name;
	const char *class; /* what dwell calls it; NULL: a function */
	const char *file;  /* where the function's work is, on one line */
	int line;
	int max;    /* more than so many percent cannot be made true here; 0: 100 */
	int scale;  /* percent of its work that is left out */
	bool curve; /* instead, what run->scale says */
};

/* What was measured while nothing changed. */
struct block {
	int scale; /* of the target whose curve is measured */
	uint64_t visits;
	uint64_t ns;
	uint64_t latency_ns; /* of all that ended */
	uint64_t latencies;
};

/* The first to see that a block is over or may begin does what is to be done then. */
enum phase { SETTLING, BEGINNING, MEASURING, ENDING, OVER };

struct run {
	int scale; /* at present, of the target whose curve is measured */
	uint64_t settle_ns;
	uint64_t block_ns;
	enum phase phase;
	uint64_t settled; /* when a block may begin */
	uint64_t began;	  /* the block */
	uint64_t end;	  /* of all measuring, as soon as a cycle is complete */
	sem_t over;

	uint64_t visits; /* since the start, as the two below */
	uint64_t latency_ns, latencies;
	struct block before; /* those three when the block began */
	uint64_t disk_reads; /* to be told from those of others */

	int scales[SCALES_MAX]; /* of a cycle, in the order of this one */
	int n_scales;
	int next_scale;
	uint64_t random;
	uint64_t cycle; /* number */
	int n_blocks;
	struct block blocks[BLOCKS_MAX];
};

static struct run *run;

#define TARGET(function)                                                                           \
	static struct target function##_target = {                                                 \
		.name = #function, .file = __FILE__, .line = __LINE__}

HELPER int percent_left(const struct target *target)
{
	if (target->curve)
		return 100 - __atomic_load_n(&run->scale, __ATOMIC_RELAXED);
	return 100 - target->scale;
}

/* The CPU time of @us, and less if @target is to be smaller. */
HELPER uint64_t loops(const struct target *target, uint64_t us)
{
	return us * NS_PER_US / options.ns_per_loop * percent_left(target) / 100;
}

/* So many of @n operations are left: exact when 100 divides @n times the scale. */
HELPER int scaled(const struct target *target, int n)
{
	return (n * percent_left(target) + 50) / 100;
}

static struct target other_target = {.name = "other", .class = "other"};

/*
 * Sleeps, for which nothing is waited but the time. As a class they are made shorter
 * (next to nothing at 100 %), in a function that is scaled they are fewer: their own cost
 * of 30 to 50 us, the timer's interrupt and the switch, is the function's but not the
 * class's.
 */
HELPER void rest(uint64_t ns)
{
	ns = ns * percent_left(&other_target) / 100;
	sleep_ns(ns ? ns : 1);
}

KEEP void nap(int times)
{
	for (int i = 0; i < times; i++)
		rest(NAP_NS);
	NO_TAIL_CALL();
}

/* A function that computes for @us of CPU time. All its work is on the line of the macro. */
#define COMPUTE(function)                                                                          \
	TARGET(function);                                                                          \
	KEEP void function(uint64_t us)                                                            \
	{                                                                                          \
		BURN(loops(&function##_target, us));                                               \
		NO_TAIL_CALL();                                                                    \
	}

/* Half to one and a half of @us, so that threads do not fall into step. */
HELPER uint64_t about(uint64_t us)
{
	static __thread uint64_t random;

	if (!random)
		random = 88172645463325252ull ^ (uintptr_t)&random;
	return draw(&random, us / 2, us + us / 2);
}

/* One that sleeps as well, as one would that asks another machine. */
#define COMPUTE_AND_NAP(function)                                                                  \
	TARGET(function);                                                                          \
	KEEP void function(uint64_t us, int naps)                                                  \
	{                                                                                          \
		BURN(loops(&function##_target, us));                                               \
		nap(scaled(&function##_target, naps));                                             \
		NO_TAIL_CALL();                                                                    \
	}

HELPER bool run_advances(enum phase from, enum phase to)
{
	return __atomic_compare_exchange_n(&run->phase, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

HELPER void run_becomes(enum phase phase)
{
	__atomic_store_n(&run->phase, phase, __ATOMIC_RELEASE);
}

HELPER enum phase run_phase(void)
{
	return __atomic_load_n(&run->phase, __ATOMIC_ACQUIRE);
}

HELPER bool run_over(void)
{
	return run_phase() == OVER;
}

/* What was counted so far. */
HELPER struct block counts(void)
{
	return (struct block){
		.visits = __atomic_load_n(&run->visits, __ATOMIC_RELAXED),
		.latency_ns = __atomic_load_n(&run->latency_ns, __ATOMIC_RELAXED),
		.latencies = __atomic_load_n(&run->latencies, __ATOMIC_RELAXED),
	};
}

HELPER void begin_block(uint64_t now)
{
	run->began = now;
	if (!run->end)
		run->end = now + options.seconds * NS_PER_S;
	run->before = counts();
	run_becomes(MEASURING);
}

/* A cycle has all scales, in an order of its own. */
HELPER void shuffle_scales(void)
{
	for (int i = run->n_scales - 1; i > 0; i--) {
		int k = draw(&run->random, 0, i);
		int scale = run->scales[i];

		run->scales[i] = run->scales[k];
		run->scales[k] = scale;
	}
}

/* Returns whether that was all. */
HELPER bool choose_scale(uint64_t now)
{
	if (run->next_scale == run->n_scales) {
		if (!run->n_scales || now >= run->end || run->n_blocks + run->n_scales > BLOCKS_MAX)
			return true;
		run->next_scale = 0;
		run->cycle++;
	}
	if (!run->next_scale)
		shuffle_scales();
	__atomic_store_n(&run->scale, run->scales[run->next_scale++], __ATOMIC_RELAXED);
	return false;
}

HELPER void end_block(uint64_t now)
{
	const struct block *before = &run->before;
	struct block block = counts();

	block.scale = run->scale;
	block.ns = now - run->began;
	block.visits -= before->visits;
	block.latency_ns -= before->latency_ns;
	block.latencies -= before->latencies;
	run->blocks[run->n_blocks++] = block;
	if (choose_scale(now)) {
		run_becomes(OVER);
		sem_post(&run->over);
		return;
	}
	run->settled = now + run->settle_ns;
	if (run->settle_ns)
		run_becomes(SETTLING);
	else
		begin_block(now);
}

HELPER bool block_is_long_enough(uint64_t now, uint64_t visits)
{
	if (options.rounds)
		return visits - run->before.visits >= options.rounds;
	return now - run->began >= run->block_ns;
}

/* @border: a block can begin or end here. */
HELPER void count_visit(bool border)
{
	uint64_t visits = __atomic_add_fetch(&run->visits, 1, __ATOMIC_RELAXED);
	uint64_t now = wall_ns();
	enum phase phase = run_phase();

	if (!border)
		return;
	if (phase == SETTLING && now >= run->settled && run_advances(SETTLING, BEGINNING))
		begin_block(now);
	else if (phase == MEASURING && block_is_long_enough(now, visits) &&
		 run_advances(MEASURING, ENDING))
		end_block(now);
}

/* The work of one round is done. @name is the literal that the case is listed with. */
#define PROGRESS_AT(name, border)                                                                  \
	do {                                                                                       \
		count_visit(border);                                                               \
		POINT_PROGRESS(name);                                                              \
	} while (0)
#define PROGRESS(name) PROGRESS_AT(name, true)

HELPER void count_latency(uint64_t begin)
{
	__atomic_fetch_add(&run->latency_ns, wall_ns() - begin, __ATOMIC_RELAXED);
	__atomic_fetch_add(&run->latencies, 1, __ATOMIC_RELAXED);
}

#define CHILDREN_MAX 8

static pid_t children[CHILDREN_MAX];
static int n_children;

/* A process of one thread, which ends with the run. */
HELPER void start_process(void (*body)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		_exit(0);
	}
	children[n_children++] = pid;
}

HELPER void run__create(void)
{
	run = mmap(NULL, sizeof(*run), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run == MAP_FAILED)
		die("mmap");
	sem_init(&run->over, true, 0);
	run->block_ns = options.seconds * NS_PER_S;
	run->settle_ns = SETTLE_NS;
	run->random = wall_ns() | 1;
}

/* Blocks of all scales of @target in turns; of 0 twice as many, all others are compared to it. */
HELPER void run__make_curve(struct target *target)
{
	static const int scales[SCALES_MAX] = {0, 0, 25, 50, 75, 100};
	int n = 0;

	for (int i = 0; i < SCALES_MAX && scales[i] <= MAX_SCALE(target); i++)
		run->scales[n++] = scales[i];
	if (scales[n - 1] < MAX_SCALE(target))
		run->scales[n++] = MAX_SCALE(target);
	run->n_scales = n;
	run->block_ns = BLOCK_NS;
	target->curve = true;
}

HELPER void run__begin(void)
{
	run->settled = wall_ns() + WARM_UP_NS;
	if (run->n_scales)
		choose_scale(0);
}

/* Threads need no end: they end with the process. */
HELPER void run__finish(void)
{
	while (sem_wait(&run->over))
		if (errno != EINTR)
			die("sem_wait");
	for (int i = 0; i < n_children; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

HELPER void print_latency(const struct block *block)
{
	if (block->latencies)
		printf("%.0f", (double)block->latency_ns / block->latencies);
	else
		printf("null");
}

HELPER void print_block(const struct block *block)
{
	printf("{\"scale\": %d, \"visits\": %" PRIu64 ", \"period_ns\": %.0f, \"latency_ns\": ",
	       block->scale, block->visits,
	       (double)block->ns / (block->visits ? block->visits : 1));
	print_latency(block);
	printf("}");
}

/* Of a curve the sums are those of all scales. */
HELPER void run__print(const char *name, const char *point)
{
	struct block sum = {};

	printf("{\"case\": \"%s\"", name);
	for (int i = 0; i < run->n_blocks; i++) {
		const struct block *block = &run->blocks[i];

		sum.ns += block->ns;
		sum.visits += block->visits;
		sum.latency_ns += block->latency_ns;
		sum.latencies += block->latencies;
		if (!run->n_scales)
			continue;
		printf(i ? ", " : ", \"blocks\": [");
		print_block(block);
	}
	printf("%s, \"seconds\": %.6f, \"visits\": {\"%s\": %" PRIu64
	       "}, \"period_ns\": %.0f, \"latency_ns\": ",
	       run->n_scales ? "]" : "", (double)sum.ns / NS_PER_S, point, sum.visits,
	       (double)sum.ns / (sum.visits ? sum.visits : 1));
	print_latency(&sum);
	printf(", \"ns_per_loop\": %.5f, \"disk_reads\": %" PRIu64 "}\n", options.ns_per_loop,
	       run->disk_reads);
}
