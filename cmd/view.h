/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands that read a recording have in common: which file, what of it. */
#pragma once

#include "analysis/weighted_samples.h"
#include "cmd/cmd.h"

struct view_options {
	const char *input;
	struct sample_filter filter;
	bool no_lines;
	bool debuginfod;
};

/*
 * Rows for a table of options; @type's first member must be its struct
 * view_options.
 */
#define VIEW_OPTION_INPUT                                                                          \
	{                                                                                          \
		.name = "input", .letter = 'i', .type = OPTION_TYPE_TEXT, .arg = "FILE",           \
		.offset = offsetof(struct view_options, input),                                    \
		.help = "read the recording FILE (default: dwell.data)"                            \
	}
#define VIEW_OPTIONS_THREADS                                                                       \
	OPTION_CALL("comm", 0, "NAME,...", NULL, view__set_comm,                                   \
		    "only threads while they have one of these names"),                            \
		OPTION_CALL("pid", 'p', "PID,...", NULL, view__set_pid, "only these processes"),   \
		OPTION_CALL("tid", 't', "TID,...", NULL, view__set_tid, "only these threads"),     \
		OPTION_CALL("time", 0, "FROM,TO", NULL, view__set_time,                            \
			    "only this part of the recording, in seconds from its start or with "  \
			    "a unit (500ms,2.5s); either side may be left out")
#define VIEW_OPTIONS_FILTER                                                                        \
	OPTION_CALL("class", 0, "CLASS,...", "cpu|io|lock|sched|other", view__set_class,           \
		    "only these classes: cpu, io, lock, sched, other"),                            \
		VIEW_OPTIONS_THREADS,                                                              \
	{                                                                                          \
		.name = "wakers", .type = OPTION_TYPE_SWITCH,                                      \
		.offset = offsetof(struct view_options, filter.helpers),                           \
		.help = "the threads, too, that were recorded because they woke one"               \
	}
#define VIEW_OPTIONS_SYMBOLS                                                                       \
	{.name = "no-lines",                                                                       \
	 .type = OPTION_TYPE_SWITCH,                                                               \
	 .offset = offsetof(struct view_options, no_lines),                                        \
	 .help = "where the recording has no names: do not read DWARF for lines and inlined "      \
		 "functions"},                                                                     \
	{                                                                                          \
		.name = "debuginfod", .type = OPTION_TYPE_SWITCH,                                  \
		.offset = offsetof(struct view_options, debuginfod),                               \
		.help = "fetch missing debug files from $DEBUGINFOD_URLS"                          \
	}

int view__set_class(void *options, const char *value);
int view__set_comm(void *options, const char *value);
int view__set_pid(void *options, const char *value);
int view__set_tid(void *options, const char *value);
int view__set_time(void *options, const char *value);

/*
 * As command__parse(), for commands whose one argument is the recording: it may
 * stand anywhere, and be given by -i instead.
 */
bool view__parse(const struct command *command, int argc, char **argv, struct view_options *options,
		 int *status);

/*
 * Loads and symbolizes the recording; warns on standard error of a file that
 * is cut short. Errors as model__load().
 */
int view__load(const struct view_options *options, struct model **out);

/* Calls @item for each part of the comma list @value; stops at the first error. */
int view__each(const char *value, void *context,
	       int (*item)(void *context, const char *text, size_t n));
