// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/prediction.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/causal/builds.h"
#include "analysis/causal/curve.h"
#include "analysis/causal/problems.h"
#include "analysis/causal/refusals.h"
#include "base/error.h"

static const char *const shapes[] = {
	[CAUSAL_NO_EFFECT] = "no-effect", [CAUSAL_GAIN] = "gain",
	[CAUSAL_PLATEAU] = "plateau",	  [CAUSAL_CONTENTION] = "contention",
	[CAUSAL_UNSURE] = "unsure",
};

const char *causal_shape__name(enum causal_shape shape)
{
	return shapes[shape];
}

/*
 * Position in the order of curves; 0 is first. Of the unsure ones, those whose interval includes 0
 * come after the others.
 */
static int curve_place(const struct causal_curve *curve)
{
	static const int places[] = {
		[CAUSAL_GAIN] = 0,   [CAUSAL_PLATEAU] = 0,   [CAUSAL_CONTENTION] = 1,
		[CAUSAL_UNSURE] = 2, [CAUSAL_NO_EFFECT] = 4,
	};

	return places[curve->shape] + (curve->shape == CAUSAL_UNSURE && curve->best_low <= 0);
}

/* Sort key of curves with the same position, largest first. */
static double curve_rank(const struct causal_curve *curve)
{
	switch (curve->shape) {
	case CAUSAL_GAIN:
	case CAUSAL_PLATEAU:
		return curve->sure;
	case CAUSAL_CONTENTION:
		return -curve->slope_high;
	default:
		return curve->best;
	}
}

static int compare_curves(const void *left, const void *right)
{
	const struct causal_curve *a = left, *b = right;
	int place = curve_place(a) - curve_place(b);
	double rank_a = curve_rank(a), rank_b = curve_rank(b);

	if (place)
		return place;
	if (rank_a > rank_b || rank_a < rank_b)
		return rank_a > rank_b ? -1 : 1;
	return a->target != b->target ? (a->target > b->target ? 1 : -1)
				      : (a->point > b->point) - (a->point < b->point);
}

/* The state of causal__effects(). */
struct finding {
	struct causal_effects *effects;
	const struct causal_options *options;
	struct causal_series_set set;
	struct causal_estimates estimates;
	ARRAY(uint32_t) made_of;		 /* by curve: index of its series */
	struct causal_pause_response *responses; /* by point */
};

static struct causal_curve_options options_for(const struct finding *finding, size_t index)
{
	const struct causal_options *options = finding->options;

	return (struct causal_curve_options){
		.resamples = options->resamples ? options->resamples : CAUSAL_RESAMPLES,
		.seed = hash__add(options->seed, index),
	};
}

/* Finds what pauses without a speedup do to the point of pause tests. */
static int finding_respond(struct finding *finding, uint32_t index)
{
	const struct causal_series *series = &finding->set.series.data[index];
	const struct causal_noise noise = causal_noise__of(&finding->estimates, series);
	const struct causal_curve_options options = options_for(finding, index);
	struct causal_curve curve;
	int err = causal_curve__make(series, NULL, &noise, &options, &curve);

	if (!err && curve.results.n)
		finding->responses[series->point] = (struct causal_pause_response){
			.known = curve.experiments >= CAUSAL_MIN_PAUSE_TESTS,
			.share = curve.results.data[0].speedup,
			.gain = curve.slope,
			.low = curve.slope_low,
			.high = curve.slope_high,
		};
	array__free(&curve.results);
	return err;
}

static int finding_add(struct finding *finding, uint32_t index)
{
	const struct causal_series *series = &finding->set.series.data[index];
	const struct causal_noise noise = causal_noise__of(&finding->estimates, series);
	const struct causal_curve_options options = options_for(finding, index);
	const struct causal_group *group =
		series->whole_run ? NULL : &finding->set.groups.data[series->group];
	struct causal_curve curve;
	int err;

	if (series->target == UINT32_MAX || series->target == CAUSAL_PAUSE_TESTS ||
	    (group && !group->hit))
		return 0;
	err = causal_curve__make(series, group, &noise, &options, &curve);
	if (!err && curve.results.n)
		err = causal_refusals__check(finding->effects, series, &curve,
					     &finding->responses[series->point]);
	if (err > 0) {
		array__free(&curve.results);
		return 0;
	}
	if (!err && curve.results.n) {
		err = array__reserve(&finding->made_of, 1);
		err = err ? err : array__push(&finding->effects->curves, curve);
		if (!err)
			finding->made_of.data[finding->made_of.n++] = index;
	}
	if (err || !curve.results.n)
		array__free(&curve.results);
	return err;
}

static int finding_judge(struct finding *finding)
{
	struct causal_effects *effects = finding->effects;
	int err = 0;

	for (size_t i = 0; i < effects->curves.n && !err; i++) {
		uint32_t index = finding->made_of.data[i];
		const struct causal_series *series = &finding->set.series.data[index];
		const struct causal_noise noise = causal_noise__of(&finding->estimates, series);
		const struct causal_curve_options options = options_for(finding, index);

		err = causal_curve__judge(series, &noise, &options, effects->curves.n,
					  &effects->curves.data[i]);
	}
	if (effects->curves.n)
		qsort(effects->curves.data, effects->curves.n, sizeof(*effects->curves.data),
		      compare_curves);
	return err;
}

static int effects_find(struct causal_effects *effects, const struct causal_options *options)
{
	const struct causal_profile *profile = effects->profile;
	struct finding finding = {.effects = effects, .options = options};
	int err = causal_builds__select(effects, options->build);

	finding.responses = calloc(profile->points.n + 1, sizeof(*finding.responses));
	if (!finding.responses)
		err = -ENOMEM;
	err = err ? err
		  : causal_series_set__make(profile, effects->left_out, options->point,
					    &finding.set);
	err = err ? err
		  : causal_estimates__make(&finding.set, profile->points.n, options->min_visits,
					   &finding.estimates);
	if (!err)
		causal_phases__find(&finding.set);
	err = err ? err : causal_refusals__find_not_hit(effects, &finding.set);
	for (uint32_t i = 0; i < finding.set.series.n && !err; i++)
		if (finding.set.series.data[i].target == CAUSAL_PAUSE_TESTS)
			err = finding_respond(&finding, i);
	for (uint32_t i = 0; i < finding.set.series.n && !err; i++)
		err = finding_add(&finding, i);
	err = err ? err : finding_judge(&finding);
	err = err ? err : causal_refusals__find_empty(effects);
	err = err ? err : causal_problems__find(effects, &finding.set, options);
	free(finding.responses);
	array__free(&finding.made_of);
	causal_estimates__free(&finding.estimates);
	causal_series_set__free(&finding.set);
	return err;
}

/* -ENOENT, with a list of points as a hint, if there is no point @name. */
static int check_point(const struct causal_profile *profile, const char *name)
{
	char known[512] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < profile->points.n; i++) {
		const char *other = profile->points.data[i].name;

		if (!strcmp(other, name))
			return 0;
		if (n < sizeof(known))
			n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "",
					      other);
	}
	error__set(-ENOENT, "there is no progress point '%s' in the profile", name);
	error__hint("%s%s", n ? "There are: " : "There is none at all in it.", known);
	return -ENOENT;
}

int causal__effects(const struct causal_profile *profile, const struct causal_options *options,
		    struct causal_effects **out)
{
	_cleanup_causal_effects_ struct causal_effects *effects = calloc(1, sizeof(*effects));
	int err = 0;

	if (!effects)
		return -ENOMEM;
	effects->profile = profile;
	if (options->point)
		err = check_point(profile, options->point);
	err = err ? err : effects_find(effects, options);
	if (err)
		return err;
	*out = TAKE_PTR(effects);
	return 0;
}

void causal_effects__free(struct causal_effects *effects)
{
	for (size_t i = 0; i < effects->curves.n; i++)
		array__free(&effects->curves.data[i].results);
	for (size_t i = 0; i < effects->problems.n; i++)
		free(effects->problems.data[i].text);
	for (size_t i = 0; i < effects->refusals.n; i++)
		free(effects->refusals.data[i].text);
	array__free(&effects->curves);
	array__free(&effects->refusals);
	array__free(&effects->empty);
	free(effects->left_out);
	array__free(&effects->problems);
	free(effects);
}
