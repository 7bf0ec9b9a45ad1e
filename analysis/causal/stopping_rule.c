// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>

#include "analysis/causal/prediction.h"

/* After so many experiments of targets chosen at random that are refused, others would be, too. */
#define MIN_REFUSED 50

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

/* Whether more experiments of the same kind cannot change @kind into a prediction. */
static bool is_lasting(enum causal_refusal_kind kind)
{
	switch (kind) {
	case CAUSAL_REFUSED_PROBE:
	case CAUSAL_REFUSED_UNPAUSABLE:
	case CAUSAL_REFUSED_OPEN_LOAD:
	case CAUSAL_REFUSED_IO:
	case CAUSAL_REFUSED_TIMERS:
		return true;
	case CAUSAL_REFUSED_NOT_HIT:
	case CAUSAL_REFUSED_FLUCTUATION:
	case CAUSAL_REFUSED_UNTESTED:
		break;
	}
	return false;
}

/* Whether nothing will be predicted: all targets that run are refused for what lasts. */
static bool all_are_refused(const struct causal_effects *effects, bool all)
{
	size_t n = 0;

	for (size_t i = 0; i < effects->refusals.n; i++) {
		enum causal_refusal_kind kind = effects->refusals.data[i].kind;

		if (kind == CAUSAL_REFUSED_NOT_HIT)
			continue;
		if (!is_lasting(kind))
			return false;
		n++;
	}
	return n && !effects->empty.n && (all || effects->profile->experiments.n >= MIN_REFUSED);
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
	return effects->curves.n > 0 || all_are_refused(effects, all);
}
