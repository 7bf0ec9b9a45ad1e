/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates events of the kernel side to records of the file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "collect/record/addresses.h"
#include "collect/record/annotations.h"
#include "collect/record/call_probes.h"
#include "collect/stacks/address_spaces.h"
#include "collect/probes/observed_call.h"
#include "collect/probes/span_sources.h"
#include "recording/record_stream.h"
#include "recording/recording.h"

struct translator;

int translator__new(struct record_stream *stream, struct translator **out);

/* Writes @event of @size bytes; skips a malformed one. Errors are kept by the stream. */
void translator__event(struct translator *translator, const struct event_header *event,
		       size_t size);

/*
 * Writes an annotation; @name is that of its span, or NULL. False: its thread is not known (yet).
 */
bool translator__annotation(struct translator *translator, const struct annotation *annotation,
			    const char *name);

/*
 * Write what a scanner of shadow stacks saw. Calls of threads that are not known are dropped, and
 * counted.
 */
void translator__call(struct translator *translator, const struct observed_call *call);
void translator__short_calls(struct translator *translator, uint64_t time,
			     const struct short_calls *calls);
void translator__scan(struct translator *translator, const struct scan_report *report);
/* Writes what the probes of a function did until @time. */
void translator__probe(struct translator *translator, uint64_t time, uint32_t number,
		       const struct call_probe *probe);

uint64_t translator__lost_calls(const struct translator *translator);

/* The number of spans of source @index that ended so far. */
uint64_t translator__spans(const struct translator *translator, size_t index);

/* The sources whose numbers EVENT_SPAN has. They stay the caller's. */
void translator__set_sources(struct translator *translator, const struct span_sources *sources);

/* Adds what is to have names to @addresses, which stays the caller's. */
void translator__collect_addresses(struct translator *translator, struct addresses *addresses);

/* After each batch of events: locates what was added. */
void translator__locate(struct translator *translator, const struct address_spaces *spaces);

/*
 * A call that is to be written by translator__call(), when its thread is known: by then, its
 * process may be gone.
 */
void translator__expect_call(struct translator *translator, const struct observed_call *call);

/* The DSO that is written for @origin. */
uint32_t translator__write_dso(struct record_stream *stream, const struct code_origin *origin);

/* Writes @mapping, and its DSO if that is new. */
void translator__mapping(struct translator *translator, const struct code_mapping *mapping);

/*
 * Whether so many stacks and files were used since the last translator__forget_unused() that this
 * is due: it forgets those that were not used since the call before. Of what is sent again, frames
 * and paths have to be sent, too.
 */
bool translator__knows_many(const struct translator *translator);
void translator__forget_unused(struct translator *translator);

/*
 * Forgets origins that @spaces has forgotten: their mappings are gone. To be called often; their
 * DSOs stay in the recording.
 */
void translator__forget_origins(struct translator *translator, const struct address_spaces *spaces);

/* After the last event: writes the provisional totals that no final ones replaced. */
void translator__end(struct translator *translator);

/* The process whose leader thread @number is; 0: it is none, or not known (any more). */
uint32_t translator__led_by(const struct translator *translator, uint32_t number);

/* When the last target exited; 0: there was none, or one has not. */
uint64_t translator__last_exit(const struct translator *translator);

/* The number of events translated. */
uint64_t translator__events(const struct translator *translator);

void translator__free(struct translator *translator);
