/* SPDX-License-Identifier: BSD-2-Clause */
/* Fits a curve to the cells of a series. */
#pragma once

#include "analysis/causal/estimate.h"

struct causal_curve_options {
	uint32_t resamples;
	uint64_t seed;
};

/*
 * Fills in @curve from @series, except sure and shape, which depend on the number of curves. It
 * has no results if no cell has enough visits. @group is NULL for whole runs. 0 or -ENOMEM;
 * curve->results must be freed in either case.
 */
int causal_curve__make(const struct causal_series *series, const struct causal_group *group,
		       const struct causal_noise *noise, const struct causal_curve_options *options,
		       struct causal_curve *curve);

/*
 * Computes the significance and shape of @curve, which causal_curve__make() made of the same
 * arguments, corrected for testing @n curves. 0 or -ENOMEM.
 */
int causal_curve__judge(const struct causal_series *series, const struct causal_noise *noise,
			const struct causal_curve_options *options, size_t n,
			struct causal_curve *curve);
