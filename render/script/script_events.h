/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a recording in the order of time, merged from all timelines. For script.c. */
#pragma once

#include "analysis/weighted_samples.h"

/* The kinds of lines. Lines of one thread at the same time are in this order. */
enum script_line {
	LINE_THREAD,
	LINE_COMM,
	LINE_EXEC,
	LINE_SEGMENT,
	LINE_WAKE,
	LINE_SAMPLE,
	LINE_INTERVAL,
	LINE_ANNOTATION,
	LINE_EXIT,
	LINE_IDLE,  /* of a device */
	LINE_BLOCK, /* a request to a device */
	LINE_REQUEST,
	LINE_COUNT,
};

/* An event, and where it is in its timeline. */
struct script_event {
	uint64_t time;
	uint32_t thread;
	uint32_t device; /* of LINE_IDLE */
	uint32_t kind;	 /* enum script_line */
	size_t index;
};

struct script_events {
	const struct model *model;
	ARRAY(struct script_event) heap; /* the next one of each timeline, the earliest first */
};

/*
 * Begins with the events of threads that @filter selects, and of devices. The caller has zeroed
 * @events, and frees it in any case. 0 or -ENOMEM.
 */
int script_events__begin(struct script_events *events, const struct model *model,
			 const struct sample_filter *filter);

/* The earliest event; NULL: there is none left. Valid until script_events__advance(). */
const struct script_event *script_events__first(const struct script_events *events);
void script_events__advance(struct script_events *events);

void script_events__free(struct script_events *events);
