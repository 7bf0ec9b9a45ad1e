/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress points of a causal run: those in the source, and those given by name. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "collect/causal/files.h"
#include "collect/causal/targets.h"
#include "collect/causal/experiment.h"

struct causal_points;

/* Checks the texts. -EINVAL with error__set(). */
int causal_points__new(const struct causal_config *config, struct virtual_time *vtime,
		       struct causal_files *files, struct causal_targets *targets,
		       struct causal_points **out);

/* Looks for those given by name in the files there are. */
int causal_points__find(struct causal_points *points);

/*
 * Sets breakpoints in processes that mapped such files since, if that is how visits are
 * counted; to be called often. False: it is not.
 */
bool causal_points__follow(struct causal_points *points);

/* A process has mapped code: for points that are counted by breakpoints. */
void causal_points__mapping(struct causal_points *points, const struct code_mapping *mapping);

/* Adds points that the program has reached since, to @writer too. */
int causal_points__update(struct causal_points *points, struct causal_writer *writer);

/* Whether there is any. */
bool causal_points__ready(const struct causal_points *points);

/* In the order of their numbers in the profile. */
const struct experiment_points *causal_points__experimented(const struct causal_points *points);

/*
 * Of points in unmodified code one that was not counted everywhere, or the one that took most
 * to count, when that was a good part of @runtime_ns: a sentence, malloc()ed; or NULL.
 */
char *causal_points__trouble(const struct causal_points *points, uint64_t runtime_ns);

/* One given by name that was not found: -EINVAL, with the nearest names. */
int causal_points__missing(struct causal_points *points);

void causal_points__free(struct causal_points *points);
DEFINE_CLEANUP(struct causal_points *, causal_points__free)
