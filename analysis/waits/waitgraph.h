/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wait-for graph of a recording. wPerf, OSDI'18, sections 3 and 4.
 *
 * A vertex is a thread, or several that are one of a kind, or what stands behind an
 * interrupt: a block device, a peer, timers. An edge says that one waits for the
 * other. Its plain weight is the time it did; its cascaded weight adds what others
 * waited meanwhile because of that, so it may exceed the recording's length.
 */
#pragma once

#include "analysis/waits/thread_similarity.h"
#include "analysis/waits/waitlist.h"

struct waitgraph_options {
	struct sample_filter filter; /* threads: whose waits count; classes are not looked at */
	struct similarity_options merge;
	bool sampled; /* weigh by the sampling points, even if every wait is known */
};

struct waitgraph_vertex {
	enum cause_type type;
	enum merged merged;
	uint32_t name;	      /* see waitgraph_vertex__name() */
	uint32_t id;	      /* of its first: thread or device of the model, 0 for others */
	uint32_t n;	      /* threads */
	bool kernel;	      /* threads of the kernel */
	bool recorded;	      /* what it waits for is known; always so of devices */
	uint64_t lifetime_ns; /* of all its threads; a device's from its first request on */
	uint64_t running_ns;  /* a device: with something in flight */
	uint64_t runnable_ns;
	uint64_t blocked_ns; /* a device: with nothing in flight */
};

/* Waits of one edge for one reason, in one place. */
struct waitgraph_cause {
	uint8_t origin; /* enum wait_origin */
	uint8_t class;	/* enum wait_class */
	enum wait_kind kind;
	bool idle;	 /* the waiter has nothing to do */
	uint32_t object; /* of the longest of them */
	uint32_t kernel; /* stacks of one of them: the waiter's */
	uint32_t user;
	uint32_t waker_kernel; /* and who woke it */
	uint32_t waker_user;
	uint32_t edge;
	uint64_t count; /* recorded waits */
	uint64_t plain_ns;
	uint64_t weight_ns;
	uint64_t longest_ns;
};

struct waitgraph_edge {
	uint32_t from; /* waits */
	uint32_t to;   /* for this one */
	uint64_t count;
	uint64_t plain_ns;
	uint64_t weight_ns; /* cascaded */
	double error_ns;    /* standard error of weight_ns at most; 0 when that is exact */
	uint64_t idle_ns;   /* of plain_ns: there was nothing to do */
	uint32_t cause;	    /* the first of its causes: those with most weight first */
	uint32_t n_causes;
};

struct waitgraph {
	const struct model *model;
	struct own_strings strings; /* for names of vertices, which the model may not have */
	ARRAY(struct waitgraph_vertex) vertices;
	ARRAY(struct waitgraph_edge) edges; /* most weight first */
	ARRAY(struct waitgraph_cause) causes;
	struct waitlist list;
	uint32_t *vertex_of;  /* by waiter of the list */
	uint64_t duration_ns; /* of the window */
	bool exact;
	uint64_t points; /* that the weights were estimated from */
	struct cascade_stats stats;
};

/*
 * Makes the graph of @model, which stays the caller's and there as long as the graph. Returns 0
 * or -ENOMEM; @graph is to be freed in any case.
 */
int waitgraph__make(const struct model *model, struct kinds *kinds,
		    const struct waitgraph_options *options, struct waitgraph *graph);
/* The vertices, and waits of those that stand for short-lived threads: part of it. */
int waitgraph__vertices(struct waitgraph *graph, const struct thread_similarity *similarity);
void waitgraph__free(struct waitgraph *graph);

static inline const char *waitgraph_vertex__name(const struct waitgraph *graph,
						 const struct waitgraph_vertex *vertex)
{
	return own_strings__text(&graph->strings, vertex->name);
}

/*
 * Whether @vertex is outside of what was recorded: nothing is known of what it waits
 * for. Edges to it are shown, and left out when knots are looked for.
 */
static inline bool waitgraph_vertex__outside(const struct waitgraph_vertex *vertex)
{
	return !vertex->recorded;
}

/* Whether who waits there mostly has nothing to do. */
static inline bool waitgraph_edge__is_idle(const struct waitgraph_edge *edge)
{
	return edge->idle_ns > edge->plain_ns / 2;
}
