/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the cases of `causal` consist of: work of which a part can be left out, visits of
 * progress points, which the program counts itself, and processes that end with the run.
 *
 * A run measures in blocks, after a warm-up: one block as long as the run, or, for a curve,
 * many short ones with different scales of one target. A cycle of blocks has every scale, in
 * random order. Times are in ns. All counts lie in memory that processes share.
 */
#pragma once

#include "tests/programs/common/program.h"

#include <semaphore.h>

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

#define BLOCKS_MAX 4096
#define SCALES_MAX 6

struct options {
	double seconds;
	uint64_t rounds; /* visits to measure; 0: until the seconds are over */
	double ns_per_loop;
	const char *dir;
};

extern struct options options;

/* What can be sped up: a function, or a class of waits. */
struct target {
	const char *name;
	const char *class; /* what dwell calls it; NULL: a function */
	const char *file;  /* where the function's work is, on one line */
	int line;
	int max;    /* the largest percentage that the program can leave out; 0: 100 */
	int scale;  /* percentage of its work that is left out */
	bool curve; /* run->scale instead of that */
};

/* What was measured with one scale. */
struct block {
	int scale; /* of the target whose curve is measured */
	uint64_t visits;
	uint64_t ns;
	uint64_t latency_ns; /* sum of the latencies that ended */
	uint64_t latencies;
};

/* The thread that advances to BEGINNING begins the block; the one to ENDING ends it. */
enum phase { SETTLING, BEGINNING, MEASURING, ENDING, OVER };

struct run {
	int scale; /* at present, of the target whose curve is measured */
	uint64_t settle_ns;
	uint64_t block_ns;
	enum phase phase;
	uint64_t settled; /* when the next block may begin */
	uint64_t began;	  /* the block */
	uint64_t end;	  /* the run ends with the first cycle that is complete after it */
	sem_t over;

	uint64_t visits; /* since the start, like the two below */
	uint64_t latency_ns, latencies;
	struct block before; /* these three at the start of the block */
	uint64_t disk_reads; /* Causal.pm subtracts them from the disk's */

	int scales[SCALES_MAX]; /* in the order of the present cycle */
	int n_scales;		/* 0: no curve */
	int next_scale;
	uint64_t random;
	uint64_t cycle; /* number */
	int n_blocks;
	struct block blocks[BLOCKS_MAX];
};

extern struct run *run;

/* Sleeps: class other. */
extern struct target other_target;

#define TARGET(function)                                                                           \
	static struct target function##_target = {                                                 \
		.name = #function, .file = __FILE__, .line = __LINE__}

/*
 * A function that computes for @us of CPU time, less what its target leaves out. All its work
 * is on the line of the macro.
 */
#define COMPUTE(function)                                                                          \
	TARGET(function);                                                                          \
	KEEP void function(uint64_t us)                                                            \
	{                                                                                          \
		BURN(target__loops(&function##_target, us));                                       \
		NO_TAIL_CALL();                                                                    \
	}

/* The same, with @naps sleeps of 0.4 ms, as if it waited for another machine. */
#define COMPUTE_AND_NAP(function)                                                                  \
	TARGET(function);                                                                          \
	KEEP void function(uint64_t us, int naps)                                                  \
	{                                                                                          \
		BURN(target__loops(&function##_target, us));                                       \
		nap(target__part(&function##_target, naps));                                       \
		NO_TAIL_CALL();                                                                    \
	}

/* The largest percentage of its work that can be left out. */
int target__max(const struct target *target);

/* The percentage of its work that is left, at present. */
int target__percent_left(const struct target *target);

/* Turns of BURN() for what is left of @us of CPU time. */
uint64_t target__loops(const struct target *target, uint64_t us);

/*
 * How many of @n operations are left: exact when 100 divides @n times the percentage, rounded
 * otherwise.
 */
int target__part(const struct target *target, int n);

/*
 * Sleeps for what other_target leaves of @ns. The class leaves out sleeping time, to 1 ns at
 * 100 %. A function's target leaves out whole sleeps, with their cost of 30 to 50 us for the
 * timer interrupt and the switch.
 */
void scaled_sleep(uint64_t ns);

/* Sleeps @times times for 0.4 ms, each by scaled_sleep(). */
void nap(int times);

/* A random time from half of @us to one and a half, so that threads do not run in lockstep. */
uint64_t randomized(uint64_t us);

/* Creates the shared memory. Before all other functions. */
void run__create(void);

/* Measures blocks with all scales of @target in turn; twice as many with scale 0. */
void run__make_curve(struct target *target);

/* The warm-up begins. */
void run__begin(void);

bool run__over(void);

/* Waits for the end of the run, and ends the processes. Threads end with the program. */
void run__finish(void);

/* Prints the result as one line of JSON; @point is the name of the progress point. */
void run__print(const char *name, const char *point);

/* Runs @body in a process of its own, until the run is over. */
void run__start_process(void (*body)(void));

/* Counts a visit. A block can begin or end at it if @border is true. */
void run__count_visit(bool border);

/* Counts a latency that began at @begin and ends now. */
void run__count_latency(uint64_t begin);

/* The work of one round is done. @name is a literal: the point of the case in the list. */
#define PROGRESS_AT(name, border)                                                                  \
	do {                                                                                       \
		run__count_visit(border);                                                          \
		POINT_PROGRESS(name);                                                              \
	} while (0)
#define PROGRESS(name) PROGRESS_AT(name, true)
