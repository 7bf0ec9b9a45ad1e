/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wait-for graph of a recording. wPerf, OSDI'18, sections 3 and 4.
 *
 * A vertex is a thread, a group of merged threads, or the origin of interrupts: a block device, a
 * peer, timers. An edge says that one waits for the other. Its plain weight is the time of those
 * waits; its cascaded weight adds the time that others waited because of them, so it may exceed
 * the recording's length.
 */
#pragma once

#include "analysis/waits/thread_similarity.h"
#include "analysis/waits/waitlist.h"

struct waitgraph_options {
	struct sample_filter filter; /* threads whose waits count; classes are ignored */
	struct similarity_options merge;
	bool sampled; /* estimate weights from sampling points even if every wait is known */
};

struct waitgraph_vertex {
	enum cause_type type;
	enum merged merged;
	uint32_t name;	      /* see waitgraph_vertex__name() */
	uint32_t id;	      /* of its first thread, or of the device, in the model; else 0 */
	uint32_t n;	      /* number of threads */
	bool kernel;	      /* kernel threads */
	bool recorded;	      /* its waits are known; always true for devices */
	bool inferred;	      /* a peer whose waits are taken from those for it, waitlist_peers.c */
	uint32_t pid;	      /* of the local process that a peer is, not recorded; else 0 */
	uint64_t lifetime_ns; /* sum over its threads; of a device from its first request on */
	uint64_t stolen_ns;   /* from runs, of the whole recording; in a window of time 0 */
	uint64_t unseen_ns;   /* the same of what was not seen */
	uint64_t running_ns;  /* a device: with requests in flight; a peer: waited for */
	uint64_t runnable_ns;
	uint64_t blocked_ns; /* a device: without; a peer: not waited for */
	double polling;	     /* part of its samples in which it polled, see polling.h */
	/* Exact times of threads that differ from the sampled ones by more than chance. */
	bool running_differs;
	bool runnable_differs;
	bool blocked_differs;
};

/* Waits of one edge with the same kind and the same functions on the stacks. */
struct waitgraph_cause {
	uint8_t origin; /* enum wait_origin */
	uint8_t class;	/* enum wait_class */
	enum wait_kind kind;
	bool idle;	 /* the waiter waits for work */
	uint32_t object; /* of the longest of them */
	uint32_t kernel; /* stacks of one of them: the waiter's, */
	uint32_t user;
	uint32_t waker_kernel; /* and the waker's */
	uint32_t waker_user;
	uint32_t edge;
	uint64_t count; /* recorded waits */
	uint64_t plain_ns;
	uint64_t weight_ns;
	uint64_t longest_ns;
};

struct waitgraph_edge {
	uint32_t from; /* vertex that waits */
	uint32_t to;   /* vertex that is waited for */
	uint64_t count;
	uint64_t plain_ns;
	uint64_t weight_ns; /* cascaded */
	double error_ns;    /* upper bound of weight_ns' standard error; 0: it is exact */
	uint64_t idle_ns;   /* part of plain_ns that was waits for work */
	uint32_t cause;	    /* its first cause; heaviest first */
	uint32_t n_causes;
};

struct waitgraph {
	const struct model *model;
	struct own_strings strings; /* names of vertices that the model does not have */
	ARRAY(struct waitgraph_vertex) vertices;
	ARRAY(struct waitgraph_edge) edges; /* heaviest first */
	ARRAY(struct waitgraph_cause) causes;
	struct waitlist list;
	uint32_t *vertex_of;  /* by node of the list */
	uint32_t *cause_of;   /* by wait of the list */
	bool *weightless;     /* by wait: it overlaps another one, or contains no point */
	uint64_t duration_ns; /* of the window */
	bool exact;	      /* weights are; otherwise estimated */
	uint64_t points;      /* that they were estimated from */
	struct cascade_stats stats;
};

/*
 * Makes the graph of @model, which stays the caller's and must outlive the graph. The caller has
 * zeroed @graph. Returns 0 or -ENOMEM; @graph is to be freed in any case.
 */
int waitgraph__make(const struct model *model, struct kinds *kinds,
		    const struct waitgraph_options *options, struct waitgraph *graph);
/* Adds the vertices, and the waits of merged short-lived threads. Part of waitgraph__make(). */
int waitgraph__vertices(struct waitgraph *graph, const struct thread_similarity *similarity);
void waitgraph__free(struct waitgraph *graph);

static inline const char *waitgraph_vertex__name(const struct waitgraph *graph,
						 const struct waitgraph_vertex *vertex)
{
	return own_strings__text(&graph->strings, vertex->name);
}

/*
 * Whether @vertex is outside of what was recorded: its own waits are unknown. Edges to it are
 * shown, but do not count in the search for knots.
 */
static inline bool waitgraph_vertex__outside(const struct waitgraph_vertex *vertex)
{
	return !vertex->recorded && !vertex->inferred;
}

/* Whether most of its time is waits for work. */
static inline bool waitgraph_edge__is_idle(const struct waitgraph_edge *edge)
{
	return edge->idle_ns > edge->plain_ns / 2;
}
