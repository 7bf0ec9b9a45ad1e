/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profile of bperf: where time goes, running and waiting on one scale.
 * Blocked Samples, OSDI'24, section 3.2.
 */
#pragma once

#include "analysis/profile/calltree.h"
#include "analysis/kinds/kinds.h"
#include "analysis/weighted_samples.h"

/* What rows are told apart by. */
enum profile_key {
	PROFILE_COMM,
	PROFILE_PID,
	PROFILE_TID,
	PROFILE_THREAD, /* name and tid */
	PROFILE_DSO,
	PROFILE_SYMBOL, /* with the class */
	PROFILE_CLASS,
	PROFILE_KIND,
	PROFILE_OBJECT, /* with the kind */
	PROFILE_LINE,
	PROFILE_KEY_COUNT,
};

/* "comm", "pid", ... as --sort takes them. */
const char *profile_key__name(enum profile_key key);
int profile_key__parse(const char *name, size_t n);

struct profile_options {
	unsigned int keys; /* bits 1 << enum profile_key */
	bool children;	   /* totals of callers: needs PROFILE_SYMBOL, DSO or LINE */
	bool kernel;	   /* name blocked rows by kernel function */
	enum calltree_order tree;
};

struct profile_row {
	/* Those that are no keys are 0. */
	uint32_t comm;
	uint32_t pid;
	uint32_t tid;
	uint32_t dso;
	uint32_t symbol;  /* string; 0: the address stands for it */
	uint64_t address; /* of a row without symbol */
	uint32_t file;	  /* string */
	uint32_t line;
	uint8_t class;	   /* enum wait_class */
	bool level_kernel; /* class cpu: in kernel mode */
	bool no_frame;	   /* of samples without any stack */
	uint32_t object;

	/* The one with the most time among what the row sums up. */
	enum wait_kind kind;
	uint32_t kernel; /* string: kernel function; 0: none */
	uint64_t best_ns;

	uint64_t points; /* self, as all below */
	uint64_t self_ns;
	uint64_t count;	   /* samples and intervals */
	uint64_t total_ns; /* with what it called; as self_ns without options.children */
	uint64_t total_points;
	uint32_t tree;	 /* root in profile->trees, or 0 */
	uint32_t number; /* in order of first sight */
};

struct profile {
	ARRAY(struct profile_row) rows; /* most time first */
	struct calltree trees;
	struct sample_groups groups; /* what it was made of */
	uint64_t ns;
	uint64_t points;
};

/*
 * Returns 0 or -ENOMEM. @profile is to be released with profile__free().
 */
int profile__make(const struct model *model, struct kinds *kinds,
		  const struct sample_filter *filter, const struct profile_options *options,
		  struct profile *profile);
void profile__free(struct profile *profile);

/* The kind of what @group waited for. */
enum wait_kind sample_group__kind(struct kinds *kinds, const struct sample_group *group);
