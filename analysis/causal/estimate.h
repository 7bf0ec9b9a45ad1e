/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From pairs of halves to the ratios of cells, and how far those are off.
 *
 * A cell's ratio is Mantel and Haenszel's ratio of rates over its pairs: what the machine
 * does to both halves of a pair cancels, halves without a visit are no trouble, and
 * nothing is divided by what one half alone has seen. Of whole runs, mean periods are compared
 * in the same way, command by command.
 *
 * The errors of single pairs are kept, and drawn from: experiments of one speedup are often
 * too few to be resampled by themselves.
 */
#pragma once

#include "analysis/causal/random.h"
#include "analysis/causal/series.h"

/* Relative errors of pairs, to draw from. */
struct causal_noise {
	const double *own; /* of the series */
	size_t n_own;
	const double *others; /* of all series of the point */
	size_t n_others;
	double own_part; /* how often to draw from the first */
	double widen;	 /* Student's t instead of the normal distribution: errors are few */
	double sigma;	 /* standard deviation of a draw, widened */
};

struct causal_errors {
	ARRAY(double) errors;
	double freedom;
};

struct causal_estimates {
	struct causal_errors *pools; /* of all series that have a point in common */
	size_t n_pools;
};

/* Weighs the pairs of all series, and finds the ratios of their cells. 0 or -ENOMEM. */
int causal_estimates__make(struct causal_sorted *sorted, size_t n_points, uint64_t min_visits,
			   struct causal_estimates *estimates);
void causal_estimates__free(struct causal_estimates *estimates);

/* What the errors of @series are drawn from. Valid as long as @estimates. */
struct causal_noise causal_noise__of(const struct causal_estimates *estimates,
				     const struct causal_series *series);

/* The mean of @n errors. */
double causal_noise__mean(const struct causal_noise *noise, size_t n, struct causal_random *random);
