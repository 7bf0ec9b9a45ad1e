/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds what limits a program, from its wait-for graph: knots and sinks, without those that only
 * work in the background, and the edges of each knot. wPerf, OSDI'18, sections 3.2, 3.3 and 4.2.
 */
#pragma once

#include "analysis/waits/activity.h"
#include "analysis/waits/waitgraph.h"

enum bottleneck_type {
	BOTTLENECK_KNOT = 0,
	BOTTLENECK_WORK,      /* a sink that is limited by its own work */
	BOTTLENECK_MORE_CPUS, /* a sink that is runnable for longer than it runs */
	BOTTLENECK_OUTSIDE,   /* a sink that mostly waits for what was not recorded */
	BOTTLENECK_SLEEP,     /* a sink that mostly sleeps */
	BOTTLENECK_LIMIT,     /* a sink that mostly is not allowed to run */
};

struct bottleneck {
	enum bottleneck_type type;
	bool background; /* not busy: considered only if no other one is busy */
	bool sleeps;	 /* while no member is active, they mostly sleep */
	bool relevant;	 /* a member is RELATION_ASKED_FOR or RELATION_AWAITED */
	bool polls;	 /* a sink that only polls, and waits for what it polls */
	bool has_peer;	 /* a member was not recorded: struct waitgraph_vertex's inferred */
	bool alike;	 /* its members are sinks of one name, of which one or another is busy */
	ARRAY(uint32_t) members;
	/*
	 * Of the graph, between members; waits for work come last. A sink that was found in a knot
	 * has the edges of that knot.
	 */
	ARRAY(uint32_t) edges;
	const struct waitgraph_edge *awaited_by; /* BOTTLENECK_SLEEP: who waits for it; or NULL */
	double active;				 /* see activity__of() */
	double idle_for[CAUSE_TYPE_COUNT];	 /* see activity__of() */
	uint64_t running_ns;			 /* of its threads */
	uint64_t runnable_ns;			 /* of its threads */
	/*
	 * The sort key: the weight of all waits for members, and the members' own running and
	 * runnable time.
	 */
	uint64_t impact_ns;
};

/*
 * What a vertex has to do with the threads that were asked for. Others are recorded because they
 * woke one of these (dwell record --wakers), and may be of unrelated programs.
 */
enum relation {
	RELATION_NONE = 0,
	RELATION_WAITER = 1,  /* waits for one that was asked for */
	RELATION_AWAITED = 2, /* one that was asked for waits for it, maybe through others */
	RELATION_ASKED_FOR = 3,
};

struct bottlenecks {
	ARRAY(struct bottleneck) all; /* the main one first; background ones last */
	uint64_t threshold_ns;
	uint64_t min_edge_ns; /* edges with less plain weight are ignored */
	uint8_t *relations;   /* by vertex: enum relation. Waits for work make none */
};

#define BOTTLENECKS_THRESHOLD 0.2 /* unless the user gives another one */

/*
 * Finds the bottlenecks of @graph. In knots that are no simple cycle, edges of at most @threshold
 * times the recording's length are removed (knots__find()); @threshold may exceed 1. The caller
 * has zeroed @out. Returns 0 or -ENOMEM; @out is to be freed in any case.
 */
int bottlenecks__find(const struct waitgraph *graph, double threshold, struct bottlenecks *out);
/* Sorts them, the main one first. Part of bottlenecks__find(). */
int bottlenecks__choose(const struct waitgraph *graph, struct activity *activity,
			struct bottlenecks *bottlenecks);
/* Parts of it: sets what is known from the members alone; and frees one. */
int bottleneck__classify(const struct waitgraph *graph, struct activity *activity, bool sink,
			 struct bottleneck *bottleneck);
void bottleneck__free(struct bottleneck *bottleneck);
void bottlenecks__free(struct bottlenecks *bottlenecks);

/* Whether both ends of @edge have to do with the threads that were asked for. */
static inline bool bottlenecks__is_related(const struct bottlenecks *bottlenecks,
					   const struct waitgraph_edge *edge)
{
	return bottlenecks->relations[edge->from] && bottlenecks->relations[edge->to];
}

/* "knot", "work", "cpus", "outside", "sleep". */
const char *bottleneck_type__name(enum bottleneck_type type);

/* The main bottleneck, or NULL. */
const struct bottleneck *bottlenecks__first(const struct bottlenecks *bottlenecks);

bool bottleneck__has(const struct bottleneck *bottleneck, uint32_t vertex);
