/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The experiments of a profile, sorted into what belongs together: series of one target and
 * point, in them cells of one speedup.
 */
#pragma once

#include "analysis/causal/prediction.h"

/* What one experiment says of one point. Times are effective ns, or of latency: in progress. */
struct causal_pair {
	double speedup;
	double base_time, base_visits;
	double with_time, with_visits; /* of whole runs only these */
	double base_span, with_span;   /* 0 unknown */
	double deviation; /* log of its ratio of periods; of a whole run, of its period */
	double weight;	  /* 0 to 1: whether it fits the others */
	uint32_t command; /* of whole runs, whose periods compare */
};

/* The pairs of one speedup. */
struct causal_cell {
	double speedup;
	size_t first; /* in the series' pairs */
	size_t n;
	uint64_t visits;
	uint64_t disturbed;
	double ratio; /* period with the speedup / without; NAN: cannot be told */
	double error; /* what a relative error of 1 of a single pair is worth */
};

/* Time in which a target was looked at, for the phases of a program. */
struct causal_group {
	uint32_t target;
	const char *also;
	bool hit; /* in any experiment */
	uint64_t experiments;
	double time;   /* effective, of base halves */
	double active; /* of it, in experiments in which the target ran */
	/* Of runs that came to their end: samples by time in base halves, and in all of them. */
	double n, t, x, tt, tx, xx;
	double run_time, run_hits;
	/* What program speedups of experiments in which it ran are multiplied by. */
	double factor;
	double factor_error; /* relative, 0: it is exact */
};

struct causal_series {
	uint32_t target; /* UINT32_MAX: any, of whole runs without a speedup */
	uint32_t point;
	const char *also;
	bool whole_run;
	bool latency;
	uint32_t group;			 /* index; of whole runs 0 */
	ARRAY(struct causal_pair) pairs; /* by speedup, when sorted */
	ARRAY(struct causal_cell) cells;
	double begins, ends; /* of a latency point */
	size_t base_runs; /* of whole runs: those without a speedup that they are compared with */
	/* Relative errors of single pairs, see causal_estimate.h; and how many of them are free. */
	ARRAY(double) errors;
	double freedom;
};

struct causal_sorted {
	ARRAY(struct causal_series) series;
	ARRAY(struct causal_group) groups;
};

/*
 * Sorts the experiments of @profile, for points called @point (NULL: all). Experiments in which the
 * target did not run are left out of the series: without a sample in it there was no
 * virtual speedup. 0 or -ENOMEM; @sorted is to be freed in either case.
 */
int causal_sorted__make(const struct causal_profile *profile, const char *point,
			struct causal_sorted *sorted);
void causal_sorted__free(struct causal_sorted *sorted);

/*
 * Finds each group's factor: Coz, SOSP'15, 3.4, "Adjusting for phases", equation 8. It is
 * below 1 only when that is significant.
 */
void causal_phases__find(struct causal_sorted *sorted);
