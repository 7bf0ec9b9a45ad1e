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
	WAIT_TCP_IDLE,	  /* TCP holds nothing back that is waited for, and waits for data */
	WAIT_PEER_IDLE,	  /* a peer is not waited for, and waits for the next request */
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
	/* What a peer does for one thread, see waitlist_peers.c: */
	uint32_t client; /* the thread; of other nodes 0 */
	uint32_t whole;	 /* the peer's own node */
	uint64_t since;	 /* when the thread waited for it first */
	/* A peer whose waits are in the list, as those of such nodes: */
	bool divided;
	uint32_t pid; /* of the local process that it is, or 0; of both */
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

/* The node of @cause, added if it is new; NO_NODE without memory. */
uint32_t waitlist__node(struct waitlist *list, struct wait_cause cause);

/* Adds TCP's waits for data to hold back; part of waitlist__make(). 0 or -ENOMEM. */
int waitlist__add_tcp(struct waitlist *list);

/*
 * Adds the waits of peers for requests, and replaces peers as wakers by what they do for single
 * threads; part of waitlist__make(). 0 or -ENOMEM. @idle may be NULL.
 */
int waitlist__add_peers(struct waitlist *list, const struct wait_causes *causes,
			const struct idle_waits *idle);

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
