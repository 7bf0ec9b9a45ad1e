/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In which functions runs were that no sample fell into. A run that is shorter than the sampling
 * period is sampled seldom, but the thread runs again and again between the same two waits: the
 * samples of all these runs, a group, tell how their time divides among functions.
 *
 * The runs of a group are those of one thread between the same two places, each the user stack
 * (without one, the kernel stack) and the system call of an interval. Preemptions in user mode are
 * no places, as they come anywhere: runs that only they separate are in the same group.
 *
 * A sampling point hits each instant of the runs with the same probability. But runs without a
 * sample are shorter than those that have one, and short runs may be in other functions. So a
 * sample stands for as much time of runs without one as there is, on average, for each sample of a
 * run of that length (Horvitz and Thompson): the period, times the chance that such a run has none.
 * The share p of a function in these weights of n samples estimates its share of the time without a
 * sample, T: p * T, with the standard error T * sqrt(p * (1 - p) / n). T is exact. As n may be
 * small, the error is that of the posterior mean with a uniform prior, which is not 0 for p = 0 and
 * 1. If weights w differ, n = (sum of w)^2 / (sum of w^2).
 */
#pragma once

#include "analysis/kinds/kinds.h"

/* What samples stand for. */
struct run_weight {
	uint64_t points;    /* of all runs: sampling points */
	uint64_t unsampled; /* of runs without a sample: ns, on average */
};

static inline void run_weight__add(struct run_weight *sum, const struct run_weight *weight)
{
	sum->points += weight->points;
	sum->unsampled += weight->unsampled;
}

/* Samples of the same stacks. */
struct run_share {
	uint32_t kernel; /* stack */
	uint32_t user;	 /* stack */
	struct run_weight weight;
	uint64_t before; /* weight.unsampled of the shares of the group before this one */
};

struct run_group {
	uint32_t thread;
	uint32_t before; /* user stacks of the places before and after it; 0: none */
	uint32_t after;
	size_t first; /* in the shares of run_groups__shares() */
	size_t n;     /* 0: no sample */
	size_t most;  /* share with the largest weight.unsampled, from first on */
	struct run_weight weight;
	uint64_t memory;       /* part of weight.unsampled: reclaiming or compacting memory */
	double points_squared; /* sums over samples */
	double unsampled_squared;
};

struct run_groups;

/*
 * 0 or -ENOMEM. @model and @kinds must outlive it. @kinds may be NULL; then run_group.memory is 0.
 */
int run_groups__new(const struct model *model, struct kinds *kinds, struct run_groups **out);
void run_groups__free(struct run_groups *groups);

/*
 * Sets *@group to the number of the group of the run of @thread before interval number @next (or
 * after the last one), from 1; 0: it has no sample, or is no run. 0 or -ENOMEM.
 */
int run_groups__find(struct run_groups *groups, uint32_t thread, size_t next, uint32_t *group);

/* By number. Valid until the next run_groups__find(). */
const struct run_group *run_groups__at(const struct run_groups *groups, uint32_t group);
const struct run_share *run_groups__shares(const struct run_groups *groups, uint32_t group);

/*
 * The variance, in ns^2, of the time that functions with @weight of the samples of @group seem to
 * have of its runs: of @ns by their share, and of @sampled_ns because @samples of these fell into
 * them.
 */
double run_group__variance(const struct run_group *group, const struct run_weight *weight,
			   uint64_t ns, uint64_t sampled_ns, uint64_t samples);

/*
 * Which share of @group the next run of @ns gets if each run is to have one stack only: over many
 * runs, the time of each share differs from what is due to it by at most log2(n) + 1 times the
 * longest run. @given: group->n elements, 0 at first, which only this function uses. Takes
 * O(log n).
 */
size_t run_group__next(const struct run_group *group, const struct run_share *shares,
		       uint64_t *given, uint64_t ns);
