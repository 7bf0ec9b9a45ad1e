/* SPDX-License-Identifier: BSD-2-Clause */
/* What a causal run speeds up: targets that were asked for, or what samples turn up. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "collect/causal/files.h"
#include "collect/causal/virtual_time.h"
#include "recording/causal/causal_profile.h"

/* A target and where it is. */
struct causal_target_at {
	struct causal_target target; /* strings are its own */
	enum causal_match match;
	enum wait_class class;
	struct kind_set kinds;
	struct causal_ranges ranges;
	struct causal_ranges callers;
	uint64_t experiments;
};

struct causal_targets;

/* Checks the texts. -EINVAL with error__set(). */
int causal_targets__new(const struct causal_config *config, struct virtual_time *vtime,
			struct causal_files *files, struct causal_targets **out);

/*
 * Looks for those asked for in the files there are. With @all, what has not been found is
 * an error: -EINVAL, with the nearest names. Others are those of the look-up.
 */
int causal_targets__find(struct causal_targets *targets, bool all);

/* The target of the next experiment; NULL: there is none yet. */
struct causal_target_at *causal_targets__choose(struct causal_targets *targets, uint64_t random);

/* Makes it virtual time's target 0. */
int causal_targets__aim(struct causal_targets *targets, struct causal_target_at *target);

/* To be called when the kernel side is loaded: gives it the rows that kinds of waiting need. */
int causal_targets__tell_kinds(struct causal_targets *targets);

/* Takes one of virtual time's targets for a sampled point. Its index, or -ENOSPC. */
int causal_targets__reserve(struct causal_targets *targets);

/* "TARGET=SPEEDUP, ..." of what is sped up all the time. */
const char *causal_targets__also(const struct causal_targets *targets);

/* Fills in seen and places of @about. */
int causal_targets__seen(struct causal_targets *targets, const struct virtual_time_counts *counts,
			 struct causal_writer *writer, struct causal_run *about);

void causal_targets__free(struct causal_targets *targets);
DEFINE_CLEANUP(struct causal_targets *, causal_targets__free)
