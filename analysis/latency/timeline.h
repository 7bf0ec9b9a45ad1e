/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timeline of a request: the calls and waits of its thread, and during a wait for a lock also
 * the calls of the lock's holder (LDB, NSDI'24, section 5.1 and figure 6). Of a tagged request,
 * those of each thread in the times in which it had the request, and the times in queues.
 */
#pragma once

#include <stdint.h>

#include "analysis/kinds/wait_causes.h"
#include "base/array.h"
#include "model/model.h"

enum timeline_type {
	TIMELINE_CALL = 0,	  /* a call of the thread */
	TIMELINE_WAIT = 1,	  /* it was blocked */
	TIMELINE_RUN_QUEUE = 2,	  /* it waited for a CPU */
	TIMELINE_HOLDER_CALL = 3, /* a call of the thread that the wait above was for */
	TIMELINE_QUEUE = 4,	  /* it was in a queue, or waited, and no thread had it */
	TIMELINE_THREAD = 5,	  /* a thread had it; what it did follows */
};

struct timeline_item {
	uint64_t begin; /* ns, CLOCK_MONOTONIC; not before the request */
	uint64_t end;	/* not after it */
	uint64_t queue; /* its address: queues; 0: unknown */
	uint32_t thread;
	uint32_t level; /* calls: those below it on the shadow stack */
	uint32_t depth; /* calls and waits of the request that it lies in */
	uint32_t name; /* string: calls: the function; waits: the function that ended it; 0: unknown
			*/
	struct wait_cause cause; /* waits: what ended it */
	uint32_t object;	 /* waits */
	uint32_t instead;	 /* thread: run queue: who ran on the CPU before; 0: unknown */
	uint8_t type;		 /* enum timeline_type */
	uint8_t kind;		 /* enum wait_kind: waits */
};

struct timeline {
	/* By begin, outer ones first; in a tagged request, of one part after the other. */
	ARRAY(struct timeline_item) items;
};

/* Calls shorter than the resolution are missing. 0 or -ENOMEM. */
int timeline__make(const struct model *model, const struct wait_causes *causes,
		   const struct model_span *span, struct timeline *timeline);
void timeline__free(struct timeline *timeline);
