/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell report`: the profile as a table, as call trees, and as JSON. */
#pragma once

#include <stdio.h>

#include "analysis/profile/idle_summary.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/threads.h"

struct report {
	const struct model *model;
	const char *path; /* of the recording */
	const struct sample_filter *filter;
	const struct profile *profile;
	const struct thread_summary *threads;
	const struct idle_summary *idle;

	enum profile_key keys[PROFILE_KEY_COUNT]; /* the columns, in order */
	size_t n_keys;
	bool children;
	bool kernel;
	enum calltree_order tree;
	double percent_limit;
	uint64_t max_threads; /* in the table of threads */
	bool threads_only;    /* --sort thread: that table is the report */
	bool idle_shown;      /* the profile has rows for idle waits */
	bool idle_explained;  /* the list of idle waits is the report */
	bool color;
};

/* Returns 0 or -ENOMEM. */
int report__text(const struct report *report, FILE *to);

/* Returns 0 or -ENOMEM. */
int report__json(const struct report *report, FILE *to);

/* Prints the "#" lines: what was recorded, and diagnostics. */
void report__header(const struct report *report, FILE *to);

/* Prints the table of exact times; each line begins with @prefix. */
void report__threads(const struct report *report, const char *prefix, FILE *to);

/* Prints the header's line on idle waits. */
void report__idle_line(const struct report *report, FILE *to);

/* Prints the list of idle waits, with reasons. Returns 0 or -ENOMEM. */
int report__idle(const struct report *report, FILE *to);

/* Prints the call tree of @row. */
void report__tree(const struct report *report, const struct profile_row *row, FILE *to);

/*
 * Why there is nothing to show, with a hint in *@advice; NULL when there is
 * something to show.
 */
const char *report__why_empty(const struct report *report, const char **advice);

/* Symbol and shared object of a row; the address in hex where there is no symbol. */
const char *profile_row__symbol(const struct model *model, const struct profile_row *row,
				char text[static 24]);
const char *profile_row__dso(const struct model *model, const struct profile_row *row);
