// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/causal/robust_fit.h"
#include "analysis/causal/fit.h"
#include "analysis/causal/pair_weights.h"

/* Errors of other series count as at most this many degrees of freedom. */
#define MAX_POOLED_FREEDOM 6.0

/* With fewer degrees of freedom, residuals of the fitted line count as errors as well. */
#define MIN_FREEDOM 8.0

/* Errors are relative to the ratio, but to at least this. */
#define MIN_RATIO 0.1

/* Standard deviation assumed when there are no errors to draw from. */
#define UNKNOWN_SIGMA 0.25

/* The mean of more draws is practically normal. */
#define MAX_DRAWS 40

/*
 * What the pair adds to the denominator of the ratio; pair_with(): to the numerator. Of a rate,
 * visits vary and time is given; of a latency, time in progress varies and visits are given.
 * (Weights that depend on what varies would bias the ratio.)
 */
static double pair_without(const struct causal_pair *pair, bool latency)
{
	if (latency)
		return pair->base_time * pair->with_visits /
		       (pair->base_visits + pair->with_visits);
	return pair->with_visits * pair->base_time / (pair->base_time + pair->with_time);
}

static double pair_with(const struct causal_pair *pair, bool latency)
{
	if (latency)
		return pair->with_time * pair->base_visits /
		       (pair->base_visits + pair->with_visits);
	return pair->base_visits * pair->with_time / (pair->base_time + pair->with_time);
}

static void cell_find_ratio(const struct causal_series *series, struct causal_cell *cell)
{
	const struct causal_pair *pairs = causal_cell__pairs(series, cell);
	double with = 0, without = 0, base_visits = 0;

	for (size_t i = 0; i < cell->n; i++) {
		with += pairs[i].weight * pair_with(&pairs[i], series->latency);
		without += pairs[i].weight * pair_without(&pairs[i], series->latency);
		base_visits += pairs[i].weight * pairs[i].base_visits;
	}
	cell->ratio = without > 0 && base_visits > 0 ? with / without : NAN;
	cell->error = fmax(cell->ratio, MIN_RATIO);
}

/*
 * Ratio of the error of a biweight estimate to its weighted errors, at most 1.5: its influence
 * function is divided by the mean slope of w(x) x, not by the mean of w(x).
 */
static double series_error_inflation(const struct causal_series *series)
{
	double weights = 0, slopes = 0;

	for (size_t i = 0; i < series->pairs.n; i++) {
		double weight = series->pairs.data[i].weight;
		double off2 = 1 - sqrt(weight);

		weights += weight;
		slopes += weight > 0 ? (1 - off2) * (1 - 5 * off2) : 0;
	}
	return slopes > 0 ? fmin(weights / slopes, 1.5) : 1;
}

/* Adds the errors of single pairs of @cell to @series, in units of cell->error. */
static int cell_errors(struct causal_series *series, const struct causal_cell *cell,
		       double inflation)
{
	const struct causal_pair *pairs = causal_cell__pairs(series, cell);
	double without = 0, n = 0;

	for (size_t i = 0; i < cell->n; i++) {
		without += pairs[i].weight * pair_without(&pairs[i], series->latency);
		n += !isnan(pairs[i].log_ratio);
	}
	if (isnan(cell->ratio) || n < 2)
		return 0;
	inflation *= sqrt(n / (n - 1)) * n / (without * cell->error);
	for (size_t i = 0; i < cell->n; i++) {
		double rest = pair_with(&pairs[i], series->latency) -
			      cell->ratio * pair_without(&pairs[i], series->latency);

		if (!isnan(pairs[i].log_ratio) &&
		    array__push(&series->errors, inflation * pairs[i].weight * rest))
			return -ENOMEM;
	}
	series->freedom += n - 1;
	return 0;
}

/* The weighted mean period of @n comparable runs; NAN: they have no visits. */
static double runs_period(const struct causal_pair *pairs, size_t n, double *visits)
{
	double time = 0;

	*visits = 0;
	for (size_t i = 0; i < n; i++) {
		time += pairs[i].weight * pairs[i].with_time;
		*visits += pairs[i].weight * pairs[i].with_visits;
	}
	return *visits > 0 ? time / *visits : NAN;
}

/* The mean period of the runs of @command without a speedup; NAN: there are none. */
static double baseline_period(const struct causal_series *series, uint32_t command, double *visits)
{
	const struct causal_cell *cell = &series->cells.data[0];
	size_t n;

	*visits = 0;
	if (!series->cells.n || cell->speedup > 0)
		return NAN;
	for (size_t i = 0; i < cell->n; i += n) {
		n = causal_cell__comparable(series, cell, i);
		if (causal_cell__pairs(series, cell)[i].command == command)
			return runs_period(causal_cell__pairs(series, cell) + i, n, visits);
	}
	return NAN;
}

/* Compares whole runs with those of the same command without a speedup. */
static void cell_find_run_ratio(const struct causal_series *series,
				const struct causal_series *baseline, struct causal_cell *cell)
{
	double with = 0, base = 0;
	size_t n;

	for (size_t i = 0; i < cell->n; i += n) {
		const struct causal_pair *pairs = causal_cell__pairs(series, cell) + i;
		double visits, base_visits, period, base_period, all;

		n = causal_cell__comparable(series, cell, i);
		period = runs_period(pairs, n, &visits);
		base_period = baseline_period(baseline, pairs->command, &base_visits);
		if (isnan(period) || isnan(base_period))
			continue;
		all = period * visits + base_period * base_visits;
		with += visits * base_period * base_visits / all;
		base += base_visits * period * visits / all;
	}
	cell->ratio = with > 0 ? base / with : NAN;
	cell->error = fmax(cell->ratio, MIN_RATIO);
}

static int cell_run_errors(struct causal_series *series, const struct causal_cell *cell,
			   double inflation)
{
	size_t n;

	for (size_t first = 0; first < cell->n; first += n) {
		const struct causal_pair *pairs = causal_cell__pairs(series, cell) + first;
		double visits, period;

		n = causal_cell__comparable(series, cell, first);
		period = runs_period(pairs, n, &visits);
		if (n < 2 || !(period > 0)) /* pauses were all of the time, or nothing is known */
			continue;
		for (size_t i = 0; i < n; i++) {
			double residual = pairs[i].with_time / pairs[i].with_visits / period - 1;

			residual *= inflation * pairs[i].weight * sqrt((double)n / (double)(n - 1));
			if (array__push(&series->errors, residual))
				return -ENOMEM;
		}
		series->freedom += (double)n - 1;
	}
	return 0;
}

/* The series with the runs without a speedup to compare @series with; may be @series itself. */
static const struct causal_series *baseline_of(const struct causal_series_set *set,
					       const struct causal_series *series)
{
	if (series->cells.n && !(series->cells.data[0].speedup > 0))
		return series;
	for (size_t i = 0; i < set->series.n; i++) {
		const struct causal_series *other = &set->series.data[i];

		if (other->whole_run && other->target == UINT32_MAX &&
		    other->point == series->point && !strcmp(other->also, series->also))
			return other;
	}
	return series;
}

/*
 * Adds the residuals of the fitted line to the errors of @series. With one experiment of each
 * speedup there are no others.
 */
static int series_fit_errors(struct causal_series *series)
{
	ARRAY(struct fit_point) points = {};
	struct causal_fit fit = {};
	double freedom, inflation;
	int err = 0;

	for (size_t c = 0; c < series->cells.n && !err; c++) {
		const struct causal_cell *cell = &series->cells.data[c];

		if (cell->speedup > 0 && !isnan(cell->ratio))
			err = array__push(&points,
					  ((struct fit_point){cell->speedup, 1 - cell->ratio, 0,
							      (double)cell->n}));
	}
	err = err ? err : robust_fit__weigh(points.data, points.n, &fit);
	freedom = (double)points.n - (fit.knee > 0 ? 3 : 1);
	inflation = freedom > 0 ? sqrt((double)points.n / freedom) : 0;
	for (size_t i = 0; i < points.n && freedom > 0 && !err; i++) {
		double fitted = 1 - causal_fit__at(&fit, points.data[i].speedup);
		double residual = 1 - points.data[i].value - fitted;

		residual /= robust_fit__ratio(&fit, points.data[i].speedup);
		err = array__push(&series->errors, inflation * residual * sqrt(points.data[i].n));
	}
	series->freedom += fmax(freedom, 0);
	array__free(&points);
	return err;
}

static int series_estimate(const struct causal_series_set *set, struct causal_series *series,
			   uint64_t min_visits)
{
	const struct causal_series *baseline = series->whole_run ? baseline_of(set, series) : NULL;
	double inflation = series_error_inflation(series);
	int err = 0;

	if (baseline && baseline->cells.n && !(baseline->cells.data[0].speedup > 0))
		series->base_runs = baseline->cells.data[0].n;
	for (size_t c = 0; c < series->cells.n && !err; c++) {
		struct causal_cell *cell = &series->cells.data[c];

		if (baseline)
			cell_find_run_ratio(series, baseline, cell);
		else
			cell_find_ratio(series, cell);
		err = baseline ? cell_run_errors(series, cell, inflation)
			       : cell_errors(series, cell, inflation);
		if (cell->visits < min_visits && !baseline)
			cell->ratio = NAN;
	}
	if (!err && series->freedom < MIN_FREEDOM)
		err = series_fit_errors(series);
	return err;
}

static int estimates_pool(struct causal_estimates *estimates, const struct causal_series *series)
{
	struct causal_errors *pool = &estimates->pools[causal_series__pool(series)];

	if (array__reserve(&pool->errors, series->errors.n))
		return -ENOMEM;
	for (size_t i = 0; i < series->errors.n; i++)
		pool->errors.data[pool->errors.n++] = series->errors.data[i];
	pool->freedom += series->freedom;
	return 0;
}

int causal_estimates__make(struct causal_series_set *set, size_t n_points, uint64_t min_visits,
			   struct causal_estimates *estimates)
{
	int err;

	estimates->pools = calloc(2 * n_points + 1, sizeof(*estimates->pools));
	if (!estimates->pools)
		return -ENOMEM;
	estimates->n_pools = 2 * n_points;
	err = causal_series_set__weigh(set, n_points);
	for (size_t i = 0; i < set->series.n && !err; i++)
		err = series_estimate(set, &set->series.data[i], min_visits);
	for (size_t i = 0; i < set->series.n && !err; i++)
		err = estimates_pool(estimates, &set->series.data[i]);
	return err;
}

void causal_estimates__free(struct causal_estimates *estimates)
{
	for (size_t i = 0; estimates->pools && i < estimates->n_pools; i++)
		array__free(&estimates->pools[i].errors);
	free(estimates->pools);
}

static double mean_square(const double *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i] * values[i];
	return n ? sum / (double)n : 0;
}

struct causal_noise causal_noise__of(const struct causal_estimates *estimates,
				     const struct causal_series *series)
{
	const struct causal_errors *pool = &estimates->pools[causal_series__pool(series)];
	double borrowed = fmin(MAX_POOLED_FREEDOM, pool->freedom - series->freedom);
	double freedom = series->freedom + fmax(borrowed, 0);
	struct causal_noise noise = {
		.own = series->errors.data,
		.n_own = series->errors.n,
		.others = pool->errors.data,
		.n_others = pool->errors.n,
		.own_share = freedom > 0 ? series->freedom / freedom : 0,
		.t_factor = causal_fit__student_97_5(freedom) / causal_fit__student_97_5(1e9),
	};
	double square = noise.own_share * mean_square(noise.own, noise.n_own) +
			(1 - noise.own_share) * mean_square(noise.others, noise.n_others);

	if (freedom < 1 || !noise.n_others)
		noise = (struct causal_noise){.t_factor = 1, .sigma = UNKNOWN_SIGMA};
	else
		noise.sigma = noise.t_factor * sqrt(square);
	return noise;
}

static double noise_draw(const struct causal_noise *noise, struct random *random)
{
	double u;

	if (!noise->n_others) {
		u = fmax(random__unit(random), 1e-9);
		return noise->sigma * causal_fit__normal_quantile(u);
	}
	if (noise->n_own && random__unit(random) < noise->own_share)
		return noise->t_factor * noise->own[random__below(random, noise->n_own)];
	return noise->t_factor * noise->others[random__below(random, noise->n_others)];
}

double causal_noise__mean(const struct causal_noise *noise, size_t n, struct random *random)
{
	size_t draws = n < MAX_DRAWS ? n : MAX_DRAWS;
	double sum = 0;

	for (size_t i = 0; i < draws; i++)
		sum += noise_draw(noise, random);
	return n ? sum / sqrt((double)draws * (double)n) : 0;
}
