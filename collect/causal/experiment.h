/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One experiment at a time: its halves, their lengths, and what was seen in them. A state
 * machine that is turned by the clock, see experiment__turn().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/causal/virtual_time.h"
#include "recording/causal/causal_profile.h"

struct experiment_config {
	uint64_t half_ns; /* to begin with */
	uint64_t warm_up_ns;
	uint64_t min_visits;
	bool fixed_length;
};

/* A sampled point is a target without speedup: its samples are counted in this one. */
struct experiment_point {
	uint32_t number; /* in the profile */
	int begin;	 /* number of virtual time's point; -1: sampled */
	int end;	 /* of a latency point; -1: it is none */
	int sample;	 /* index of virtual time's target */
};

struct experiment_points {
	ARRAY(struct experiment_point) points;
};

struct experimenter;

int experimenter__new(const struct experiment_config *config, struct virtual_time *vtime,
		      struct experimenter **out);

/* Begins an experiment with virtual time's target 0. @base_first says which half is first. */
void experimenter__begin(struct experimenter *experimenter, double speedup, bool base_first,
			 uint64_t now);

/* Whether one is going on. */
bool experimenter__busy(const struct experimenter *experimenter);

/*
 * Goes on with it. Returns when to be called next, or 0 when it is over: @result is then
 * filled in but for run, target and also. Its visits stay valid until the next one begins.
 */
uint64_t experimenter__turn(struct experimenter *experimenter,
			    const struct experiment_points *points, uint64_t now,
			    struct causal_experiment *result);

/* Gives up the one that goes on. */
void experimenter__stop(struct experimenter *experimenter);

void experimenter__free(struct experimenter *experimenter);
DEFINE_CLEANUP(struct experimenter *, experimenter__free)
