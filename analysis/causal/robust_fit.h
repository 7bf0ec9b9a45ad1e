/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results that fit their curve, and some that do not: where a speedup has few pairs, they can
 * all be ruined at once, and only the other speedups show it.
 */
#pragma once

#include "analysis/causal/fit.h"

/* Below it, the ratio that a fit has says no more how uncertain a result is. */
#define CAUSAL_LEAST_RATIO 0.25

/* Cells of so many pairs are right even when the curve is no such line as is fitted to them. */
#define CAUSAL_MANY_PAIRS 6

/*
 * Weighs @n dots by their pairs, by how uncertain those are where the fit is (not where the
 * dot is: low ones would count more), and by whether they fit the others. *@fit is the last
 * fit. 0 or -ENOMEM.
 */
int robust_fit__weigh(struct fit_point *dots, size_t n, struct causal_fit *fit);

/* What is left of the period at @speedup by @fit, but at least CAUSAL_LEAST_RATIO. */
double robust_fit__ratio(const struct causal_fit *fit, double speedup);
