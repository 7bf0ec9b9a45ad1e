/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All waits of a recording in one list: blocked threads, threads that spin, and idle devices. Each
 * wait is an edge between two nodes (threads, devices, peers, ...), before nodes are merged into
 * the vertices of the wait-for graph.
 */
#pragma once

#include "analysis/waits/cascade.h"
#include "analysis/weighted_samples.h"
#include "analysis/kinds/wait_causes.h"

enum wait_origin {
	WAIT_BLOCKED = 0, /* an interval of a thread */
	WAIT_SPIN,	  /* busy waiting, by annotations */
	WAIT_DEVICE_IDLE, /* a device with nothing in flight waits for a request */
	WAIT_NO_TASK,	  /* merged short-lived threads, while none exists, wait for a task */
};

/* What a wait was made from. */
struct wait_source {
	uint32_t index;	 /* of the waiter's interval, SPIN_BEGIN annotation, or idle time */
	uint8_t origin;	 /* enum wait_origin */
	uint8_t spacing; /* its sampling points lie 2^spacing periods apart */
};

/* What waits, or is waited for. */
struct wait_node {
	enum cause_type type;
	uint32_t id;	  /* as in struct wait_cause */
	uint32_t creator; /* of merged short-lived threads: the node that creates them; else 0 */
	bool waits_known; /* its waits are in the list: it was recorded, and passes the filter */
};

struct waitlist {
	const struct model *model;
	/* [0]: unknown; then the model's threads by their index, then devices and others. */
	ARRAY(struct wait_node) nodes;
	ARRAY(struct wait) waits;	   /* clipped to the window; vertices are nodes here */
	ARRAY(struct wait_source) sources; /* by wait */
	uint64_t from;			   /* the window, ns CLOCK_MONOTONIC */
	uint64_t until;
	uint64_t false_wakeups; /* that waits were joined over */
	bool exact;		/* every wait is in the list, not only sampled ones */

	struct map64 others; /* type and id -> node, of those that are no threads */
};

/*
 * Makes the list of all waits of @model within @filter's window. The caller has zeroed @list, but
 * for exact. Returns 0 or -ENOMEM; @list is to be freed in any case.
 */
int waitlist__make(const struct model *model, const struct wait_causes *causes,
		   const struct sample_filter *filter, struct waitlist *list);

/* Adds the busy waiting that threads annotated; part of waitlist__make(). 0 or -ENOMEM. */
int waitlist__add_spins(struct waitlist *list);

/* Adds @wait, clipped to the window; nothing if it lies outside. Returns 0 or -ENOMEM. */
int waitlist__add(struct waitlist *list, struct wait wait, struct wait_source source);

#define NO_NODE INT32_MAX /* instead of a node: out of memory */

/* Adds a node for the merged short-lived threads that node @creator creates. Or NO_NODE. */
uint32_t waitlist__add_short_lived(struct waitlist *list, uint32_t creator);

/* Adds a wait of such a @node for its creator in [@begin, @end). Returns 0 or -ENOMEM. */
int waitlist__add_no_task(struct waitlist *list, uint32_t node, uint64_t begin, uint64_t end);

void waitlist__free(struct waitlist *list);
