// SPDX-License-Identifier: BSD-2-Clause
/*
 * Programs with phases: experiments are made while a target runs, and measure its effect in that
 * time. The effect on the whole run is smaller, by Coz's
 *
 *	factor = (t_obs / s_obs) * (s / T)
 *
 * where s_obs of the s samples of a run of time T were in experiments, which took time t_obs.
 * Here the factor has two parts. Experiments in which the target never ran had no virtual speedup
 * and count as no effect: that part is exact. The other part compares how often the target was
 * sampled in the remaining experiments and in the whole run. It is 1 except for chance if
 * experiments are made all the time, so it is used only if it is significantly below 1.
 */
#include <math.h>

#include "analysis/causal/fit.h"
#include "analysis/causal/series.h"

/* With fewer halves, the error of the sampling rate is unknown. */
#define MIN_HALVES 4

/* A smaller difference can be due to the beginning and end of a run. */
#define MIN_DIFFERENCE 0.03

/*
 * The rate of the target's samples in whole runs / in experiments, if significantly below 1; else
 * 1. *@error is its relative error.
 */
static double group_sampling_factor(const struct causal_group *group, double *error)
{
	double rate, run_rate, residual_squares, factor;

	*error = 0;
	if (group->n < MIN_HALVES || !(group->t > 0) || !(group->x > 0) ||
	    group->run_hits < group->x)
		return 1;
	rate = group->x / group->t;
	run_rate = group->run_hits / group->run_time;
	factor = run_rate / rate;
	/* Of the samples of each half, with the mean rate. */
	residual_squares = group->xx - 2 * rate * group->tx + rate * rate * group->tt;
	*error = sqrt(fmax(residual_squares, 0) * group->n / (group->n - 1)) / group->x;
	if (factor > 1 - MIN_DIFFERENCE ||
	    -log(factor) < causal_fit__student_97_5(group->n - 1) * *error) {
		*error = 0;
		return 1;
	}
	return factor;
}

void causal_phases__find(struct causal_series_set *set)
{
	for (size_t i = 0; i < set->groups.n; i++) {
		struct causal_group *group = &set->groups.data[i];

		group->factor = group_sampling_factor(group, &group->factor_error);
		if (group->hit && group->time > 0)
			group->factor *= group->active / group->time;
	}
}
