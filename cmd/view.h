/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the commands that read a recording: the file, filters, and output options. */
#pragma once

#include "analysis/weighted_samples.h"
#include "cmd/cmd.h"

/* What a view does with idle waits. */
enum idle_view {
	IDLE_VIEW_HIDE = 0,
	IDLE_VIEW_SHOW,
	IDLE_VIEW_EXPLAIN,
};

struct view_options {
	const char *input;
	struct sample_filter filter;
	enum idle_view idle;
	bool no_lines;
	bool debuginfod;
	bool json;
	bool no_pager;
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
#define VIEW_OPTION_JSON                                                                           \
	{                                                                                          \
		.name = "json", .type = OPTION_TYPE_SWITCH,                                        \
		.offset = offsetof(struct view_options, json), .help = "print one JSON document"   \
	}
#define VIEW_OPTION_NO_PAGER                                                                       \
	{                                                                                          \
		.name = "no-pager", .type = OPTION_TYPE_SWITCH,                                    \
		.offset = offsetof(struct view_options, no_pager), .help = "do not start a pager"  \
	}
#define VIEW_OPTIONS_THREADS                                                                       \
	OPTION_ADD("comm", 0, "NAME,...", NULL, view__set_comm,                                    \
		   "only threads while they have one of these names"),                             \
		OPTION_ADD("pid", 'p', "PID,...", NULL, view__set_pid, "only these processes"),    \
		OPTION_ADD("tid", 't', "TID,...", NULL, view__set_tid, "only these threads"),      \
		OPTION_CALL("time", 0, "FROM,TO", NULL, view__set_time,                            \
			    "only this part of the recording, in seconds from its start or with "  \
			    "a unit (500ms,2.5s); FROM or TO may be omitted")
#define VIEW_OPTIONS_FILTER                                                                        \
	OPTION_ADD("class", 0, "CLASS,...", "cpu|io|lock|sched|other|stopped", view__set_class,    \
		   "only these classes: cpu, io, lock, sched, other, stopped"),                    \
		VIEW_OPTIONS_THREADS,                                                              \
	{                                                                                          \
		.name = "wakers", .type = OPTION_TYPE_SWITCH,                                      \
		.offset = offsetof(struct view_options, filter.helpers),                           \
		.help = "include helpers: threads recorded only because they woke a recorded one"  \
	}
#define VIEW_OPTIONS_SYMBOLS                                                                       \
	{.name = "no-lines",                                                                       \
	 .type = OPTION_TYPE_SWITCH,                                                               \
	 .offset = offsetof(struct view_options, no_lines),                                        \
	 .help = "where the recording has no symbols: do not read DWARF for lines and inlined "    \
		 "functions"},                                                                     \
	{                                                                                          \
		.name = "debuginfod", .type = OPTION_TYPE_SWITCH,                                  \
		.offset = offsetof(struct view_options, debuginfod),                               \
		.help = "fetch missing debug files from $DEBUGINFOD_URLS"                          \
	}

#define VIEW_OPTION_IDLE(values, help) OPTION_CALL("idle", 0, "[HOW]", values, view__set_idle, help)

int view__set_idle(void *options, const char *value);
int view__set_class(void *options, const char *value);
int view__set_comm(void *options, const char *value);
int view__set_pid(void *options, const char *value);
int view__set_tid(void *options, const char *value);
int view__set_time(void *options, const char *value);

/* The name of the recording: that of -i, or "dwell.data". */
const char *view__path(const struct view_options *options);

/*
 * Loads and symbolizes the recording; prints a warning for a truncated file.
 * Errors as model__load(); -ENODATA: a truncated file has no samples.
 */
int view__load(const struct view_options *options, struct model **out);
/* The same for views that show recordings without samples, too. */
int view__load_any(const struct view_options *options, struct model **out);

/* Calls @item for each part of the comma list @value; stops at the first error. */
int view__each(const char *value, void *context,
	       int (*item)(void *context, const char *text, size_t n));
