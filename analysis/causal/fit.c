// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/fit.h"

#include <math.h>
#include <stdlib.h>

/* Knees are tried at multiples of 1 / KNEES. */
#define KNEES 40

/* Pairs before and after a knee, at least; twice as many after it if they have one speedup. */
#define KNEE_PAIRS 3

double causal_fit__at(const struct causal_fit *fit, double speedup)
{
	if (!(fit->knee > 0) || speedup <= fit->knee)
		return fit->slope * speedup;
	return fit->slope * fit->knee + fit->slope_after * (speedup - fit->knee);
}

double causal_fit__slope(const struct fit_point *points, size_t n)
{
	double xx = 0, xy = 0;

	for (size_t i = 0; i < n; i++) {
		xx += points[i].weight * points[i].speedup * points[i].speedup;
		xy += points[i].weight * points[i].speedup * points[i].value;
	}
	return xx > 0 ? xy / xx : 0;
}

struct causal_fit causal_fit__straight(const struct fit_point *points, size_t n)
{
	return (struct causal_fit){.slope = causal_fit__slope(points, n)};
}

double causal_fit__residual_squares(const struct causal_fit *fit, const struct fit_point *points,
				    size_t n)
{
	double squares = 0;

	for (size_t i = 0; i < n; i++) {
		double residual = points[i].value - causal_fit__at(fit, points[i].speedup);

		squares += points[i].weight * residual * residual;
	}
	return squares;
}

/* The best fit with a knee at @knee; false if it is undetermined. */
static bool fit_with_knee_at(double knee, const struct fit_point *points, size_t n,
			     struct causal_fit *fit)
{
	double aa = 0, ab = 0, bb = 0, ay = 0, by = 0, determinant;

	for (size_t i = 0; i < n; i++) {
		double a = fmin(points[i].speedup, knee), b = points[i].speedup - a;
		double weight = points[i].weight;

		aa += weight * a * a;
		ab += weight * a * b;
		bb += weight * b * b;
		ay += weight * a * points[i].value;
		by += weight * b * points[i].value;
	}
	determinant = aa * bb - ab * ab;
	if (!(determinant > 1e-9 * aa * bb))
		return false;
	fit->knee = knee;
	fit->slope = (ay * bb - by * ab) / determinant;
	fit->slope_after = (by * aa - ay * ab) / determinant;
	return true;
}

/* Whether there are enough pairs on either side of @knee. */
static bool knee_has_pairs(double knee, const struct fit_point *points, size_t n)
{
	double before = 0, after = 0;
	size_t points_after = 0;

	for (size_t i = 0; i < n; i++) {
		if (points[i].speedup <= knee + 1e-9) {
			before += points[i].n;
			continue;
		}
		after += points[i].n;
		points_after++;
	}
	return before >= KNEE_PAIRS && after >= (points_after > 1 ? KNEE_PAIRS : 2 * KNEE_PAIRS);
}

static bool fit_with_plateau_from(double knee, const struct fit_point *points, size_t n,
				  struct causal_fit *fit)
{
	double aa = 0, ay = 0;

	for (size_t i = 0; i < n; i++) {
		double a = fmin(points[i].speedup, knee);

		aa += points[i].weight * a * a;
		ay += points[i].weight * a * points[i].value;
	}
	*fit = (struct causal_fit){.slope = ay / fmax(aa, 1e-300), .knee = knee};
	return aa > 0;
}

/* The best fit by @with_knee over all knees; the straight line if there is none. */
static struct causal_fit fit_search(const struct fit_point *points, size_t n,
				    bool (*with_knee)(double knee, const struct fit_point *points,
						      size_t n, struct causal_fit *fit))
{
	struct causal_fit best = causal_fit__straight(points, n), fit;
	double least = INFINITY;

	if (n < CAUSAL_SHAPE_RESULTS)
		return best;
	for (int i = 1; i < KNEES; i++) {
		double knee = (double)i / KNEES, squares;

		if (!knee_has_pairs(knee, points, n) || !with_knee(knee, points, n, &fit) ||
		    fit.slope_after >= fit.slope)
			continue;
		squares = causal_fit__residual_squares(&fit, points, n);
		if (squares < least) {
			least = squares;
			best = fit;
		}
	}
	return best;
}

struct causal_fit causal_fit__with_knee(const struct fit_point *points, size_t n)
{
	return fit_search(points, n, fit_with_knee_at);
}

struct causal_fit causal_fit__with_plateau(const struct fit_point *points, size_t n)
{
	return fit_search(points, n, fit_with_plateau_from);
}

double causal_fit__best_at(const struct causal_fit *fit, double most)
{
	if (!(fit->knee > 0) || fit->knee > most)
		return most;
	return causal_fit__at(fit, fit->knee) > causal_fit__at(fit, most) ? fit->knee : most;
}

double causal_fit__worst_at(const struct causal_fit *fit, double most)
{
	if (!(fit->knee > 0) || fit->knee > most)
		return most;
	return causal_fit__at(fit, fit->knee) < causal_fit__at(fit, most) ? fit->knee : most;
}

/* Acklam's approximation; the relative error is below 1.2e-9. */
double causal_fit__normal_quantile(double p)
{
	static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
				   -2.759285104469687e+02, 1.383577518672690e+02,
				   -3.066479806614716e+01, 2.506628277459239e+00};
	static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
				   -1.556989798598866e+02, 6.680131188771972e+01,
				   -1.328068155288572e+01};
	static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
				   -2.400758277161838e+00, -2.549732539343734e+00,
				   4.374664141464968e+00,  2.938163982698783e+00};
	static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01,
				   2.445134137142996e+00, 3.754408661907416e+00};
	double q, r;

	if (p > 0.5)
		return -causal_fit__normal_quantile(1 - p);
	if (p < 0.02425) {
		q = sqrt(-2 * log(fmax(p, 1e-300)));
		return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
		       ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
	}
	q = p - 0.5;
	r = q * q;
	return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
	       (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

double causal_fit__student_97_5(double freedom)
{
	static const double few[] = {12.706, 4.303, 3.182, 2.776};
	double z = 1.959964, z2 = z * z, f = freedom;

	if (f < 1)
		return few[0];
	if (f < 4) {
		int below = (int)f - 1;

		return few[below] + (f - floor(f)) * (few[below + 1] - few[below]);
	}
	/* Cornish and Fisher's expansion: 0.3 % residual at 4, less above. */
	return z * (1 + (z2 + 1) / (4 * f) + (5 * z2 * z2 + 16 * z2 + 3) / (96 * f * f) +
		    (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) / (384 * f * f * f));
}

double causal_fit__quantile(const double *values, size_t n, double p)
{
	double place = p * (double)(n - 1);
	size_t below = (size_t)place;

	if (below + 1 >= n)
		return values[n - 1];
	return values[below] + (place - (double)below) * (values[below + 1] - values[below]);
}

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

void causal_fit__sort(double *values, size_t n)
{
	if (n)
		qsort(values, n, sizeof(*values), compare_values);
}
