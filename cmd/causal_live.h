/* SPDX-License-Identifier: BSD-2-Clause */
/* What a causal run tells while it goes on, and whether it has found out enough. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recording/causal/causal_profile.h"

struct causal_live {
	const char *profile; /* what is in it counts, of earlier runs as well */
	bool terminal;	     /* there is one to write to */
	double width;	     /* be sure to so much (0.03: 3 points); 0: never */
	bool all;	     /* of all targets, not only the best one */
	uint64_t experiments;
	uint64_t look_at; /* the monotonic time of the next look at the profile */
	bool sure;
	bool failed;	 /* it was told of */
	char found[160]; /* the best so far */
};

/*
 * For causal_config, @arg a struct causal_live: an experiment is over, or there was nothing to
 * do. True: it is enough.
 */
bool causal_live__experiment(void *arg, const struct causal_experiment *experiment,
			     const struct causal_target *target);
void causal_live__turn(void *arg, const char *state);

/* Tells of an error, at once. */
void causal_live__error(void *arg, int err);

/* Takes back what stands on the terminal. */
void causal_live__end(const struct causal_live *live);
