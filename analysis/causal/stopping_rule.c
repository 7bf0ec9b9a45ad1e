// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>

#include "analysis/causal/prediction.h"

static bool curve_is_precise(const struct causal_curve *curve, double width)
{
	return curve->shape != CAUSAL_UNSURE && curve->best_high - curve->best_low <= 2 * width;
}

/* Whether @curve is unsure and may be better than @first. */
static bool curve_could_be_best(const struct causal_curve *curve, const struct causal_curve *first)
{
	return curve->shape == CAUSAL_UNSURE && curve->best_high > fmax(first->best_low, 0);
}

/* The curve with the first rank of @point. */
static const struct causal_curve *find_best(const struct causal_effects *effects, uint32_t point)
{
	for (size_t i = 0; i < effects->curves.n; i++)
		if (effects->curves.data[i].point == point)
			return &effects->curves.data[i];
	return NULL;
}

bool stopping_rule__is_met(const struct causal_effects *effects, double width, bool all)
{
	for (size_t i = 0; i < effects->curves.n; i++) {
		const struct causal_curve *curve = &effects->curves.data[i];
		const struct causal_curve *first = find_best(effects, curve->point);

		if ((all || curve == first) && !curve_is_precise(curve, width))
			return false;
		if (!all && curve_could_be_best(curve, first))
			return false;
	}
	return effects->curves.n > 0;
}
