/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which pairs fit the others of their cell. On a machine that is shared, some halves of
 * experiments are ruined: somebody else had the CPU. A pair weighs less the farther it is
 * off, by Tukey's biweight. How far pairs scatter is measured over all cells of a series,
 * or of all series of a point when it has few.
 */
#pragma once

#include "analysis/causal/series.h"

/* Decides what times are taken, and weighs all pairs. 0 or -ENOMEM. */
int causal_sorted__weigh(struct causal_sorted *sorted, size_t n_points);

/*
 * How many pairs of @cell are alike from its @from-th on: in pairs of halves all, of whole runs
 * those of one command.
 */
size_t causal_cell__alike(const struct causal_series *series, const struct causal_cell *cell,
			  size_t from);

/* The number of what series have their scatter in common with @series: below twice the points. */
static inline size_t causal_series__pool(const struct causal_series *series)
{
	return 2 * (size_t)series->point + series->whole_run;
}

/*
 * The weights, from 0 to 1, of @n @values that scatter by @scale around their middle; all
 * 1 when they are fewer than three. NANs weigh 0.
 */
void causal_weights__find(const double *values, double *weights, size_t n, double scale);

/*
 * How far values scatter, from @n @deviations off the middle of their cell, which it puts in
 * another order: the standard deviation, if they are normal. A sixth of them to
 * either side can be anything. INFINITY when there are none.
 */
double causal_deviations__scale(double *deviations, size_t n);
