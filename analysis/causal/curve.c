// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/curve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/causal/robust_fit.h"
#include "analysis/causal/fit.h"

/*
 * By how much more a knee has to explain, in squares of standard deviations. It takes two
 * numbers more than a straight line, the place of one looked for: by chance 2 % of lines have it.
 */
#define KNEE_EXPLAINS 9.0

/* And how much more a slope behind the knee does than none. */
#define SLOPE_EXPLAINS 4.0

/* Behind a plateau's knee the curve may rise by this part of what it did before. */
#define FLAT 0.25

/* A plateau begins before this part of what was tried. */
#define LAST_KNEE 0.9

/* How often any curve of a profile may seem to have an effect, and have none. */
#define UNSURE 0.01

/* The mean of so many errors is as good as normal, far from its middle, too. */
#define MANY_EXPERIMENTS 100

/* Resamplings for what is rare: so many are to be beyond it. */
#define BEYOND	       10
#define MOST_RESAMPLES 200000

/* Who knows less is not sure. */
#define FEWEST_EXPERIMENTS 5
#define FEWEST_WHOLE_RUNS  3

/* One resampling of everything that is estimated. */
struct resampled {
	double *results; /* of all resamplings, result by result */
	double *slope;
	double *best;
	double *worst;
	double *knee;	/* the value at the knee */
	double *behind; /* rise behind the knee, in parts of that before */
};

struct making {
	const struct causal_series *series;
	const struct causal_noise *noise;
	struct causal_curve *curve;
	ARRAY(const struct causal_cell *) cells; /* one for each result */
	ARRAY(struct fit_point) dots;
	ARRAY(double) errors; /* what a relative error of 1 of a single pair is worth */
	struct causal_fit (*fit)(const struct fit_point *dots, size_t n);
	double last; /* the largest speedup that was tried */
	size_t resamples;
};

static int making__add(struct making *making, const struct causal_cell *cell)
{
	struct causal_curve *curve = making->curve;
	const struct fit_point dot = {cell->speedup, 1 - cell->ratio, 0, (double)cell->n};
	const struct causal_result result = {
		.speedup = cell->speedup,
		.experiments = cell->n,
		.disturbed = cell->disturbed,
		.visits = cell->visits,
	};

	if (array__push(&making->cells, cell) || array__push(&making->dots, dot) ||
	    array__push(&making->errors, cell->error) || array__push(&curve->results, result))
		return -ENOMEM;
	curve->experiments += cell->n;
	curve->disturbed += cell->disturbed;
	curve->visits += cell->visits;
	making->last = cell->speedup;
	return 0;
}

static int making__weigh(struct making *making)
{
	struct causal_fit fit;
	int err = robust_fit__weigh(making->dots.data, making->dots.n, &fit);

	/* One that is too low by chance is not more certain for that. */
	for (size_t i = 0; i < making->dots.n && !err; i++)
		if (making->cells.data[i]->n < CAUSAL_MANY_PAIRS)
			making->errors.data[i] =
				fmax(making->cells.data[i]->error,
				     robust_fit__ratio(&fit, making->cells.data[i]->speedup));
	return err;
}

/* The simplest of the three that explains the results. */
static void making__fit(struct making *making)
{
	const struct fit_point *dots = making->dots.data;
	const size_t n = making->dots.n;
	const double variance = making->noise->sigma * making->noise->sigma;
	struct causal_curve *curve = making->curve;
	struct causal_fit line = causal_fit__straight(dots, n);
	struct causal_fit level = causal_fit__level(dots, n), bent = causal_fit__bent(dots, n);
	double line_rest = causal_fit__rest(&line, dots, n);
	double level_rest = causal_fit__rest(&level, dots, n);
	double bent_rest = causal_fit__rest(&bent, dots, n);

	making->fit = causal_fit__straight;
	if (line_rest - bent_rest > KNEE_EXPLAINS * variance)
		making->fit = level.knee > 0 && level_rest - bent_rest < SLOPE_EXPLAINS * variance
				      ? causal_fit__level
				      : causal_fit__bent;
	curve->slope = line.rise;
	curve->fit = making->fit(dots, n);
	curve->best_at = causal_fit__best_at(&curve->fit, making->last);
}

/* The mean of the runs without a speedup has an error, too, in which all results have a part. */
static double making__base_error(const struct making *making, struct causal_random *random)
{
	return causal_noise__mean(making->noise, making->series->base_runs, random);
}

static void making__resample(struct making *making, size_t round, double worst_at,
			     const struct causal_group *group, struct causal_random *random,
			     struct fit_point *dots, struct resampled *out)
{
	const struct causal_curve *curve = making->curve;
	double base = making__base_error(making, random);
	size_t n = making->dots.n;
	double factor = curve->phase_factor;
	struct causal_fit fit;

	if (group && group->factor_error > 0)
		factor *= exp(group->factor_error *
			      causal_fit__normal(fmax(causal_random__unit(random), 1e-9)));
	for (size_t i = 0; i < n; i++) {
		const struct causal_cell *cell = making->cells.data[i];
		double error = causal_noise__mean(making->noise, cell->n, random) - base;

		dots[i] = making->dots.data[i];
		dots[i].value = 1 - fmax(cell->ratio + making->errors.data[i] * error, 0);
		out->results[i * making->resamples + round] = factor * dots[i].value;
	}
	fit = making->fit(dots, n);
	out->slope[round] = factor * causal_fit__slope(dots, n);
	out->best[round] = factor * causal_fit__at(&fit, curve->best_at);
	out->worst[round] = factor * causal_fit__at(&fit, worst_at);
	out->knee[round] = factor * causal_fit__at(&fit, curve->fit.knee);
	if (making->fit == causal_fit__level)
		fit = causal_fit__bent(dots, n);
	out->behind[round] = fit.behind / fmax(fabs(fit.rise), 1e-9);
}

static void interval(double *values, size_t n, double *low, double *high)
{
	causal_fit__sort(values, n);
	*low = causal_fit__quantile(values, n, 0.025);
	*high = causal_fit__quantile(values, n, 0.975);
}

static void making__intervals(struct making *making, struct resampled *resampled)
{
	struct causal_curve *curve = making->curve;
	size_t n = making->resamples;
	double behind_low, behind_high;

	for (size_t i = 0; i < curve->results.n; i++) {
		struct causal_result *result = &curve->results.data[i];

		result->program_speedup = curve->phase_factor * (1 - making->cells.data[i]->ratio);
		interval(resampled->results + i * n, n, &result->low, &result->high);
	}
	interval(resampled->slope, n, &curve->slope_low, &curve->slope_high);
	interval(resampled->best, n, &curve->best_low, &curve->best_high);
	interval(resampled->worst, n, &curve->worst_low, &curve->worst_high);
	interval(resampled->behind, n, &behind_low, &behind_high);
	if (curve->fit.knee > 0 && curve->fit.knee <= LAST_KNEE * making->last &&
	    curve->fit.rise > 0 && curve->fit.behind < FLAT * curve->fit.rise &&
	    behind_high < 2 * FLAT) {
		curve->plateau_at = curve->fit.knee;
		curve->plateau_gain =
			curve->phase_factor * causal_fit__at(&curve->fit, curve->fit.knee);
		interval(resampled->knee, n, &curve->plateau_low, &curve->plateau_high);
	}
	curve->slope *= curve->phase_factor;
	curve->fit.rise *= curve->phase_factor;
	curve->fit.behind *= curve->phase_factor;
	curve->best = causal_fit__at(&curve->fit, curve->best_at);
}

static int making__bootstrap(struct making *making, const struct causal_group *group, uint64_t seed)
{
	size_t n = making->dots.n, resamples = making->resamples;
	_cleanup_free_ double *memory = calloc((n + 5) * resamples, sizeof(*memory));
	_cleanup_free_ struct fit_point *dots = calloc(n, sizeof(*dots));
	struct causal_random random = {.state = seed};
	struct resampled resampled;
	double worst_at;

	if (!memory || !dots)
		return -ENOMEM;
	resampled.results = memory;
	resampled.slope = memory + n * resamples;
	resampled.best = resampled.slope + resamples;
	resampled.worst = resampled.best + resamples;
	resampled.knee = resampled.worst + resamples;
	resampled.behind = resampled.knee + resamples;
	worst_at = causal_fit__worst_at(&making->curve->fit, making->last);
	for (size_t round = 0; round < resamples; round++)
		making__resample(making, round, worst_at, group, &random, dots, &resampled);
	making__intervals(making, &resampled);
	return 0;
}

/* Takes the cells that say something, and weighs them. */
static int making__begin(struct making *making)
{
	const struct causal_series *series = making->series;
	int err = 0;

	for (size_t i = 0; i < series->cells.n && !err; i++)
		if (series->cells.data[i].speedup > 0 && !isnan(series->cells.data[i].ratio))
			err = making__add(making, &series->cells.data[i]);
	return err || !making->dots.n ? err : making__weigh(making);
}

static void making__end(struct making *making)
{
	array__free(&making->cells);
	array__free(&making->dots);
	array__free(&making->errors);
}

int causal_curve__make(const struct causal_series *series, const struct causal_group *group,
		       const struct causal_noise *noise, const struct causal_curve_options *options,
		       struct causal_curve *curve)
{
	struct making making = {
		.series = series, .noise = noise, .curve = curve, .resamples = options->resamples};
	int err;

	*curve = (struct causal_curve){
		.target = series->target,
		.point = series->point,
		.also = series->also,
		.whole_run = series->whole_run,
		.phase_factor = group ? group->factor : 1,
	};
	err = making__begin(&making);
	if (!err && making.dots.n) {
		making__fit(&making);
		err = making__bootstrap(&making, group, options->seed);
	}
	making__end(&making);
	return err;
}

/* One error that the slope could have. */
static double making__slope_error(const struct making *making, struct causal_random *random)
{
	double base = making__base_error(making, random), xx = 0, xy = 0;

	for (size_t i = 0; i < making->dots.n; i++) {
		const struct fit_point *dot = &making->dots.data[i];
		double error = causal_noise__mean(making->noise, making->cells.data[i]->n, random);

		xx += dot->weight * dot->speedup * dot->speedup;
		xy -= dot->weight * dot->speedup * making->errors.data[i] * (error - base);
	}
	return xx > 0 ? xy / xx : 0;
}

/*
 * The error of the slope that a part of @rare of all exceed, upwards or downwards (negative
 * then). With few experiments it is farther away than for a normal distribution: a single
 * ruined one, or two, make the slope.
 */
static int causal_curve__reach(const struct causal_series *series, const struct causal_noise *noise,
			       double rare, uint64_t seed, double *up, double *down)
{
	struct causal_curve scratch = {};
	struct making making = {.series = series, .noise = noise, .curve = &scratch};
	size_t resamples = (size_t)fmin(BEYOND / rare, MOST_RESAMPLES);
	_cleanup_free_ double *errors = calloc(resamples, sizeof(*errors));
	struct causal_random random = {.state = ~seed};
	int err = errors ? making__begin(&making) : -ENOMEM;

	for (size_t i = 0; i < resamples && !err; i++)
		errors[i] = making__slope_error(&making, &random);
	if (!err) {
		causal_fit__sort(errors, resamples);
		*up = causal_fit__quantile(errors, resamples, 1 - rare);
		*down = causal_fit__quantile(errors, resamples, rare);
	}
	making__end(&making);
	array__free(&scratch.results);
	return err;
}

/* How far below @value it can be, when @times the interval is to be sure. */
static double lower(double value, double low, double times)
{
	return value - times * (value - low);
}

/* Decides on the shape, when intervals are to be so many times as wide, to either side. */
static void curve__decide(struct causal_curve *curve, double up, double down)
{
	double last = curve->results.data[curve->results.n - 1].speedup;

	/* The best of a fit with a knee is picked, the slope is not. */
	curve->sure = fmin(lower(curve->best, curve->best_low, up),
			   last * lower(curve->slope, curve->slope_low, up));
	if (curve->experiments < (curve->whole_run ? FEWEST_WHOLE_RUNS : FEWEST_EXPERIMENTS))
		curve->shape = CAUSAL_UNSURE;
	else if (fmax(curve->best_high, curve->worst_high) < CAUSAL_NEGLIGIBLE &&
		 fmin(curve->best_low, curve->worst_low) > -CAUSAL_NEGLIGIBLE)
		curve->shape = CAUSAL_NO_EFFECT;
	else if (curve->sure > 0)
		curve->shape = curve->plateau_at > 0 ? CAUSAL_PLATEAU : CAUSAL_GAIN;
	else if (lower(curve->slope, curve->slope_high, down) < 0)
		curve->shape = CAUSAL_CONTENTION;
	else
		curve->shape = CAUSAL_UNSURE;
}

int causal_curve__judge(const struct causal_series *series, const struct causal_noise *noise,
			const struct causal_curve_options *options, size_t n,
			struct causal_curve *curve)
{
	/* Bonferroni's correction: of many curves without effect, some have large errors. */
	const double rare = UNSURE / 2 / (double)n;
	const double times = causal_fit__normal(1 - rare) / causal_fit__normal(0.975);
	double up, down;
	int err;

	curve__decide(curve, times, times);
	if (curve->shape != CAUSAL_NO_EFFECT && curve->shape != CAUSAL_UNSURE &&
	    curve->experiments < MANY_EXPERIMENTS) {
		err = causal_curve__reach(series, noise, rare, options->seed, &up, &down);
		if (err)
			return err;
		up *= curve->phase_factor / fmax(curve->slope - curve->slope_low, 1e-9);
		down *= -curve->phase_factor / fmax(curve->slope_high - curve->slope, 1e-9);
		curve__decide(curve, fmax(up, times), fmax(down, times));
	}
	if (curve->shape != CAUSAL_PLATEAU)
		curve->plateau_at = curve->plateau_gain = curve->plateau_low = curve->plateau_high =
			0;
	return 0;
}
