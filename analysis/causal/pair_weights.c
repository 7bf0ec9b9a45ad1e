// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/pair_weights.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/causal/fit.h"

/* Spans are used for a cell when so many of its pairs have them. */
#define KNOWN_SPANS 0.8

/* Tukey's constant: 95 % efficient with normal errors. */
#define BIWEIGHT 4.685

/* From so many deviations on, those of a series say how far its pairs scatter. */
#define ENOUGH_DEVIATIONS 8

struct doubles {
	ARRAY(double) all;
};

static struct causal_pair *cell__pairs(const struct causal_series *series,
				       const struct causal_cell *cell)
{
	return series->pairs.data + cell->first;
}

/* Takes spans for times where enough are known; pairs without one are left out then. */
static void cell__choose_times(struct causal_pair *pairs, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		known += pairs[i].base_span > 0 && pairs[i].with_span > 0;
	if ((double)known < KNOWN_SPANS * (double)n)
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
 * The log of the pair's ratio, of whole runs of its period. Visits are half of one more, and
 * times a little longer, than they are: none at all must not be infinitely far from few.
 */
static double pair__deviation(const struct causal_pair *pair, bool whole_run)
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

size_t causal_cell__alike(const struct causal_series *series, const struct causal_cell *cell,
			  size_t from)
{
	const struct causal_pair *pairs = cell__pairs(series, cell);
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

static void series__prepare(struct causal_series *series)
{
	for (size_t c = 0; c < series->cells.n; c++) {
		const struct causal_cell *cell = &series->cells.data[c];
		struct causal_pair *pairs = cell__pairs(series, cell);

		if (series->whole_run)
			qsort(pairs, cell->n, sizeof(*pairs), compare_commands);
		else
			cell__choose_times(pairs, cell->n);
		for (size_t i = 0; i < cell->n; i++)
			pairs[i].deviation = pair__deviation(&pairs[i], series->whole_run);
	}
}

/* The values that are numbers, in order; how many. */
static size_t sorted__numbers(const double *values, size_t n, double *sorted)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(values[i]))
			sorted[k++] = values[i];
	causal_fit__sort(sorted, k);
	return k;
}

/* The deviations of like pairs from the middle one, made up for the middle being theirs. */
static int alike__deviations(const struct causal_pair *pairs, size_t n, struct doubles *scratch,
			     struct doubles *out)
{
	double *values, middle, more;
	size_t k;

	scratch->all.n = 0;
	if (array__reserve(&scratch->all, 2 * n) || array__reserve(&out->all, n))
		return -ENOMEM;
	values = scratch->all.data;
	for (size_t i = 0; i < n; i++)
		values[n + i] = pairs[i].deviation;
	k = sorted__numbers(values + n, n, values);
	if (k < 2)
		return 0;
	middle = causal_fit__quantile(values, k, 0.5);
	more = sqrt((double)k / (double)(k - 1));
	for (size_t i = 0; i < k; i++)
		if (k % 2 == 0 || i != k / 2)
			out->all.data[out->all.n++] = more * (values[i] - middle);
	return 0;
}

static int series__deviations(const struct causal_series *series, struct doubles *scratch,
			      struct doubles *out)
{
	for (size_t c = 0; c < series->cells.n; c++) {
		const struct causal_cell *cell = &series->cells.data[c];
		size_t n;

		for (size_t i = 0; i < cell->n; i += n) {
			n = causal_cell__alike(series, cell, i);
			if (alike__deviations(cell__pairs(series, cell) + i, n, scratch, out))
				return -ENOMEM;
		}
	}
	return 0;
}

double causal_deviations__scale(double *deviations, size_t n)
{
	double spread, middle;

	if (!n)
		return INFINITY;
	causal_fit__sort(deviations, n);
	spread = (causal_fit__quantile(deviations, n, 0.85) -
		  causal_fit__quantile(deviations, n, 0.15)) /
		 2.073;
	for (size_t i = 0; i < n; i++)
		deviations[i] = fabs(deviations[i]);
	causal_fit__sort(deviations, n);
	middle = 1.4826 * causal_fit__quantile(deviations, n, 0.5);
	return fmax(spread, middle);
}

/* The least that counting whole visits in a stretch of time scatters. */
static double series__counting(const struct causal_series *series)
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

static double biweight(double off)
{
	double rest = 1 - off * off;

	return fabs(off) < 1 ? rest * rest : 0;
}

void causal_weights__find(const double *values, double *weights, size_t n, double scale)
{
	double middle, sum, total = 0;
	size_t k = sorted__numbers(values, n, weights);

	middle = k ? causal_fit__quantile(weights, k, 0.5) : 0;
	for (int round = 0; round < 3; round++) {
		sum = total = 0;
		for (size_t i = 0; i < n; i++) {
			bool counts = !isnan(values[i]);

			weights[i] = counts && k >= 3
					     ? biweight((values[i] - middle) / (BIWEIGHT * scale))
					     : counts;
			total += weights[i];
			sum += counts ? weights[i] * values[i] : 0;
		}
		if (total > 0)
			middle = sum / total;
	}
	/* When half of them do not fit, nobody knows which half. */
	for (size_t i = 0; i < n && total < 0.5 * (double)k; i++)
		weights[i] = !isnan(values[i]);
}

static int series__weigh(struct causal_series *series, double scale, struct doubles *scratch)
{
	scale = fmax(scale, fmax(series__counting(series), 0.005));
	for (size_t c = 0; c < series->cells.n; c++) {
		struct causal_cell *cell = &series->cells.data[c];
		struct causal_pair *pairs = cell__pairs(series, cell);
		size_t n;

		for (size_t first = 0; first < cell->n; first += n) {
			double *values, *weights;

			n = causal_cell__alike(series, cell, first);
			scratch->all.n = 0;
			if (array__reserve(&scratch->all, 2 * n))
				return -ENOMEM;
			values = scratch->all.data;
			weights = values + n;
			for (size_t i = 0; i < n; i++)
				values[i] = pairs[first + i].deviation;
			causal_weights__find(values, weights, n, scale);
			for (size_t i = 0; i < n; i++) {
				pairs[first + i].weight = weights[i];
				cell->disturbed += !isnan(values[i]) && !(weights[i] > 0);
			}
		}
	}
	return 0;
}

/* How far the pairs of the series of each pool scatter. */
static int pools__scales(struct causal_sorted *sorted, struct doubles *scratch, double *scales,
			 size_t n)
{
	_cleanup_free_ struct doubles *pools = calloc(n + 1, sizeof(*pools));
	int err = pools ? 0 : -ENOMEM;

	for (size_t i = 0; i < sorted->series.n && !err; i++) {
		struct causal_series *series = &sorted->series.data[i];

		err = series__deviations(series, scratch, &pools[causal_series__pool(series)]);
	}
	for (size_t i = 0; pools && i < n; i++) {
		scales[i] = pools[i].all.n < ENOUGH_DEVIATIONS
				    ? INFINITY
				    : causal_deviations__scale(pools[i].all.data, pools[i].all.n);
		array__free(&pools[i].all);
	}
	return err;
}

int causal_sorted__weigh(struct causal_sorted *sorted, size_t n_points)
{
	_cleanup_free_ double *scales = calloc(2 * n_points + 1, sizeof(*scales));
	struct doubles scratch = {}, own = {};
	int err = scales ? 0 : -ENOMEM;

	for (size_t i = 0; i < sorted->series.n; i++)
		series__prepare(&sorted->series.data[i]);
	err = err ? err : pools__scales(sorted, &scratch, scales, 2 * n_points);
	for (size_t i = 0; i < sorted->series.n && !err; i++) {
		struct causal_series *series = &sorted->series.data[i];
		double scale = scales[causal_series__pool(series)];

		own.all.n = 0;
		err = series__deviations(series, &scratch, &own);
		if (own.all.n >= ENOUGH_DEVIATIONS)
			scale = causal_deviations__scale(own.all.data, own.all.n);
		err = err ? err : series__weigh(series, scale, &scratch);
	}
	array__free(&scratch.all);
	array__free(&own.all);
	return err;
}
