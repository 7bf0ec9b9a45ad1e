/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ratios of cells, estimated from pairs of halves, and their errors.
 *
 * A cell's ratio is the Mantel-Haenszel ratio of rates over its pairs: the common speed of both
 * halves of a pair cancels, halves without a visit still count, and there is no division by the
 * visits or time of a single half. Of whole runs, mean periods are compared in the same way,
 * command by command.
 *
 * The bootstrap draws from the errors of single pairs, because a cell often has too few experiments
 * to be resampled individually.
 */
#pragma once

#include "analysis/causal/series.h"
#include "base/random.h"

/* Relative errors of pairs, to draw from. */
struct causal_noise {
	const double *own; /* errors of the series */
	size_t n_own;
	const double *others; /* errors of all series of the point */
	size_t n_others;
	double own_share; /* probability of drawing from `own` */
	double t_factor;  /* draws are multiplied by it: Student's t / normal quantile */
	double sigma;	  /* standard deviation of a draw, t_factor included */
};

struct causal_errors {
	ARRAY(double) errors;
	double freedom; /* their degrees of freedom */
};

struct causal_estimates {
	struct causal_errors *pools; /* by causal_series__pool() */
	size_t n_pools;
};

/*
 * Weights the pairs of all series and estimates the ratios of their cells: NAN, except of whole
 * runs, with fewer visits than @min_visits. 0 or -ENOMEM; @estimates must be freed in either case.
 */
int causal_estimates__make(struct causal_series_set *set, size_t n_points, uint64_t min_visits,
			   struct causal_estimates *estimates);
void causal_estimates__free(struct causal_estimates *estimates);

/* The errors that @series draws from. Valid as long as @estimates and @series. */
struct causal_noise causal_noise__of(const struct causal_estimates *estimates,
				     const struct causal_series *series);

/* The mean of @n errors, drawn at random. */
double causal_noise__mean(const struct causal_noise *noise, size_t n, struct random *random);
