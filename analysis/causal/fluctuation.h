/* SPDX-License-Identifier: BSD-2-Clause */
/* How much the speed of a program varies by itself from half to half of experiments. */
#pragma once

#include "analysis/causal/series.h"

/*
 * The standard deviation of the logarithm of the speed between two halves, beyond what counting of
 * visits explains; 0: unknown, NAN: no memory. Of the pairs of
 * @series around @curve; where they are few, of the halves without a speedup of all experiments.
 */
double causal_fluctuation__find(const struct causal_effects *effects,
				const struct causal_series *series,
				const struct causal_curve *curve);
