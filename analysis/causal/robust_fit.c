// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/robust_fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/causal/pair_weights.h"

/* Of fewer dots nobody can say which one does not fit. */
#define FEWEST_POINTS 5

#define ROUNDS 4

double robust_fit__ratio(const struct causal_fit *fit, double speedup)
{
	return fmax(1 - causal_fit__at(fit, speedup), CAUSAL_LEAST_RATIO);
}

struct slope {
	double slope;
	double weight;
};

static int compare_slopes(const void *left, const void *right)
{
	const struct slope *a = left, *b = right;

	return (a->slope > b->slope) - (a->slope < b->slope);
}

/* A line that few dots, however far off, do not move: the middle one of their slopes. */
static int middle_slope(const struct fit_point *dots, size_t n, struct causal_fit *fit)
{
	_cleanup_free_ struct slope *slopes = calloc(n, sizeof(*slopes));
	double all = 0, sum = 0;

	if (!slopes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		slopes[i].slope = dots[i].value / dots[i].speedup;
		slopes[i].weight = dots[i].n * dots[i].speedup;
		all += slopes[i].weight;
	}
	qsort(slopes, n, sizeof(*slopes), compare_slopes);
	*fit = (struct causal_fit){};
	for (size_t i = 0; i < n && sum < all / 2; i++) {
		sum += slopes[i].weight;
		fit->rise = slopes[i].slope;
	}
	return 0;
}

/*
 * How far each dot is off @fit, as the log of ratios and in units of a single pair; NAN for
 * those of many pairs. How many are not.
 */
static size_t dots__off(const struct fit_point *dots, size_t n, const struct causal_fit *fit,
			double *off)
{
	size_t few = 0;

	for (size_t i = 0; i < n; i++) {
		double expected = fmax(1 - causal_fit__at(fit, dots[i].speedup), 0);

		off[i] = NAN;
		if (dots[i].n >= CAUSAL_MANY_PAIRS)
			continue;
		off[i] = sqrt(dots[i].n) *
			 log((fmax(1 - dots[i].value, 0) + 0.05) / (expected + 0.05));
		few++;
	}
	return few;
}

static struct causal_fit fit__line(const struct fit_point *dots, size_t n)
{
	return n < FEWEST_POINTS ? causal_fit__straight(dots, n) : causal_fit__bent(dots, n);
}

int robust_fit__weigh(struct fit_point *dots, size_t n, struct causal_fit *fit)
{
	_cleanup_free_ double *off = calloc(3 * n + 1, sizeof(*off));
	double *weights, *scratch;
	int err = off ? middle_slope(dots, n, fit) : -ENOMEM;

	if (err)
		return err;
	weights = off + n;
	scratch = weights + n;
	for (int round = 0; round < ROUNDS; round++) {
		size_t few = dots__off(dots, n, fit, off), k = 0;

		for (size_t i = 0; i < n; i++)
			if (!isnan(off[i]))
				scratch[k++] = off[i];
		causal_weights__find(off, weights, n,
				     few < FEWEST_POINTS ? INFINITY
							 : causal_deviations__scale(scratch, k));
		for (size_t i = 0; i < n; i++) {
			double ratio = robust_fit__ratio(fit, dots[i].speedup);

			dots[i].weight = dots[i].n / (ratio * ratio);
			if (!isnan(off[i]))
				dots[i].weight *= weights[i];
		}
		*fit = fit__line(dots, n);
	}
	return 0;
}
