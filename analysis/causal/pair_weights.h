/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Robust weights of pairs. On a shared machine some halves of experiments are disturbed, because
 * other work had the CPU. So pairs are weighted by Tukey's biweight of the log of their ratio
 * around the center of their cell. The scale is that of all residuals of the series, or, when it
 * has few, of all series of the point.
 */
#pragma once

#include "analysis/causal/series.h"

/* Replaces times by spans where these are known, and weights all pairs. 0 or -ENOMEM. */
int causal_series_set__weigh(struct causal_series_set *set, size_t n_points);

/*
 * The number of pairs of @cell from pair @from on that can be compared with it: all pairs of
 * halves; of whole runs, those of the same command.
 */
size_t causal_cell__comparable(const struct causal_series *series, const struct causal_cell *cell,
			       size_t from);

/* Index of the pool of series that share residuals and errors: less than 2 * points. */
static inline size_t causal_series__pool(const struct causal_series *series)
{
	return 2 * (size_t)series->point + series->whole_run;
}

/*
 * Tukey's biweights, 0 to 1, of @n @values with the given @scale around their center; all 1 if
 * there are fewer than three, or if the weights' mean would be below 0.5. NANs have weight 0.
 */
void causal_biweights__find(const double *values, double *weights, size_t n, double scale);

/*
 * A robust scale of @n @residuals, whose order and signs are lost: the standard deviation if they
 * are normal. Up to a sixth of them on either side can be outliers. INFINITY if there are none.
 */
double causal_residuals__scale(double *residuals, size_t n);
