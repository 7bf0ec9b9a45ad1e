/* SPDX-License-Identifier: BSD-2-Clause */
/* From the cells of a series to its curve. */
#pragma once

#include "analysis/causal/estimate.h"

struct causal_curve_options {
	uint32_t resamples;
	uint64_t seed;
};

/*
 * Fills @curve from @series, but for what takes all curves to tell: sure, and the shape.
 * It has no results when there is none with visits enough. 0 or -ENOMEM.
 */
int causal_curve__make(const struct causal_series *series, const struct causal_group *group,
		       const struct causal_noise *noise, const struct causal_curve_options *options,
		       struct causal_curve *curve);

/*
 * Finds what is sure of @curve, which was made of the same, and its shape; it is one of @n
 * curves. 0 or -ENOMEM.
 */
int causal_curve__judge(const struct causal_series *series, const struct causal_noise *noise,
			const struct causal_curve_options *options, size_t n,
			struct causal_curve *curve);
