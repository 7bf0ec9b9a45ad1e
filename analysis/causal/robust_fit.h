/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fit that is robust against outliers among results: all pairs of a speedup can be disturbed if
 * they are few, and only the results of other speedups show it.
 */
#pragma once

#include "analysis/causal/fit.h"

/* A result's uncertainty is proportional to the fitted ratio, but at least to this. */
#define CAUSAL_MIN_RATIO 0.25

/* Cells with this many pairs are never outliers: the curve may not be of the fitted shape. */
#define CAUSAL_MANY_PAIRS 6

/*
 * Sets the weights of @n points: their number of pairs, divided by the variance at the fitted value
 * (at their own value, low ones would count more), times a robust weight. *@fit is the last fit.
 * 0 or -ENOMEM.
 */
int robust_fit__weigh(struct fit_point *points, size_t n, struct causal_fit *fit);

/* The ratio of periods that @fit has at @speedup, at least CAUSAL_MIN_RATIO. */
double robust_fit__ratio(const struct causal_fit *fit, double speedup);
