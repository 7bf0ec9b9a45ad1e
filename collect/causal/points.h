/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress points of a causal run: those in the source, and those named on the command line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "collect/causal/files.h"
#include "collect/causal/targets.h"
#include "collect/causal/experiment.h"

struct causal_points;

/*
 * Checks the texts. With error__set(): -EINVAL, and -EOPNOTSUPP if breakpoints are requested on a
 * machine where they do not fire.
 */
int causal_points__new(const struct causal_config *config, struct virtual_time *vtime,
		       struct causal_files *files, struct causal_targets *targets,
		       struct causal_points **out);

/*
 * The points that are requests to a server, for capture_config.spans; NULL: there is none. The
 * number of each source is that of its point + 1.
 */
const struct span_sources *causal_points__requests(const struct causal_points *points);

/* Likewise as causal_targets__check_expected(). */
int causal_points__check_expected(struct causal_points *points);

/* Searches the files known so far for named points. 0, or a negative errno. */
int causal_points__find_named(struct causal_points *points);

/*
 * Sets breakpoints in processes that have mapped code of points since the last call; to be called
 * often. False: no point is counted by breakpoints.
 */
bool causal_points__set_breakpoints(struct causal_points *points);

/* Records that a process has mapped code, for points counted by breakpoints. */
void causal_points__add_mapping(struct causal_points *points, const struct code_mapping *mapping);

/* Adds points that the program has reached since the last call, to @writer as well. */
int causal_points__add_reached(struct causal_points *points, struct causal_writer *writer);

/* Whether there is a point to measure. */
bool causal_points__ready(const struct causal_points *points);

/* The points to measure, in the order of their numbers in the profile. */
const struct experiment_points *causal_points__measured(const struct causal_points *points);

/*
 * A diagnostic of named points, malloc()ed: visits were not counted in all processes, or counting
 * took at least a twentieth of @runtime_ns. NULL: there is none.
 */
char *causal_points__diagnostic(const struct causal_points *points, uint64_t runtime_ns);

/* 0, or an error with error__set() if a named point was not found, or cannot be counted. */
int causal_points__check_found(struct causal_points *points);

void causal_points__free(struct causal_points *points);
DEFINE_CLEANUP(struct causal_points *, causal_points__free)
