// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs in phases: experiments are made while a target runs, and say what it would gain
 * then. Of the whole run that is only a part.
 *
 *	factor = (t_obs / s_obs) * (s / T)
 *
 * with s_obs of the s samples of a run in experiments that took t_obs of its time T. Here
 * it is taken apart. Experiments in which the target never ran had no virtual speedup, and
 * count as no effect: that part is exact. The rest compares how often the target was
 * sampled in experiments and in the whole run. It is 1 but for chance when experiments
 * are made all the time, so it counts only when it is significantly less.
 */
#include <math.h>

#include "analysis/causal/fit.h"
#include "analysis/causal/series.h"

/* Fewer halves say too little about how much samples scatter. */
#define FEWEST_HALVES 4

/* Less of a difference can be the beginning and the end of a run. */
#define LEAST_DIFFERENCE 0.03

/* How much more rarely the target is sampled in all of its runs than in experiments; at most 1. */
static double group__rarity(const struct causal_group *group, double *error)
{
	double rate, run_rate, rest, factor;

	*error = 0;
	if (group->n < FEWEST_HALVES || !(group->t > 0) || !(group->x > 0) ||
	    group->run_hits < group->x)
		return 1;
	rate = group->x / group->t;
	run_rate = group->run_hits / group->run_time;
	factor = run_rate / rate;
	/* Squares of what halves are off the mean rate. */
	rest = group->xx - 2 * rate * group->tx + rate * rate * group->tt;
	*error = sqrt(fmax(rest, 0) * group->n / (group->n - 1)) / group->x;
	if (factor > 1 - LEAST_DIFFERENCE ||
	    -log(factor) < causal_fit__student(group->n - 1) * *error) {
		*error = 0;
		return 1;
	}
	return factor;
}

void causal_phases__find(struct causal_sorted *sorted)
{
	for (size_t i = 0; i < sorted->groups.n; i++) {
		struct causal_group *group = &sorted->groups.data[i];

		group->factor = group__rarity(group, &group->factor_error);
		if (group->hit && group->time > 0)
			group->factor *= group->active / group->time;
	}
}
