// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/pair_weights.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/causal/fit.h"

/* Spans are used for a cell when this share of its pairs have them. */
#define MIN_SPAN_SHARE 0.8

/* Width of the biweight in scales (Tukey): 95 % efficient with normal errors. */
#define BIWEIGHT_WIDTH 4.685

/* A series with fewer residuals uses the scale of its pool. */
#define MIN_RESIDUALS 8

struct double_array {
	ARRAY(double) all;
};

/* Uses spans as times if enough pairs have them; the others get weight 0. */
static void cell_choose_times(struct causal_pair *pairs, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		known += pairs[i].base_span > 0 && pairs[i].with_span > 0;
	if ((double)known < MIN_SPAN_SHARE * (double)n)
		return;
	for (size_t i = 0; i < n; i++) {
		if (!(pairs[i].base_span > 0 && pairs[i].with_span > 0)) {
			pairs[i].weight = 0;
			continue;
		}
		pairs[i].base_time = pairs[i].base_span;
		pairs[i].with_time = pairs[i].with_span;
	}
}

/*
 * The log of the pair's ratio of periods; of a whole run, the log of its period. Half a visit and
 * some time are added, so that it is finite for halves without a visit or effective time.
 */
static double pair_log_ratio(const struct causal_pair *pair, bool whole_run)
{
	double with, base;

	if (!(pair->weight > 0))
		return NAN;
	if (whole_run)
		return log(pair->with_time / pair->with_visits);
	with = (pair->with_time + 0.05 * pair->base_time) / (pair->with_visits + 0.5);
	base = 1.05 * pair->base_time / (pair->base_visits + 0.5);
	return log(with / base);
}

size_t causal_cell__comparable(const struct causal_series *series, const struct causal_cell *cell,
			       size_t from)
{
	const struct causal_pair *pairs = causal_cell__pairs(series, cell);
	size_t n = 1;

	while (from + n < cell->n && pairs[from + n].command == pairs[from].command)
		n++;
	return n;
}

static int compare_commands(const void *left, const void *right)
{
	const struct causal_pair *a = left, *b = right;

	return (a->command > b->command) - (a->command < b->command);
}

static void series_prepare(struct causal_series *series)
{
	for (size_t c = 0; c < series->cells.n; c++) {
		const struct causal_cell *cell = &series->cells.data[c];
		struct causal_pair *pairs = causal_cell__pairs(series, cell);

		if (series->whole_run)
			qsort(pairs, cell->n, sizeof(*pairs), compare_commands);
		else
			cell_choose_times(pairs, cell->n);
		for (size_t i = 0; i < cell->n; i++)
			pairs[i].log_ratio = pair_log_ratio(&pairs[i], series->whole_run);
	}
}

/* Puts the @values that are not NAN into @sorted, in order. Returns their number. */
static size_t sort_numbers(const double *values, size_t n, double *sorted)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(values[i]))
			sorted[k++] = values[i];
	causal_fit__sort(sorted, k);
	return k;
}

/*
 * Adds the residuals of @n comparable pairs around their median, scaled up because the median is
 * estimated from them.
 */
static int comparable_residuals(const struct causal_pair *pairs, size_t n,
				struct double_array *scratch, struct double_array *out)
{
	double *values, center, inflation;
	size_t k;

	scratch->all.n = 0;
	if (array__reserve(&scratch->all, 2 * n) || array__reserve(&out->all, n))
		return -ENOMEM;
	values = scratch->all.data;
	for (size_t i = 0; i < n; i++)
		values[n + i] = pairs[i].log_ratio;
	k = sort_numbers(values + n, n, values);
	if (k < 2)
		return 0;
	center = causal_fit__quantile(values, k, 0.5);
	inflation = sqrt((double)k / (double)(k - 1));
	for (size_t i = 0; i < k; i++)
		if (k % 2 == 0 || i != k / 2)
			out->all.data[out->all.n++] = inflation * (values[i] - center);
	return 0;
}

static int series_residuals(const struct causal_series *series, struct double_array *scratch,
			    struct double_array *out)
{
	for (size_t c = 0; c < series->cells.n; c++) {
		const struct causal_cell *cell = &series->cells.data[c];
		size_t n;

		for (size_t i = 0; i < cell->n; i += n) {
			n = causal_cell__comparable(series, cell, i);
			if (comparable_residuals(causal_cell__pairs(series, cell) + i, n, scratch,
						 out))
				return -ENOMEM;
		}
	}
	return 0;
}

double causal_residuals__scale(double *residuals, size_t n)
{
	double spread, center;

	if (!n)
		return INFINITY;
	causal_fit__sort(residuals, n);
	spread = (causal_fit__quantile(residuals, n, 0.85) -
		  causal_fit__quantile(residuals, n, 0.15)) /
		 2.073;
	for (size_t i = 0; i < n; i++)
		residuals[i] = fabs(residuals[i]);
	causal_fit__sort(residuals, n);
	center = 1.4826 * causal_fit__quantile(residuals, n, 0.5);
	return fmax(spread, center);
}

/* Lower bound of the scale: the error of counting whole visits. */
static double series_counting_error(const struct causal_series *series)
{
	double variance = 0;
	size_t n = 0;

	for (size_t i = 0; i < series->pairs.n && !series->whole_run; i++, n++) {
		double base = series->pairs.data[i].base_visits + 0.5;
		double with = series->pairs.data[i].with_visits + 0.5;

		variance += (1 / (base * base) + 1 / (with * with)) / 6;
	}
	return n ? sqrt(variance / (double)n) : 0;
}

static double biweight(double distance)
{
	double rest = 1 - distance * distance;

	return fabs(distance) < 1 ? rest * rest : 0;
}

void causal_biweights__find(const double *values, double *weights, size_t n, double scale)
{
	double center, sum, total = 0;
	size_t k = sort_numbers(values, n, weights);

	center = k ? causal_fit__quantile(weights, k, 0.5) : 0;
	for (int round = 0; round < 3; round++) {
		sum = total = 0;
		for (size_t i = 0; i < n; i++) {
			bool counts = !isnan(values[i]);

			weights[i] =
				counts && k >= 3
					? biweight((values[i] - center) / (BIWEIGHT_WIDTH * scale))
					: counts;
			total += weights[i];
			sum += counts ? weights[i] * values[i] : 0;
		}
		if (total > 0)
			center = sum / total;
	}
	/* If half of them are outliers, it is unknown which half. */
	for (size_t i = 0; i < n && total < 0.5 * (double)k; i++)
		weights[i] = !isnan(values[i]);
}

static int series_weigh(struct causal_series *series, double scale, struct double_array *scratch)
{
	scale = fmax(scale, fmax(series_counting_error(series), 0.005));
	for (size_t c = 0; c < series->cells.n; c++) {
		struct causal_cell *cell = &series->cells.data[c];
		struct causal_pair *pairs = causal_cell__pairs(series, cell);
		size_t n;

		for (size_t first = 0; first < cell->n; first += n) {
			double *values, *weights;

			n = causal_cell__comparable(series, cell, first);
			scratch->all.n = 0;
			if (array__reserve(&scratch->all, 2 * n))
				return -ENOMEM;
			values = scratch->all.data;
			weights = values + n;
			for (size_t i = 0; i < n; i++)
				values[i] = pairs[first + i].log_ratio;
			causal_biweights__find(values, weights, n, scale);
			for (size_t i = 0; i < n; i++) {
				pairs[first + i].weight = weights[i];
				cell->disturbed += !isnan(values[i]) && !(weights[i] > 0);
			}
		}
	}
	return 0;
}

/* The scale of each pool; INFINITY: it has too few residuals. */
static int pools_scales(struct causal_series_set *set, struct double_array *scratch, double *scales,
			size_t n)
{
	_cleanup_free_ struct double_array *pools = calloc(n + 1, sizeof(*pools));
	int err = pools ? 0 : -ENOMEM;

	for (size_t i = 0; i < set->series.n && !err; i++) {
		struct causal_series *series = &set->series.data[i];

		err = series_residuals(series, scratch, &pools[causal_series__pool(series)]);
	}
	for (size_t i = 0; pools && i < n; i++) {
		scales[i] = pools[i].all.n < MIN_RESIDUALS
				    ? INFINITY
				    : causal_residuals__scale(pools[i].all.data, pools[i].all.n);
		array__free(&pools[i].all);
	}
	return err;
}

int causal_series_set__weigh(struct causal_series_set *set, size_t n_points)
{
	_cleanup_free_ double *scales = calloc(2 * n_points + 1, sizeof(*scales));
	struct double_array scratch = {}, own = {};
	int err = scales ? 0 : -ENOMEM;

	for (size_t i = 0; i < set->series.n; i++)
		series_prepare(&set->series.data[i]);
	err = err ? err : pools_scales(set, &scratch, scales, 2 * n_points);
	for (size_t i = 0; i < set->series.n && !err; i++) {
		struct causal_series *series = &set->series.data[i];
		double scale = scales[causal_series__pool(series)];

		own.all.n = 0;
		err = series_residuals(series, &scratch, &own);
		if (own.all.n >= MIN_RESIDUALS)
			scale = causal_residuals__scale(own.all.data, own.all.n);
		err = err ? err : series_weigh(series, scale, &scratch);
	}
	array__free(&scratch.all);
	array__free(&own.all);
	return err;
}
