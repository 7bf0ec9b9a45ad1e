/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All waits of a recording in one list: what threads were blocked for, what they
 * were busy-waiting for, and the time devices had nothing to do; each with who
 * waits and who is waited for, as vertices of a graph that is not merged yet.
 */
#pragma once

#include "analysis/waits/cascade.h"
#include "analysis/weighted_samples.h"
#include "analysis/waits/wait_causes.h"

enum wait_origin {
	WAIT_BLOCKED = 0, /* an interval of a thread */
	WAIT_SPIN,	  /* told by annotations */
	WAIT_IDLE,	  /* of a device */
	WAIT_NO_TASK,	  /* of short-lived threads, when there are none */
};

/* Where a wait comes from. */
struct wait_place {
	uint32_t index;	 /* of the waiter's interval, the annotation that begins it, or idle time */
	uint8_t origin;	 /* enum wait_origin */
	uint8_t spacing; /* its sampling points lie 2^spacing periods apart */
};

/* Something that waits, or is waited for. */
struct waiter {
	enum cause_type type;
	uint32_t id;	  /* as in struct wait_cause */
	uint32_t virtual; /* of short-lived threads: who creates them, a waiter; else 0 */
	bool known;	  /* what it waits for: it was recorded, and the filter lets it through */
};

struct waitlist {
	const struct model *model;
	/* The model's threads have their own numbers in it, devices and others follow. */
	ARRAY(struct waiter) waiters;
	ARRAY(struct wait) waits;	 /* cut to the window; waiter and waker are of @waiters */
	ARRAY(struct wait_place) places; /* of each wait */
	uint64_t from;			 /* the window, ns CLOCK_MONOTONIC */
	uint64_t until;
	uint64_t false_wakeups; /* taken out */
	bool exact;		/* every wait is there, not just sampled ones */

	struct map64 others; /* type and id -> waiter */
};

/*
 * All waits of @model within @filter's window; @list->exact is set before. Returns 0 or -ENOMEM;
 * @list is to be freed in any case.
 */
int waitlist__make(const struct model *model, const struct wait_causes *causes,
		   const struct sample_filter *filter, struct waitlist *list);

/* What busy waiting the threads told of; part of waitlist__make(). */
int waitlist__add_spins(struct waitlist *list);

/* Adds what of @wait lies in the window. Returns 0 or -ENOMEM. */
int waitlist__add(struct waitlist *list, struct wait wait, struct wait_place place);

/*
 * A further waiter, for short-lived threads of @creator, and a wait of it for the
 * creator. NO_WAITER, or -ENOMEM, without memory.
 */
#define NO_WAITER INT32_MAX
uint32_t waitlist__virtual(struct waitlist *list, uint32_t creator);
int waitlist__add_no_task(struct waitlist *list, uint32_t waiter, uint64_t begin, uint64_t end);

void waitlist__free(struct waitlist *list);
