// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/robust_fit.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/causal/pair_weights.h"

/* Among fewer points no outlier can be identified. */
#define MIN_POINTS 5

#define ROUNDS 4

double robust_fit__ratio(const struct causal_fit *fit, double speedup)
{
	return fmax(1 - causal_fit__at(fit, speedup), CAUSAL_MIN_RATIO);
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

/* A robust first line: the weighted median of the points' slopes. */
static int median_slope(const struct fit_point *points, size_t n, struct causal_fit *fit)
{
	_cleanup_free_ struct slope *slopes = calloc(n, sizeof(*slopes));
	double all = 0, sum = 0;

	if (!slopes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		slopes[i].slope = points[i].value / points[i].speedup;
		slopes[i].weight = points[i].n * points[i].speedup;
		all += slopes[i].weight;
	}
	qsort(slopes, n, sizeof(*slopes), compare_slopes);
	*fit = (struct causal_fit){};
	for (size_t i = 0; i < n && sum < all / 2; i++) {
		sum += slopes[i].weight;
		fit->slope = slopes[i].slope;
	}
	return 0;
}

/*
 * Residuals of points around @fit: the log of the ratios, scaled to a single pair; NAN for points
 * of CAUSAL_MANY_PAIRS or more. Returns the number of others.
 */
static size_t points_residuals(const struct fit_point *points, size_t n,
			       const struct causal_fit *fit, double *residuals)
{
	size_t few = 0;

	for (size_t i = 0; i < n; i++) {
		double expected = fmax(1 - causal_fit__at(fit, points[i].speedup), 0);

		residuals[i] = NAN;
		if (points[i].n >= CAUSAL_MANY_PAIRS)
			continue;
		residuals[i] = sqrt(points[i].n) *
			       log((fmax(1 - points[i].value, 0) + 0.05) / (expected + 0.05));
		few++;
	}
	return few;
}

static struct causal_fit fit_best_line(const struct fit_point *points, size_t n)
{
	return n < MIN_POINTS ? causal_fit__straight(points, n) : causal_fit__with_knee(points, n);
}

int robust_fit__weigh(struct fit_point *points, size_t n, struct causal_fit *fit)
{
	_cleanup_free_ double *residuals = calloc(3 * n + 1, sizeof(*residuals));
	double *weights, *scratch;
	int err = residuals ? median_slope(points, n, fit) : -ENOMEM;

	if (err)
		return err;
	weights = residuals + n;
	scratch = weights + n;
	for (int round = 0; round < ROUNDS; round++) {
		size_t few = points_residuals(points, n, fit, residuals), k = 0;

		for (size_t i = 0; i < n; i++)
			if (!isnan(residuals[i]))
				scratch[k++] = residuals[i];
		causal_biweights__find(residuals, weights, n,
				       few < MIN_POINTS ? INFINITY
							: causal_residuals__scale(scratch, k));
		for (size_t i = 0; i < n; i++) {
			double ratio = robust_fit__ratio(fit, points[i].speedup);

			points[i].weight = points[i].n / (ratio * ratio);
			if (!isnan(residuals[i]))
				points[i].weight *= weights[i];
		}
		*fit = fit_best_line(points, n);
	}
	return 0;
}
