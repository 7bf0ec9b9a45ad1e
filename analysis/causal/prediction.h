/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The predictions of a causal profile: by how much the program's period between visits (or its
 * latency) would shrink if a target were faster. Coz, SOSP'15, sections 2, 3.2 and 3.4
 * ("Adjusting for phases"); Blocked Samples, OSDI'24, 3.3. docs/causal-statistics.md has the
 * reasons for the statistics, with figures.
 *
 * A program speedup is 1 - p_s / p_0, where p is the effective time per visit with and
 * without the virtual speedup: 0 no effect, 0.5 twice the throughput, below 0 slower.
 * Experiments of one target, point and speedup are combined by the Mantel-Haenszel ratio over
 * their pairs of halves, with robust weights (Tukey's biweight). Latency is L / lambda (Little's
 * law). Intervals are 95 % intervals, by a bootstrap of the errors of pairs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "recording/causal/causal_profile.h"

/* A program speedup that is closer to 0 counts as no effect. */
#define CAUSAL_NEGLIGIBLE 0.02

/* With results for fewer speedups, no knee is fitted. */
#define CAUSAL_SHAPE_RESULTS 4

/* Of struct causal_options, unless the user gives others. */
#define CAUSAL_MIN_VISITS 10
#define CAUSAL_RESAMPLES  1000

struct causal_options {
	uint64_t min_visits; /* results with fewer visits, in all their halves, are left out */
	uint32_t resamples;  /* number, of the bootstrap; 0: 1000 */
	uint64_t seed;	     /* of its random numbers */
	const char *point;   /* only this point; NULL: all */
	const char *build;   /* only runs of programs with this build id, or one that begins so;
				NULL: those of the last build of each program */
};

/* One point of a curve. */
struct causal_result {
	double speedup;		/* virtual, of the target */
	double program_speedup; /* corrected for phases */
	double low, high;	/* 95 % interval */
	uint64_t experiments;
	uint64_t disturbed; /* outliers among them, left out */
	uint64_t visits;    /* in both halves; of a sampled point, samples */
};

enum causal_shape {
	CAUSAL_NO_EFFECT = 0, /* the interval is within +- CAUSAL_NEGLIGIBLE */
	CAUSAL_GAIN = 1,
	CAUSAL_PLATEAU = 2,    /* the gain rises up to plateau_at, not beyond */
	CAUSAL_CONTENTION = 3, /* the faster the target, the slower the program */
	CAUSAL_UNSURE = 4,     /* too few experiments, or their scatter is too large */
};

/* A curve as a line through the origin, which may have a knee. */
struct causal_fit {
	double slope;	    /* program speedup / speedup; up to the knee, if there is one */
	double knee;	    /* a speedup; 0: a straight line */
	double slope_after; /* the slope after the knee */
};

/* The effect of one target on one point. */
struct causal_curve {
	uint32_t target; /* index in the profile */
	uint32_t point;
	const char *also; /* causal_experiment.also: each value has curves of its own */
	bool whole_run;	  /* of end-to-end experiments; these have curves of their own */
	ARRAY(struct causal_result) results; /* sorted by speedup, without 0 */
	/* Of the weighted straight line through the origin: program speedup at 100 %. */
	double slope;
	double slope_low, slope_high;
	struct causal_fit
		fit; /* with a knee only if it is significantly better than the straight line */
	double best; /* largest program speedup on the fitted curve, up to the largest speedup tried
		      */
	double best_at; /* the speedup with the best program speedup */
	double best_low, best_high;
	double worst_low, worst_high; /* of the smallest program speedup on the fitted curve */
	double sure; /* lower bound of best, corrected for the number of curves: the rank's key */
	enum causal_shape shape;
	double plateau_at;   /* the speedup beyond which the gain does not rise; 0: no plateau */
	double plateau_gain; /* the gain there */
	double plateau_low, plateau_high;
	double phase_factor;  /* program speedups were multiplied by it; 1: no phases */
	uint64_t experiments; /* in all results */
	uint64_t disturbed;
	uint64_t visits;
};

/* Why there are few predictions or none, the most fundamental reason first. */
enum causal_problem_kind {
	CAUSAL_PROBLEM_NO_RUN = 0,	 /* no run completed an experiment */
	CAUSAL_PROBLEM_NO_POINT,	 /* no progress point was named or reached */
	CAUSAL_PROBLEM_NOT_VISITED,	 /* points are known, and never visited in an experiment */
	CAUSAL_PROBLEM_FEW_VISITS,	 /* too few for an estimate */
	CAUSAL_PROBLEM_NOTHING_IN_SCOPE, /* no sample fell into the scope */
	CAUSAL_PROBLEM_FEW_EXPERIMENTS,	 /* the intervals are wide */
	CAUSAL_PROBLEM_UNSTABLE,	 /* more begins than ends: Little's law does not hold */
	CAUSAL_PROBLEM_OTHER_BUILDS,	 /* runs of other builds are left out */
	CAUSAL_PROBLEM_EMPTY,		 /* requested targets or speedups without a result */
	CAUSAL_PROBLEM_COMMAND,		 /* it failed, or was interrupted */
	CAUSAL_PROBLEM_DIAGNOSTIC,	 /* a diagnostic of the run */
	CAUSAL_PROBLEM_DAMAGED,		 /* lines of the profile could not be read */
};

struct causal_problem {
	enum causal_problem_kind kind;
	char *text; /* the problem, with figures, and what to do: a few sentences */
};

/* Why there is no estimate for a target, although there were experiments. */
enum causal_refusal_kind {
	CAUSAL_REFUSED_NOT_HIT = 0, /* no sample fell into it */
	CAUSAL_REFUSED_PROBE,	    /* dwell's own probes take a part of what is measured */
	CAUSAL_REFUSED_UNPAUSABLE,  /* threads could not be paused */
	CAUSAL_REFUSED_OPEN_LOAD,   /* requests arrive during pauses */
	CAUSAL_REFUSED_IO,	    /* I/O goes on during pauses */
	CAUSAL_REFUSED_TIMERS,	    /* timers run during pauses */
	CAUSAL_REFUSED_FLUCTUATION, /* the program's speed varies more from half to half */
	CAUSAL_REFUSED_UNTESTED,    /* what goes on during pauses is not known yet */
};

struct causal_refusal {
	enum causal_refusal_kind kind;
	uint32_t target;
	uint32_t point;	  /* UINT32_MAX: any */
	const char *also; /* causal_experiment.also */
	bool whole_run;
	uint64_t experiments;
	char *text; /* the reason, with figures, and what to do: a few sentences */
};

/* A target that was requested, with a speedup or any, and has no result at any point. */
struct causal_empty_cell {
	uint32_t target;
	double speedup;	      /* 0: any */
	uint64_t experiments; /* with it, none of which counts */
};

struct causal_effects {
	const struct causal_profile *profile;
	bool *left_out; /* by run: it is of another build; see causal_options.build */
	/*
	 * By rank: gains and plateaus, the largest `sure` first; then contention, the worst first;
	 * then unsure ones, first those whose interval does not include 0; then those without
	 * effect.
	 */
	ARRAY(struct causal_curve) curves;
	/* In the order of the profile; those of a target with the same reason in a row. */
	ARRAY(struct causal_refusal) refusals;
	ARRAY(struct causal_empty_cell) empty; /* of targets that are not refused */
	ARRAY(struct causal_problem) problems;
};

/*
 * @profile must outlive the result. 0, -ENOMEM, or -ENOENT (with error__set()) if there is no
 * point options->point. An empty profile results in problems only.
 */
int causal__effects(const struct causal_profile *profile, const struct causal_options *options,
		    struct causal_effects **out);
void causal_effects__free(struct causal_effects *effects);
DEFINE_CLEANUP(struct causal_effects *, causal_effects__free)
#define _cleanup_causal_effects_ _cleanup_(causal_effects__freep)

/*
 * Whether more experiments would change little: the best curve of each point is known to +- @width
 * (0.03: 3 points), and no unsure one could be better. @all: every curve is known to +- @width.
 * Likewise if there is no curve, and none to come, as all targets are refused for what lasts.
 */
bool stopping_rule__is_met(const struct causal_effects *effects, double width, bool all);

/* "gain", "plateau" ... as in JSON. */
const char *causal_shape__name(enum causal_shape shape);

/* "not-hit", "open-load" ... as in JSON. */
const char *causal_refusal__name(enum causal_refusal_kind kind);

/* "no-run", "no-point" ... as in JSON. */
const char *causal_problem__name(enum causal_problem_kind kind);

/* The program speedup that @fit has at @speedup. */
double causal_fit__at(const struct causal_fit *fit, double speedup);
