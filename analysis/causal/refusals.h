/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which estimates rest on nothing, by evidence from the run, and says why. They get no
 * curve. docs/causal-statistics.md has the thresholds and their reasons.
 */
#pragma once

#include "analysis/causal/series.h"

/* With fewer pause tests, nothing is concluded from them. */
#define CAUSAL_MIN_PAUSE_TESTS 2

/* What pauses without a speedup did to a point; see struct causal_pause_test. */
struct causal_pause_response {
	bool known;
	double share; /* of the time that was paused */
	double gain;  /* program speedup / share: 0 if all that matters was paused, 1 if nothing */
	double low, high; /* 95 % interval of gain */
};

/* Refuses targets without a sample. 0 or -ENOMEM. */
int causal_refusals__find_not_hit(struct causal_effects *effects,
				  const struct causal_series_set *set);

/*
 * Whether to refuse @curve, made of @series: then adds the reason to @effects. @response
 * is that of the curve's point. 1 or 0, or -ENOMEM.
 */
int causal_refusals__check(struct causal_effects *effects, const struct causal_series *series,
			   const struct causal_curve *curve,
			   const struct causal_pause_response *response);

/* Finds requested targets and speedups without a result. Called when the curves are known. 0 or
 * -ENOMEM. */
int causal_refusals__find_empty(struct causal_effects *effects);
