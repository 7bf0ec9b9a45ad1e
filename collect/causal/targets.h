/* SPDX-License-Identifier: BSD-2-Clause */
/* The targets of a causal run: those requested, or else places drawn at random from samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "collect/causal/files.h"
#include "collect/causal/virtual_time.h"
#include "recording/causal/causal_profile.h"

/* A target, and how the kernel side recognizes its samples. */
struct causal_target_at {
	struct causal_target target; /* owns its strings */
	enum causal_match match;
	enum wait_class class;
	struct kind_set kinds;
	struct causal_ranges ranges;
	struct causal_ranges callers;
};

struct causal_targets;

/* Parses the targets of @config. 0, -ENOMEM, or -EINVAL with error__set(). */
int causal_targets__new(const struct causal_config *config, struct virtual_time *vtime,
			struct causal_files *files, struct causal_targets **out);

/*
 * Before the command starts: -EINVAL with error__set() if there is a requested target whose code
 * cannot be in what it will run. 0 or another negative errno.
 */
int causal_targets__check_expected(struct causal_targets *targets);

/*
 * Searches the files known so far for requested targets. With @all, one that is not found is an
 * error: -EINVAL, with a hint at similar names. Other errors are those of causal_files__find().
 */
int causal_targets__find(struct causal_targets *targets, bool all);

/* Chooses the target of the next experiment; NULL: there is none yet. Valid until the end. */
struct causal_target_at *causal_targets__choose(struct causal_targets *targets, uint64_t random);

/* Makes @target virtual time's target 0. */
int causal_targets__select(struct causal_targets *targets, struct causal_target_at *target);

/*
 * Gives the kernel side the tables that decide kinds of waiting, if a target is one. To be called
 * when it is loaded.
 */
int causal_targets__load_kinds(struct causal_targets *targets);

/* Reserves one of virtual time's targets. Returns its index, or -ENOSPC. */
int causal_targets__reserve(struct causal_targets *targets);

/* Writes which targets were found of those requested, and the speedups to try. 0 or -errno. */
int causal_targets__write_requests(struct causal_targets *targets, struct causal_writer *writer);

/* "TARGET=SPEEDUP, ...": the targets that are sped up all the time (--also). */
const char *causal_targets__also(const struct causal_targets *targets);

/* Fills in @about's seen and places: samples by target and by place over the whole run. */
int causal_targets__write_seen(struct causal_targets *targets,
			       const struct virtual_time_counts *counts,
			       struct causal_writer *writer, struct causal_run *about);

void causal_targets__free(struct causal_targets *targets);
DEFINE_CLEANUP(struct causal_targets *, causal_targets__free)
