/* SPDX-License-Identifier: BSD-2-Clause */
/* Fits of lines through results, and quantiles. */
#pragma once

#include <stddef.h>

#include "analysis/causal/prediction.h"

/* One result to fit. */
struct fit_point {
	double speedup;
	double value;
	double weight; /* proportional to 1 / variance */
	double n;      /* number of pairs */
};

/* The weighted least-squares line through the origin: its slope, and as a fit. */
double causal_fit__slope(const struct fit_point *points, size_t n);
struct causal_fit causal_fit__straight(const struct fit_point *points, size_t n);

/*
 * The best fit of two lines that meet at a knee, with a smaller slope after it: something else
 * has become critical. The straight line if there is none, or too few results: it takes
 * CAUSAL_SHAPE_RESULTS, and three pairs on either side of the knee (six after it, if they have the
 * same speedup).
 */
struct causal_fit causal_fit__with_knee(const struct fit_point *points, size_t n);

/* The same with slope 0 after the knee. */
struct causal_fit causal_fit__with_plateau(const struct fit_point *points, size_t n);

/* The weighted sum of squared residuals of @fit. */
double causal_fit__residual_squares(const struct causal_fit *fit, const struct fit_point *points,
				    size_t n);

/* The speedup, the knee or @most, at which @fit is largest, or smallest. */
double causal_fit__best_at(const struct causal_fit *fit, double most);
double causal_fit__worst_at(const struct causal_fit *fit, double most);

/* Quantile @p of the standard normal distribution. */
double causal_fit__normal_quantile(double p);

/* Quantile 0.975 of Student's t with @freedom degrees of freedom, which count as at least one. */
double causal_fit__student_97_5(double freedom);

/* Quantile @p, 0 to 1, of @n > 0 sorted @values, interpolated linearly. */
double causal_fit__quantile(const double *values, size_t n, double p);

void causal_fit__sort(double *values, size_t n);
