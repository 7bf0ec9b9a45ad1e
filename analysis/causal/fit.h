/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines through results, and what of statistics they take. */
#pragma once

#include <stddef.h>

#include "analysis/causal/prediction.h"

/* One result to fit. */
struct fit_point {
	double speedup;
	double value;
	double weight; /* 1 / variance, but for a factor */
	double n;      /* pairs it is made of */
};

/* The line through the origin with the least weighted squares: its slope, and as a fit. */
double causal_fit__slope(const struct fit_point *dots, size_t n);
struct causal_fit causal_fit__straight(const struct fit_point *dots, size_t n);

/*
 * The two such lines that meet at a knee, behind which the curve rises less than before, or
 * falls: something else has become critical. Straight when there is none, or when there
 * are too few dots for it: four, and on either side some that do not hang on one pair.
 */
struct causal_fit causal_fit__bent(const struct fit_point *dots, size_t n);

/* The same, but level behind the knee: then its height is what all dots there say. */
struct causal_fit causal_fit__level(const struct fit_point *dots, size_t n);

/* The weighted sum of squares that @fit leaves over. */
double causal_fit__rest(const struct causal_fit *fit, const struct fit_point *dots, size_t n);

/* The speedup, of 0 to @most, at which @fit is largest, or smallest. */
double causal_fit__best_at(const struct causal_fit *fit, double most);
double causal_fit__worst_at(const struct causal_fit *fit, double most);

/* The value below which a part @p of a normal distribution lies. */
double causal_fit__normal(double p);

/* What 1.96 is of a normal distribution, by Student's with @freedom degrees; at least one. */
double causal_fit__student(double freedom);

/* What is at the place @p, 0 to 1, of sorted @values; in between, in between. */
double causal_fit__quantile(const double *values, size_t n, double p);

/* Puts @values in order. */
void causal_fit__sort(double *values, size_t n);
