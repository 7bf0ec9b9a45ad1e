// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/causal/robust_fit.h"
#include "analysis/causal/fit.h"

/*
 * By how much a knee has to reduce the residual squares, in variances of a pair. It has two more
 * parameters than a straight line, one of them searched for: 2 % of straight lines have one by
 * chance.
 */
#define KNEE_MIN_GAIN 9.0

/* By how much a slope after the knee has to reduce them, compared with a plateau. */
#define SLOPE_MIN_GAIN 4.0

/* Slope after a plateau's knee, at most, as a part of the slope before it. */
#define PLATEAU_MAX_SLOPE 0.25

/* A plateau begins at most at this part of the largest speedup tried. */
#define PLATEAU_MAX_KNEE 0.9

/* The probability that any curve without effect of a profile seems to have one. */
#define FALSE_ALARM_RATE 0.01

/* From this many experiments on, the slope's error is normal, in the tails as well. */
#define NORMAL_EXPERIMENTS 100

/* Resamplings for a tail quantile: this many should be beyond it. */
#define TAIL_RESAMPLES 10
#define MAX_RESAMPLES  200000

/* With fewer, a curve is unsure. */
#define MIN_EXPERIMENTS 5
#define MIN_WHOLE_RUNS	3

/* The estimates of all resamplings, an array for each. */
struct resampled {
	double *results; /* one array after the other, by result */
	double *slope;
	double *best;
	double *worst;
	double *knee;	     /* the value at the knee */
	double *slope_after; /* as a part of the slope before the knee */
};

struct builder {
	const struct causal_series *series;
	const struct causal_noise *noise;
	struct causal_curve *curve;
	ARRAY(const struct causal_cell *) cells; /* of each result */
	ARRAY(struct fit_point) points;
	ARRAY(double) errors; /* as causal_cell.error, of each result */
	struct causal_fit (*fit)(const struct fit_point *points, size_t n);
	double last; /* the largest speedup tried */
	size_t resamples;
};

static int builder_add(struct builder *builder, const struct causal_cell *cell)
{
	struct causal_curve *curve = builder->curve;
	const struct fit_point point = {cell->speedup, 1 - cell->ratio, 0, (double)cell->n};
	const struct causal_result result = {
		.speedup = cell->speedup,
		.experiments = cell->n,
		.disturbed = cell->disturbed,
		.visits = cell->visits,
	};

	if (array__push(&builder->cells, cell) || array__push(&builder->points, point) ||
	    array__push(&builder->errors, cell->error) || array__push(&curve->results, result))
		return -ENOMEM;
	curve->experiments += cell->n;
	curve->disturbed += cell->disturbed;
	curve->visits += cell->visits;
	builder->last = cell->speedup;
	return 0;
}

static int builder_weigh(struct builder *builder)
{
	struct causal_fit fit;
	int err = robust_fit__weigh(builder->points.data, builder->points.n, &fit);

	/* A result that is too low by chance is not more certain for that. */
	for (size_t i = 0; i < builder->points.n && !err; i++)
		if (builder->cells.data[i]->n < CAUSAL_MANY_PAIRS)
			builder->errors.data[i] =
				fmax(builder->cells.data[i]->error,
				     robust_fit__ratio(&fit, builder->cells.data[i]->speedup));
	return err;
}

/* Chooses the simplest of the three fits that explains the results. */
static void builder_fit(struct builder *builder)
{
	const struct fit_point *points = builder->points.data;
	const size_t n = builder->points.n;
	const double variance = builder->noise->sigma * builder->noise->sigma;
	struct causal_curve *curve = builder->curve;
	struct causal_fit line = causal_fit__straight(points, n);
	struct causal_fit plateau = causal_fit__with_plateau(points, n),
			  knee_fit = causal_fit__with_knee(points, n);
	double line_squares = causal_fit__residual_squares(&line, points, n);
	double plateau_squares = causal_fit__residual_squares(&plateau, points, n);
	double knee_squares = causal_fit__residual_squares(&knee_fit, points, n);

	builder->fit = causal_fit__straight;
	if (line_squares - knee_squares > KNEE_MIN_GAIN * variance)
		builder->fit = plateau.knee > 0 && plateau_squares - knee_squares <
							   SLOPE_MIN_GAIN * variance
				       ? causal_fit__with_plateau
				       : causal_fit__with_knee;
	curve->slope = line.slope;
	curve->fit = builder->fit(points, n);
	curve->best_at = causal_fit__best_at(&curve->fit, builder->last);
}

/* An error of the mean of the runs without a speedup, which all results share. 0 for halves. */
static double builder_base_error(const struct builder *builder, struct random *random)
{
	return causal_noise__mean(builder->noise, builder->series->base_runs, random);
}

static void builder_resample(struct builder *builder, size_t round, double worst_at,
			     const struct causal_group *group, struct random *random,
			     struct fit_point *points, struct resampled *out)
{
	const struct causal_curve *curve = builder->curve;
	double base = builder_base_error(builder, random);
	size_t n = builder->points.n;
	double factor = curve->phase_factor;
	struct causal_fit fit;

	if (group && group->factor_error > 0)
		factor *= exp(group->factor_error *
			      causal_fit__normal_quantile(fmax(random__unit(random), 1e-9)));
	for (size_t i = 0; i < n; i++) {
		const struct causal_cell *cell = builder->cells.data[i];
		double error = causal_noise__mean(builder->noise, cell->n, random) - base;

		points[i] = builder->points.data[i];
		points[i].value = 1 - fmax(cell->ratio + builder->errors.data[i] * error, 0);
		out->results[i * builder->resamples + round] = factor * points[i].value;
	}
	fit = builder->fit(points, n);
	out->slope[round] = factor * causal_fit__slope(points, n);
	out->best[round] = factor * causal_fit__at(&fit, curve->best_at);
	out->worst[round] = factor * causal_fit__at(&fit, worst_at);
	out->knee[round] = factor * causal_fit__at(&fit, curve->fit.knee);
	if (builder->fit == causal_fit__with_plateau)
		fit = causal_fit__with_knee(points, n);
	out->slope_after[round] = fit.slope_after / fmax(fabs(fit.slope), 1e-9);
}

static void interval(double *values, size_t n, double *low, double *high)
{
	causal_fit__sort(values, n);
	*low = causal_fit__quantile(values, n, 0.025);
	*high = causal_fit__quantile(values, n, 0.975);
}

static void builder_intervals(struct builder *builder, struct resampled *resampled)
{
	struct causal_curve *curve = builder->curve;
	size_t n = builder->resamples;
	double after_low, after_high;

	for (size_t i = 0; i < curve->results.n; i++) {
		struct causal_result *result = &curve->results.data[i];

		result->program_speedup = curve->phase_factor * (1 - builder->cells.data[i]->ratio);
		interval(resampled->results + i * n, n, &result->low, &result->high);
	}
	interval(resampled->slope, n, &curve->slope_low, &curve->slope_high);
	interval(resampled->best, n, &curve->best_low, &curve->best_high);
	interval(resampled->worst, n, &curve->worst_low, &curve->worst_high);
	interval(resampled->slope_after, n, &after_low, &after_high);
	if (curve->fit.knee > 0 && curve->fit.knee <= PLATEAU_MAX_KNEE * builder->last &&
	    curve->fit.slope > 0 && curve->fit.slope_after < PLATEAU_MAX_SLOPE * curve->fit.slope &&
	    after_high < 2 * PLATEAU_MAX_SLOPE) {
		curve->plateau_at = curve->fit.knee;
		curve->plateau_gain =
			curve->phase_factor * causal_fit__at(&curve->fit, curve->fit.knee);
		interval(resampled->knee, n, &curve->plateau_low, &curve->plateau_high);
	}
	curve->slope *= curve->phase_factor;
	curve->fit.slope *= curve->phase_factor;
	curve->fit.slope_after *= curve->phase_factor;
	curve->best = causal_fit__at(&curve->fit, curve->best_at);
}

static int builder_bootstrap(struct builder *builder, const struct causal_group *group,
			     uint64_t seed)
{
	size_t n = builder->points.n, resamples = builder->resamples;
	_cleanup_free_ double *memory = calloc((n + 5) * resamples, sizeof(*memory));
	_cleanup_free_ struct fit_point *points = calloc(n, sizeof(*points));
	struct random random = {.state = seed};
	struct resampled resampled;
	double worst_at;

	if (!memory || !points)
		return -ENOMEM;
	resampled.results = memory;
	resampled.slope = memory + n * resamples;
	resampled.best = resampled.slope + resamples;
	resampled.worst = resampled.best + resamples;
	resampled.knee = resampled.worst + resamples;
	resampled.slope_after = resampled.knee + resamples;
	worst_at = causal_fit__worst_at(&builder->curve->fit, builder->last);
	for (size_t round = 0; round < resamples; round++)
		builder_resample(builder, round, worst_at, group, &random, points, &resampled);
	builder_intervals(builder, &resampled);
	return 0;
}

/* Adds the cells with a speedup and enough visits, and weights them. */
static int builder_begin(struct builder *builder)
{
	const struct causal_series *series = builder->series;
	int err = 0;

	for (size_t i = 0; i < series->cells.n && !err; i++)
		if (series->cells.data[i].speedup > 0 && !isnan(series->cells.data[i].ratio))
			err = builder_add(builder, &series->cells.data[i]);
	return err || !builder->points.n ? err : builder_weigh(builder);
}

static void builder_end(struct builder *builder)
{
	array__free(&builder->cells);
	array__free(&builder->points);
	array__free(&builder->errors);
}

int causal_curve__make(const struct causal_series *series, const struct causal_group *group,
		       const struct causal_noise *noise, const struct causal_curve_options *options,
		       struct causal_curve *curve)
{
	struct builder builder = {
		.series = series, .noise = noise, .curve = curve, .resamples = options->resamples};
	int err;

	*curve = (struct causal_curve){
		.target = series->target,
		.point = series->point,
		.also = series->also,
		.whole_run = series->whole_run,
		.phase_factor = group ? group->factor : 1,
	};
	err = builder_begin(&builder);
	if (!err && builder.points.n) {
		builder_fit(&builder);
		err = builder_bootstrap(&builder, group, options->seed);
	}
	builder_end(&builder);
	return err;
}

/* An error of the slope, drawn at random. */
static double builder_slope_error(const struct builder *builder, struct random *random)
{
	double base = builder_base_error(builder, random), xx = 0, xy = 0;

	for (size_t i = 0; i < builder->points.n; i++) {
		const struct fit_point *point = &builder->points.data[i];
		double error =
			causal_noise__mean(builder->noise, builder->cells.data[i]->n, random);

		xx += point->weight * point->speedup * point->speedup;
		xy -= point->weight * point->speedup * builder->errors.data[i] * (error - base);
	}
	return xx > 0 ? xy / xx : 0;
}

/*
 * Quantiles 1 - @rare (@up) and @rare (@down) of the slope's error. With few experiments they are
 * farther out than those of a normal distribution: one or two disturbed experiments determine the
 * slope.
 */
static int causal_curve_slope_error_tails(const struct causal_series *series,
					  const struct causal_noise *noise, double rare,
					  uint64_t seed, double *up, double *down)
{
	struct causal_curve scratch = {};
	struct builder builder = {.series = series, .noise = noise, .curve = &scratch};
	size_t resamples = (size_t)fmin(TAIL_RESAMPLES / rare, MAX_RESAMPLES);
	_cleanup_free_ double *errors = calloc(resamples, sizeof(*errors));
	struct random random = {.state = ~seed};
	int err = errors ? builder_begin(&builder) : -ENOMEM;

	for (size_t i = 0; i < resamples && !err; i++)
		errors[i] = builder_slope_error(&builder, &random);
	if (!err) {
		causal_fit__sort(errors, resamples);
		*up = causal_fit__quantile(errors, resamples, 1 - rare);
		*down = causal_fit__quantile(errors, resamples, rare);
	}
	builder_end(&builder);
	array__free(&scratch.results);
	return err;
}

/* Bound of @value when its distance to the bound @low is @times as large. */
static double widened_bound(double value, double low, double times)
{
	return value - times * (value - low);
}

/* Sets the shape, with intervals @up times as wide below, and @down times as wide above. */
static void curve_set_shape(struct causal_curve *curve, double up, double down)
{
	double last = curve->results.data[curve->results.n - 1].speedup;

	/* The best gain of a fit with a knee is selected from several, the slope is not. */
	curve->sure = fmin(widened_bound(curve->best, curve->best_low, up),
			   last * widened_bound(curve->slope, curve->slope_low, up));
	if (curve->experiments < (curve->whole_run ? MIN_WHOLE_RUNS : MIN_EXPERIMENTS))
		curve->shape = CAUSAL_UNSURE;
	else if (fmax(curve->best_high, curve->worst_high) < CAUSAL_NEGLIGIBLE &&
		 fmin(curve->best_low, curve->worst_low) > -CAUSAL_NEGLIGIBLE)
		curve->shape = CAUSAL_NO_EFFECT;
	else if (curve->sure > 0)
		curve->shape = curve->plateau_at > 0 ? CAUSAL_PLATEAU : CAUSAL_GAIN;
	else if (widened_bound(curve->slope, curve->slope_high, down) < 0)
		curve->shape = CAUSAL_CONTENTION;
	else
		curve->shape = CAUSAL_UNSURE;
}

int causal_curve__judge(const struct causal_series *series, const struct causal_noise *noise,
			const struct causal_curve_options *options, size_t n,
			struct causal_curve *curve)
{
	/* Bonferroni correction: among many curves without effect, some have large errors. */
	const double rare = FALSE_ALARM_RATE / 2 / (double)n;
	const double times =
		causal_fit__normal_quantile(1 - rare) / causal_fit__normal_quantile(0.975);
	double up, down;
	int err;

	curve_set_shape(curve, times, times);
	if (curve->shape != CAUSAL_NO_EFFECT && curve->shape != CAUSAL_UNSURE &&
	    curve->experiments < NORMAL_EXPERIMENTS) {
		err = causal_curve_slope_error_tails(series, noise, rare, options->seed, &up,
						     &down);
		if (err)
			return err;
		up *= curve->phase_factor / fmax(curve->slope - curve->slope_low, 1e-9);
		down *= -curve->phase_factor / fmax(curve->slope_high - curve->slope, 1e-9);
		curve_set_shape(curve, fmax(up, times), fmax(down, times));
	}
	if (curve->shape != CAUSAL_PLATEAU)
		curve->plateau_at = curve->plateau_gain = curve->plateau_low = curve->plateau_high =
			0;
	return 0;
}
