// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/causal/robust_fit.h"
#include "analysis/causal/fit.h"
#include "analysis/causal/pair_weights.h"

/* Errors of other series count as so many degrees of freedom of this one. */
#define BORROWED 6.0

/* With fewer, the errors that results have from a line count as well. */
#define FEW_FREEDOM 8.0

/* Below it, what is left of a period is uncertain by a part of the whole of it. */
#define LEAST_RATIO 0.1

/* When nothing at all is known. */
#define UNKNOWN_SIGMA 0.25

/* The mean of more draws differs little from a normal distribution's. */
#define MOST_DRAWS 40

static struct causal_pair *cell__pairs(const struct causal_series *series,
				       const struct causal_cell *cell)
{
	return series->pairs.data + cell->first;
}

/*
 * What the pair adds to both sides of the ratio. Of a rate, visits are what varies, in a
 * time that is given; of a latency, time in progress is, and visits are given. (Weights that
 * go by what varies would make the ratio wrong in the mean.)
 */
static double pair__without(const struct causal_pair *pair, bool latency)
{
	if (latency)
		return pair->base_time * pair->with_visits /
		       (pair->base_visits + pair->with_visits);
	return pair->with_visits * pair->base_time / (pair->base_time + pair->with_time);
}

static double pair__with(const struct causal_pair *pair, bool latency)
{
	if (latency)
		return pair->with_time * pair->base_visits /
		       (pair->base_visits + pair->with_visits);
	return pair->base_visits * pair->with_time / (pair->base_time + pair->with_time);
}

static void cell__find_ratio(const struct causal_series *series, struct causal_cell *cell)
{
	const struct causal_pair *pairs = cell__pairs(series, cell);
	double with = 0, without = 0, base_visits = 0;

	for (size_t i = 0; i < cell->n; i++) {
		with += pairs[i].weight * pair__with(&pairs[i], series->latency);
		without += pairs[i].weight * pair__without(&pairs[i], series->latency);
		base_visits += pairs[i].weight * pairs[i].base_visits;
	}
	cell->ratio = without > 0 && base_visits > 0 ? with / without : NAN;
	cell->error = fmax(cell->ratio, LEAST_RATIO);
}

/*
 * How much more an estimate by biweights scatters than its weighted errors say: influence is
 * divided by the mean slope of w(x) x, not by that of w(x).
 */
static double series__more(const struct causal_series *series)
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

/* The errors of single pairs of a cell, in parts of cell->error. */
static int cell__errors(struct causal_series *series, const struct causal_cell *cell, double more)
{
	const struct causal_pair *pairs = cell__pairs(series, cell);
	double without = 0, n = 0;

	for (size_t i = 0; i < cell->n; i++) {
		without += pairs[i].weight * pair__without(&pairs[i], series->latency);
		n += !isnan(pairs[i].deviation);
	}
	if (isnan(cell->ratio) || n < 2)
		return 0;
	more *= sqrt(n / (n - 1)) * n / (without * cell->error);
	for (size_t i = 0; i < cell->n; i++) {
		double rest = pair__with(&pairs[i], series->latency) -
			      cell->ratio * pair__without(&pairs[i], series->latency);

		if (!isnan(pairs[i].deviation) &&
		    array__push(&series->errors, more * pairs[i].weight * rest))
			return -ENOMEM;
	}
	series->freedom += n - 1;
	return 0;
}

/* The mean period of like runs, weighted; NAN without one. */
static double runs__period(const struct causal_pair *pairs, size_t n, double *visits)
{
	double time = 0;

	*visits = 0;
	for (size_t i = 0; i < n; i++) {
		time += pairs[i].weight * pairs[i].with_time;
		*visits += pairs[i].weight * pairs[i].with_visits;
	}
	return *visits > 0 ? time / *visits : NAN;
}

/* The runs of @command without a speedup. */
static double baseline__period(const struct causal_series *series, uint32_t command, double *visits)
{
	const struct causal_cell *cell = &series->cells.data[0];
	size_t n;

	*visits = 0;
	if (!series->cells.n || cell->speedup > 0)
		return NAN;
	for (size_t i = 0; i < cell->n; i += n) {
		n = causal_cell__alike(series, cell, i);
		if (cell__pairs(series, cell)[i].command == command)
			return runs__period(cell__pairs(series, cell) + i, n, visits);
	}
	return NAN;
}

/* Whole runs are compared with those without a speedup, of the same command. */
static void cell__find_run_ratio(const struct causal_series *series,
				 const struct causal_series *baseline, struct causal_cell *cell)
{
	double with = 0, base = 0;
	size_t n;

	for (size_t i = 0; i < cell->n; i += n) {
		const struct causal_pair *pairs = cell__pairs(series, cell) + i;
		double visits, base_visits, period, base_period, all;

		n = causal_cell__alike(series, cell, i);
		period = runs__period(pairs, n, &visits);
		base_period = baseline__period(baseline, pairs->command, &base_visits);
		if (isnan(period) || isnan(base_period))
			continue;
		all = period * visits + base_period * base_visits;
		with += visits * base_period * base_visits / all;
		base += base_visits * period * visits / all;
	}
	cell->ratio = with > 0 ? base / with : NAN;
	cell->error = fmax(cell->ratio, LEAST_RATIO);
}

static int cell__run_errors(struct causal_series *series, const struct causal_cell *cell,
			    double more)
{
	size_t n;

	for (size_t first = 0; first < cell->n; first += n) {
		const struct causal_pair *pairs = cell__pairs(series, cell) + first;
		double visits, period;

		n = causal_cell__alike(series, cell, first);
		period = runs__period(pairs, n, &visits);
		if (n < 2 || isnan(period))
			continue;
		for (size_t i = 0; i < n; i++) {
			double off = pairs[i].with_time / pairs[i].with_visits / period - 1;

			off *= more * pairs[i].weight * sqrt((double)n / (double)(n - 1));
			if (array__push(&series->errors, off))
				return -ENOMEM;
		}
		series->freedom += (double)n - 1;
	}
	return 0;
}

/* The series of runs to compare those of @series with. */
static const struct causal_series *baseline__of(const struct causal_sorted *sorted,
						const struct causal_series *series)
{
	if (series->cells.n && !(series->cells.data[0].speedup > 0))
		return series;
	for (size_t i = 0; i < sorted->series.n; i++) {
		const struct causal_series *other = &sorted->series.data[i];

		if (other->whole_run && other->target == UINT32_MAX &&
		    other->point == series->point && !strcmp(other->also, series->also))
			return other;
	}
	return series;
}

/*
 * With one experiment of each speedup, what they are off a line is all there is to tell
 * how far they scatter.
 */
static int series__errors_of_fit(struct causal_series *series)
{
	ARRAY(struct fit_point) dots = {};
	struct causal_fit fit = {};
	double freedom, more;
	int err = 0;

	for (size_t c = 0; c < series->cells.n && !err; c++) {
		const struct causal_cell *cell = &series->cells.data[c];

		if (cell->speedup > 0 && !isnan(cell->ratio))
			err = array__push(&dots, ((struct fit_point){cell->speedup, 1 - cell->ratio,
								     0, (double)cell->n}));
	}
	err = err ? err : robust_fit__weigh(dots.data, dots.n, &fit);
	freedom = (double)dots.n - (fit.knee > 0 ? 3 : 1);
	more = freedom > 0 ? sqrt((double)dots.n / freedom) : 0;
	for (size_t i = 0; i < dots.n && freedom > 0 && !err; i++) {
		double fitted = 1 - causal_fit__at(&fit, dots.data[i].speedup);
		double off = 1 - dots.data[i].value - fitted;

		off /= robust_fit__ratio(&fit, dots.data[i].speedup);
		err = array__push(&series->errors, more * off * sqrt(dots.data[i].n));
	}
	series->freedom += fmax(freedom, 0);
	array__free(&dots);
	return err;
}

static int series__estimate(const struct causal_sorted *sorted, struct causal_series *series,
			    uint64_t min_visits)
{
	const struct causal_series *baseline =
		series->whole_run ? baseline__of(sorted, series) : NULL;
	double more = series__more(series);
	int err = 0;

	if (baseline && baseline->cells.n && !(baseline->cells.data[0].speedup > 0))
		series->base_runs = baseline->cells.data[0].n;
	for (size_t c = 0; c < series->cells.n && !err; c++) {
		struct causal_cell *cell = &series->cells.data[c];

		if (baseline)
			cell__find_run_ratio(series, baseline, cell);
		else
			cell__find_ratio(series, cell);
		err = baseline ? cell__run_errors(series, cell, more)
			       : cell__errors(series, cell, more);
		if (cell->visits < min_visits && !baseline)
			cell->ratio = NAN;
	}
	if (!err && series->freedom < FEW_FREEDOM)
		err = series__errors_of_fit(series);
	return err;
}

static int estimates__pool(struct causal_estimates *estimates, const struct causal_series *series)
{
	struct causal_errors *pool = &estimates->pools[causal_series__pool(series)];

	if (array__reserve(&pool->errors, series->errors.n))
		return -ENOMEM;
	for (size_t i = 0; i < series->errors.n; i++)
		pool->errors.data[pool->errors.n++] = series->errors.data[i];
	pool->freedom += series->freedom;
	return 0;
}

int causal_estimates__make(struct causal_sorted *sorted, size_t n_points, uint64_t min_visits,
			   struct causal_estimates *estimates)
{
	int err;

	estimates->pools = calloc(2 * n_points + 1, sizeof(*estimates->pools));
	if (!estimates->pools)
		return -ENOMEM;
	estimates->n_pools = 2 * n_points;
	err = causal_sorted__weigh(sorted, n_points);
	for (size_t i = 0; i < sorted->series.n && !err; i++)
		err = series__estimate(sorted, &sorted->series.data[i], min_visits);
	for (size_t i = 0; i < sorted->series.n && !err; i++)
		err = estimates__pool(estimates, &sorted->series.data[i]);
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
	double borrowed = fmin(BORROWED, pool->freedom - series->freedom);
	double freedom = series->freedom + fmax(borrowed, 0);
	struct causal_noise noise = {
		.own = series->errors.data,
		.n_own = series->errors.n,
		.others = pool->errors.data,
		.n_others = pool->errors.n,
		.own_part = freedom > 0 ? series->freedom / freedom : 0,
		.widen = causal_fit__student(freedom) / causal_fit__student(1e9),
	};
	double square = noise.own_part * mean_square(noise.own, noise.n_own) +
			(1 - noise.own_part) * mean_square(noise.others, noise.n_others);

	if (freedom < 1 || !noise.n_others)
		noise = (struct causal_noise){.widen = 1, .sigma = UNKNOWN_SIGMA};
	else
		noise.sigma = noise.widen * sqrt(square);
	return noise;
}

static double noise__draw(const struct causal_noise *noise, struct causal_random *random)
{
	double u;

	if (!noise->n_others) {
		u = fmax(causal_random__unit(random), 1e-9);
		return noise->sigma * causal_fit__normal(u);
	}
	if (noise->n_own && causal_random__unit(random) < noise->own_part)
		return noise->widen * noise->own[causal_random__below(random, noise->n_own)];
	return noise->widen * noise->others[causal_random__below(random, noise->n_others)];
}

double causal_noise__mean(const struct causal_noise *noise, size_t n, struct causal_random *random)
{
	size_t draws = n < MOST_DRAWS ? n : MOST_DRAWS;
	double sum = 0;

	for (size_t i = 0; i < draws; i++)
		sum += noise__draw(noise, random);
	return n ? sum / sqrt((double)draws * (double)n) : 0;
}
