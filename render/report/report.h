/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell report`: the profile as a table, as call trees, and as JSON. */
#pragma once

#include <stdio.h>

#include "analysis/profile/profile.h"
#include "analysis/profile/threads.h"

struct report {
	const struct model *model;
	const char *path; /* of the recording */
	const struct sample_filter *filter;
	const struct profile *profile;
	const struct thread_summary *threads;

	enum profile_key keys[PROFILE_KEY_COUNT]; /* the columns, in order */
	size_t n_keys;
	bool children;
	bool kernel;
	enum calltree_order tree;
	double percent_limit;
	uint64_t max_threads; /* in the table of threads */
	bool threads_only;    /* --sort thread: that table is the report */
	bool colour;
};

void report__text(const struct report *report, FILE *to);

/* Returns 0 or -ENOMEM. */
int report__json(const struct report *report, FILE *to);

/* The "#" lines that say what was recorded, and what of it was lost. */
void report__header(const struct report *report, FILE *to);

/* The table of exact times; every line behind @prefix. */
void report__threads(const struct report *report, const char *prefix, FILE *to);

/* The call tree below @row. */
void report__tree(const struct report *report, const struct profile_row *row, FILE *to);

/*
 * Why there is nothing to show, one line and what to do about it; NULL when
 * there is something.
 */
const char *report__emptiness(const struct report *report, const char **advice);

/* Name and shared object of a row; the address stands for a missing name. */
const char *profile_row__symbol(const struct model *model, const struct profile_row *row,
				char text[static 24]);
const char *profile_row__dso(const struct model *model, const struct profile_row *row);
