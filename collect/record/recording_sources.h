/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sources of a recording's events (collect/programs/event_source.h): a table of those that the
 * configuration asks for. To add one, see docs/developing.md.
 */
#pragma once

#include "base/leaving_map.h"
#include "collect/programs/event_source.h"
#include "collect/record/recorder.h"
#include "collect/record/translate.h"

/* In the order in which their functions are called. */
enum recording_source {
	SOURCE_ANNOTATIONS = 0,
	SOURCE_SEEN_CALLS = 1, /* writes what SOURCE_CALLS has passed on: before that */
	SOURCE_CALLS = 2,      /* recorder_config.calls */
	SOURCE_SPANS = 3,
	SOURCE_FUNCTIONS = 4,
	SOURCE_DEVICES = 5,
	RECORDING_SOURCES = 6,
};

/* What sources are made of; stays the recorder's. */
struct source_parts {
	const struct recorder_config *config;
	const struct record_programs *programs; /* not yet loaded */
	struct record_stream *stream;
	struct translator *translator;
};

struct recording_sources {
	struct event_source all[RECORDING_SOURCES]; /* zero: not asked for */
	struct source_parts parts;
	struct leaving_map pids; /* processes that were passed on, with their leaders' numbers */
	bool follows;		 /* a source has to know of processes and threads */
	bool ticked;
};

/*
 * Makes the sources, before the capture: annotations change the environment of the command.
 * @sources is zeroed before; recording_sources__free() is needed after an error, too. 0 or a
 * negative errno.
 */
int recording_sources__new(const struct source_parts *parts, struct recording_sources *sources);

/*
 * See struct event_source. If start() or tick() of one fails, those behind it are not called.
 * Events are those of the capture's sink.
 */
int recording_sources__start(struct recording_sources *sources, struct capture *capture);
void recording_sources__event(struct recording_sources *sources, const struct event_header *event,
			      size_t size);
void recording_sources__mapping(struct recording_sources *sources,
				const struct code_mapping *mapping);
int recording_sources__tick(struct recording_sources *sources, uint64_t now, uint64_t *next);
void recording_sources__end(struct recording_sources *sources, uint64_t end);
int recording_sources__finish(struct recording_sources *sources, uint64_t now);

/* See recorder__request_problem() and recorder__function_problem(). */
const char *recording_sources__request_problem(const struct recording_sources *sources,
					       size_t index);
const char *recording_sources__function_problem(const struct recording_sources *sources,
						size_t index);

void recording_sources__free(struct recording_sources *sources);
