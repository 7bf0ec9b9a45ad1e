/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One experiment at a time: a state machine that runs its two halves, and measures progress in
 * them; see experimenter__advance().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/causal/virtual_time.h"
#include "recording/causal/causal_profile.h"

struct experiment_config {
	uint64_t half_ns;    /* length of the first halves */
	uint64_t warm_up_ns; /* before a half; at least a quarter of the half */
	uint64_t min_visits; /* with fewer in a half, halves become longer */
	bool fixed_length;   /* halves keep their length */
	uint64_t period_ns;  /* of sampling */
};

/* A point to measure. A sampled point is one of virtual time's targets, without a speedup. */
struct experiment_point {
	uint32_t number; /* in the profile */
	int begin;	 /* number of virtual time's point; -1: sampled */
	int end;	 /* of a latency point, its end; else -1 */
	int sample;	 /* of a sampled point, index of virtual time's target */
};

struct experiment_points {
	ARRAY(struct experiment_point) points;
};

struct experimenter;

int experimenter__new(const struct experiment_config *config, struct virtual_time *vtime,
		      struct experimenter **out);

/* Begins an experiment with virtual time's target 0. @base_first: the half without speedup is
 * first. */
void experimenter__begin(struct experimenter *experimenter, double speedup, bool base_first,
			 uint64_t now);

/*
 * Begins a test of pauses (struct causal_pause_test): the half with a speedup has pauses for @share
 * of the time instead, of all threads.
 */
void experimenter__begin_pause_test(struct experimenter *experimenter, double share,
				    bool base_first, uint64_t now);

/* Whether an experiment, or a test, is in progress. */
bool experimenter__busy(const struct experimenter *experimenter);

/*
 * Continues the experiment at @now. Returns when to be called next, or 0 when it is complete: then
 * *@result is filled in, except run, target and also. Its visits stay valid until the next
 * experiment. Without memory, the experiment is stopped without a result. Of a test, speedup is
 * the share of pauses, and experimenter__outside() has the waits.
 */
uint64_t experimenter__advance(struct experimenter *experimenter,
			       const struct experiment_points *points, uint64_t now,
			       struct causal_experiment *result);

/* Of the last test: ns of waits for what is outside of the program. */
void experimenter__outside(const struct experimenter *experimenter, uint64_t ns[CAUSAL_WAITS]);

/* Stops the experiment in progress, without a result. */
void experimenter__stop(struct experimenter *experimenter);

void experimenter__free(struct experimenter *experimenter);
DEFINE_CLEANUP(struct experimenter *, experimenter__free)
