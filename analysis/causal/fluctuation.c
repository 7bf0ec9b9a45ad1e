// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/causal/fluctuation.h"

#include <errno.h>
#include <math.h>

#include "analysis/causal/pair_weights.h"

#define MIN_PAIRS   6	 /* to know the scatter */
#define MANY_VISITS 10	 /* a half has by chance none of so many: 1 in 20,000 */
#define MIN_RATIO   0.05 /* of fitted periods */

/* The residuals of pairs, and the sum of their variances that counting explains. */
struct scatter {
	ARRAY(double) residuals;
	double counting;
};

static int scatter_add(struct scatter *scatter, double residual, double visits, double other_visits)
{
	/* Where few visits are expected, there may be none by chance. */
	if (!isfinite(residual) ||
	    (!(fmin(visits, other_visits) > 0) && fmax(visits, other_visits) < MANY_VISITS))
		return 0;
	scatter->counting += 1 / fmax(visits, 1) + 1 / fmax(other_visits, 1);
	return array__push(&scatter->residuals, residual);
}

/* The deviations of the pairs of @series from @curve. */
static int scatter_of_pairs(struct scatter *scatter, const struct causal_series *series,
			    const struct causal_curve *curve)
{
	int err = 0;

	for (size_t i = 0; i < series->pairs.n && !err; i++) {
		const struct causal_pair *pair = &series->pairs.data[i];
		double fitted = causal_fit__at(&curve->fit, pair->speedup) / curve->phase_factor;

		err = scatter_add(scatter, pair->log_ratio - log(fmax(1 - fitted, MIN_RATIO)),
				  pair->base_visits, pair->with_visits);
	}
	return err;
}

/* The differences between the halves without a speedup of successive experiments. */
static int scatter_of_baseline(struct scatter *scatter, const struct causal_effects *effects,
			       uint32_t point)
{
	const struct causal_profile *profile = effects->profile;
	bool is_sampled = profile->points.data[point].kind == CAUSAL_SAMPLED;
	const struct causal_experiment *last = NULL;
	int err = 0;

	for (size_t i = 0; i < profile->experiments.n && !err; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];
		double period =
			is_sampled ? fmax((double)profile->runs.data[experiment->run].period_ns, 1)
				   : 1;
		double visits, before;

		if (experiment->whole_run || effects->left_out[experiment->run])
			continue;
		if (last && last->run == experiment->run) {
			visits = (double)causal_half__visits(&experiment->base, point)->visits /
				 period;
			before = (double)causal_half__visits(&last->base, point)->visits / period;
			err = scatter_add(
				scatter,
				log((visits + 0.5) / (double)experiment->base.duration_ns /
				    ((before + 0.5) / (double)last->base.duration_ns)),
				visits, before);
		}
		last = experiment;
	}
	return err;
}

double causal_fluctuation__find(const struct causal_effects *effects,
				const struct causal_series *series,
				const struct causal_curve *curve)
{
	struct scatter scatter = {};
	double scale = 0;
	size_t n;
	int err = series->pairs.n < MIN_PAIRS
			  ? scatter_of_baseline(&scatter, effects, series->point)
			  : scatter_of_pairs(&scatter, series, curve);

	n = scatter.residuals.n;
	if (!err && n >= MIN_PAIRS)
		scale = causal_residuals__scale(scatter.residuals.data, n);
	if (scale > 0 && isfinite(scale))
		scale = sqrt(fmax(scale * scale - scatter.counting / (double)n, 0));
	array__free(&scatter.residuals);
	return err ? NAN : isfinite(scale) ? scale : 0;
}
