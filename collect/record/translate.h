/* SPDX-License-Identifier: BSD-2-Clause */
/* From the events of the kernel side to the records of the file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "collect/record/annotations.h"
#include "collect/core/mappings.h"
#include "recording/recording.h"

struct translator;

/* @start is the begin of the recording: mappings found later are as of then. */
int translator__new(struct recording_writer *writer, struct mappings *mappings,
		    struct unwinder *unwinder, uint64_t start, struct translator **out);

/* Records the mappings of a process that is there already. */
void translator__add_process(struct translator *translator, uint32_t pid);

/* Writes @event of @size bytes. A malformed one is skipped. The writer keeps its error. */
void translator__event(struct translator *translator, const struct event_header *event,
		       size_t size);

/* Writes what a recorded thread told of itself. False: no such thread is known (yet). */
bool translator__annotation(struct translator *translator, const struct annotation *annotation);

/* Those whose parents came late have them now. To be called when a batch of events is over. */
void translator__find_parents(struct translator *translator);

/* All events were given: writes what was held back in case more of it came. */
void translator__end(struct translator *translator);

/* Whether process @pid is being recorded, as far as events have told. */
bool translator__knows_process(const struct translator *translator, uint32_t pid);

/* Events translated. */
uint64_t translator__events(const struct translator *translator);

void translator__free(struct translator *translator);
