/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a causal profile says: by how much the program's period between visits (or its
 * latency) would shrink if a target were faster. Coz, SOSP'15, sections 2, 3.2 and 3.4
 * ("Adjusting for phases"); Blocked Samples, OSDI'24, 3.3. docs/causal.md has the
 * reasons for the statistics, with figures.
 *
 * A program speedup is 1 - p_s / p_0, where p is the effective time per visit with and
 * without the virtual speedup: 0 no effect, 0.5 twice the throughput, below 0 slower.
 * Experiments of one target, point and speedup are put together as a ratio of sums over
 * their pairs of halves (Mantel and Haenszel's), from which pairs that do not fit the
 * others are left out by degrees (Tukey's biweight). Latency is L / lambda (Little's law).
 * Intervals are of 95 %, by a bootstrap of the errors that pairs of one speedup have.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "recording/causal/causal_profile.h"

/* Less of an effect is none. */
#define CAUSAL_NEGLIGIBLE 0.02

/* Of so many speedups it can be told whether a curve is straight or has a knee. */
#define CAUSAL_SHAPE_RESULTS 4

struct causal_options {
	uint64_t min_visits; /* to a point in all halves together, of a result; fewer: left out */
	uint32_t resamples;  /* of the bootstrap; 0: 1000 */
	uint64_t seed;	     /* of its random numbers */
	const char *point;   /* only this; NULL all */
};

/* One point of a curve. */
struct causal_result {
	double speedup;		/* virtual, of the target */
	double program_speedup; /* corrected for phases */
	double low;		/* of 95 % */
	double high;
	uint64_t experiments;
	uint64_t disturbed; /* of them, left out */
	uint64_t visits;    /* in both halves; of a sampled point, samples */
};

enum causal_shape {
	CAUSAL_NO_EFFECT = 0, /* whatever it has lies within CAUSAL_NEGLIGIBLE */
	CAUSAL_GAIN = 1,
	CAUSAL_PLATEAU = 2,    /* gains up to plateau_at, no more behind it */
	CAUSAL_CONTENTION = 3, /* gets worse the faster it is */
	CAUSAL_UNSURE = 4,     /* too few or too scattered results to tell */
};

/* A curve as a line through the origin, which may have a knee. */
struct causal_fit {
	double rise;   /* program speedup by speedup; up to the knee, if there is one */
	double knee;   /* a speedup; 0: it is straight */
	double behind; /* the rise behind the knee */
};

/* The effect of one target on one point. */
struct causal_curve {
	uint32_t target; /* index in the profile */
	uint32_t point;
	const char *also; /* as in the experiments; curves with and without are apart */
	bool whole_run;	  /* of end-to-end experiments; apart from others, too */
	ARRAY(struct causal_result) results; /* by speedup; 0 is left out, it has no effect */
	/* Of the regression through the origin, weighted by precision: program speedup at 100 %. */
	double slope;
	double slope_low, slope_high;
	struct causal_fit
		fit;	/* has a knee when that is significantly better than the straight line */
	double best;	/* the largest program speedup on the fitted curve, up to what was tried */
	double best_at; /* the speedup it is at */
	double best_low, best_high;
	double worst_low, worst_high; /* of the least program speedup on the fitted curve */
	double sure; /* what best is at least, said of all curves at once: the rank goes by it */
	enum causal_shape shape;
	double plateau_at;   /* speedup from which on there is no more gain; 0 none */
	double plateau_gain; /* the gain there */
	double plateau_low, plateau_high;
	double phase_factor;  /* what speedups were multiplied by: 1 it runs all the time */
	uint64_t experiments; /* in all results */
	uint64_t disturbed;
	uint64_t visits;
};

/* Why there is little or nothing, in the order of how much it explains. */
enum causal_problem_kind {
	CAUSAL_PROBLEM_NO_RUN = 0,	 /* no run came as far as an experiment */
	CAUSAL_PROBLEM_NO_POINT,	 /* no progress point was named or met */
	CAUSAL_PROBLEM_NOT_VISITED,	 /* points are known, and never visited in an experiment */
	CAUSAL_PROBLEM_FEW_VISITS,	 /* too few for an estimate */
	CAUSAL_PROBLEM_NOTHING_IN_SCOPE, /* no sample fell into the scope */
	CAUSAL_PROBLEM_NOT_HIT,		 /* a target did not run in any experiment */
	CAUSAL_PROBLEM_FEW_EXPERIMENTS,	 /* the intervals are wide */
	CAUSAL_PROBLEM_UNSTABLE,	 /* more begins than ends: Little's law does not hold */
	CAUSAL_PROBLEM_COMMAND,		 /* it failed, or did not come to its end */
	CAUSAL_PROBLEM_TROUBLE,		 /* told by the run itself */
	CAUSAL_PROBLEM_DAMAGED,		 /* lines of the profile could not be read */
};

struct causal_problem {
	enum causal_problem_kind kind;
	char *text; /* what, with its figures, and what to do: one or two sentences */
};

struct causal_effects {
	const struct causal_profile *profile;
	/*
	 * By rank: gains, the largest sure one on top; then contention, the worst on top; then
	 * what is unsure; then no effect.
	 */
	ARRAY(struct causal_curve) curves;
	ARRAY(struct causal_problem) problems;
};

/*
 * @profile has to outlive the result. 0, -ENOMEM, or -ENOENT (with error__set()) when
 * there is no such point. An empty profile gives problems only.
 */
int causal__effects(const struct causal_profile *profile, const struct causal_options *options,
		    struct causal_effects **out);
void causal_effects__free(struct causal_effects *effects);
DEFINE_CLEANUP(struct causal_effects *, causal_effects__free)
#define _cleanup_causal_effects_ _cleanup_(causal_effects__freep)

/*
 * Whether more experiments would change little: the best of each point is known to +- @width
 * (0.03: 3 points), and nothing could yet turn out to be better. @all: every curve is known
 * as well, not only the best.
 */
bool stopping_rule__is_met(const struct causal_effects *effects, double width, bool all);

/* "gain", "plateau" ... as in JSON. */
const char *causal_shape__name(enum causal_shape shape);

/* "no-run", "no-point" ... as in JSON. */
const char *causal_problem__name(enum causal_problem_kind kind);

/* The program speedup that @fit has at @speedup. */
double causal_fit__at(const struct causal_fit *fit, double speedup);
