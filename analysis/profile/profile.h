/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bperf profile: on-CPU and off-CPU time on one scale. Blocked Samples, OSDI'24, section 3.2.
 */
#pragma once

#include "analysis/profile/calltree.h"
#include "analysis/kinds/kinds.h"
#include "analysis/weighted_samples.h"

/* What distinguishes rows. */
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

/* The enum profile_key of @name, "comm", "pid", ... as in --sort, of @n bytes; -1: none. */
int profile_key__parse(const char *name, size_t n);

struct profile_options {
	unsigned int keys; /* bits 1 << enum profile_key */
	bool children;	   /* add rows for callers: needs PROFILE_SYMBOL, DSO or LINE */
	bool kernel;	   /* name blocked rows by kernel function */
	bool idle;	   /* add rows for idle waits */
	enum calltree_order tree;
};

struct profile_row {
	/* The keys; those that were not asked for are 0. */
	uint32_t comm;
	uint32_t pid;
	uint32_t tid;
	uint32_t dso;
	uint32_t symbol;  /* string; 0: none, see address */
	uint64_t address; /* of a row without symbol, else 0 */
	uint32_t file;	  /* string */
	uint32_t line;
	uint8_t class;	   /* enum wait_class */
	bool level_kernel; /* class cpu: in kernel mode */
	bool no_frame;	   /* for samples without any stack */
	bool idle;	   /* idle waits; apart from others where the class is */
	uint32_t object;

	/* Of the row's largest part. */
	enum wait_kind kind;
	uint32_t kernel;  /* string: kernel function; 0: none */
	uint64_t best_ns; /* time of that part */

	uint64_t points; /* self: sampling points, */
	uint64_t self_ns;
	uint64_t count;	   /* and samples and intervals */
	uint64_t total_ns; /* with callees; without options.children the same as self_ns */
	uint64_t total_points;
	uint64_t idle_ns; /* part of total_ns */
	uint32_t tree;	  /* root in profile->trees, or 0 */
	uint32_t number;  /* in the order of creation */
};

struct profile {
	ARRAY(struct profile_row) rows; /* most total time first */
	struct calltree trees;
	struct sample_groups groups; /* the samples it was made from */
	uint64_t ns; /* of what the rows show: without idle waits, unless asked for */
	uint64_t points;
};

/* Returns 0, and @profile is to be released with profile__free(); or -ENOMEM. */
int profile__make(const struct model *model, struct kinds *kinds,
		  const struct sample_filter *filter, const struct profile_options *options,
		  struct profile *profile);
void profile__free(struct profile *profile);

/* The kind of @group's waits. */
enum wait_kind sample_group__kind(struct kinds *kinds, const struct sample_group *group);
