/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The experiments of a profile, divided into series (one target and point), and these into cells
 * (one speedup). Groups (all experiments of one target) serve the correction for phases.
 */
#pragma once

#include "analysis/causal/prediction.h"

/* causal_series.target of pause tests (struct causal_pause_test) */
#define CAUSAL_PAUSE_TESTS (UINT32_MAX - 1)

/* Speedups that differ by less are the same. */
#define CAUSAL_SPEEDUP_STEP 1e-4

/*
 * What one experiment measured at one point. Times are effective ns; of a latency point, the number
 * of operations in progress integrated over them.
 */
struct causal_pair {
	double speedup;
	double base_time, base_visits;
	double with_time, with_visits; /* of whole runs only these */
	double base_span, with_span;   /* causal_visits.span_ns; 0: unknown */
	double log_ratio; /* of its periods, with / base; of a whole run, the log of its period */
	double weight;	  /* 0 to 1; 0: an outlier */
	uint32_t command; /* of whole runs: only those of the same command are comparable */
};

/* The pairs of one speedup. */
struct causal_cell {
	double speedup;
	size_t first; /* in the series' pairs */
	size_t n;
	uint64_t visits;
	uint64_t disturbed; /* pairs with weight 0 */
	double ratio;	    /* period with the speedup / without; NAN: unknown */
	double error;	    /* of the ratio, for a relative error of 1 of a single pair */
};

/* All experiments of one target (and `also`), for the phases of a program. */
struct causal_group {
	uint32_t target;
	const char *also;
	bool hit; /* in any experiment */
	uint64_t experiments;
	double time;   /* of its experiments, in effective ns without a speedup */
	double active; /* the part of it in which the target ran */
	/*
	 * Over base halves of completed runs: their number, and sums of their effective times (t),
	 * of their ns of samples in the target (x), and of squares and products.
	 */
	double n, t, x, tt, tx, xx;
	double run_time, run_hits; /* the same sums of t and x over the whole of those runs */
	double factor; /* program speedups of experiments in which it ran are multiplied by this */
	double factor_error; /* relative; 0: it is exact */
};

struct causal_series {
	uint32_t target; /* UINT32_MAX: whole runs without a speedup, of any target;
			    CAUSAL_PAUSE_TESTS: the speedups are shares of pauses */
	uint32_t point;
	const char *also;
	bool whole_run;
	bool latency;
	uint32_t group;			 /* index; 0 for whole runs and pause tests */
	ARRAY(struct causal_pair) pairs; /* sorted by speedup */
	ARRAY(struct causal_cell) cells;
	double begins, ends;  /* of a latency point */
	size_t base_runs;     /* of whole runs: number of runs without a speedup to compare with */
	ARRAY(double) errors; /* relative errors of single pairs, see estimate.h */
	double freedom;	      /* their degrees of freedom */
};

static inline struct causal_pair *causal_cell__pairs(const struct causal_series *series,
						     const struct causal_cell *cell)
{
	return series->pairs.data + cell->first;
}

/* Effective ns of @half. */
double causal_half__time(const struct causal_half *half);

/* The visits of @point in @half; all 0 if it was not visited. */
const struct causal_visits *causal_half__visits(const struct causal_half *half, uint32_t point);

struct causal_series_set {
	ARRAY(struct causal_series) series;
	ARRAY(struct causal_group) groups;
};

/*
 * Makes the series of @profile, of points called @point (NULL: all), without runs that are
 * @left_out (by run). Experiments in which the
 * target did not run are left out of the series: without a sample in it there was no virtual
 * speedup. 0 or -ENOMEM; @set must be freed in either case.
 */
int causal_series_set__make(const struct causal_profile *profile, const bool *left_out,
			    const char *point, struct causal_series_set *set);
void causal_series_set__free(struct causal_series_set *set);

/*
 * Computes each group's factor: Coz, SOSP'15, 3.4, "Adjusting for phases", equation 8. It is
 * at most 1; see phase.c.
 */
void causal_phases__find(struct causal_series_set *set);
