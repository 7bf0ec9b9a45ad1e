/* SPDX-License-Identifier: BSD-2-Clause */
/* From the events of the kernel side to the records of the file. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "collect/record/annotations.h"
#include "collect/core/address_spaces.h"
#include "recording/recording.h"

struct translator;

int translator__new(struct recording_writer *writer, struct translator **out);

/* Writes @event of @size bytes. A malformed one is skipped. The writer keeps its error. */
void translator__event(struct translator *translator, const struct event_header *event,
		       size_t size);

/* Writes an annotation of a recorded thread. False: no such thread is known (yet). */
bool translator__annotation(struct translator *translator, const struct annotation *annotation);

/* Writes @mapping, and what it maps when it is new. */
void translator__mapping(struct translator *translator, const struct code_mapping *mapping);

/* The number of the origin (collect/core/address_spaces.h) that the recording names @dso; 0: none.
 */
uint32_t translator__origin(const struct translator *translator, uint32_t dso);

/* All events were given: writes what was held back in case more of it came. */
void translator__end(struct translator *translator);

/* Events translated. */
uint64_t translator__events(const struct translator *translator);

void translator__free(struct translator *translator);
