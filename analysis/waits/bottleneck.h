/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What limits a program, out of its wait-for graph: knots and sinks, which of them
 * work for themselves in the background, and which edges of a knot are worth a
 * look. wPerf, OSDI'18, sections 3.2, 3.3 and 4.2.
 */
#pragma once

#include "analysis/waits/waitgraph.h"

enum bottleneck_type {
	BOTTLENECK_KNOT = 0,
	BOTTLENECK_WORK,      /* a sink: its own work takes the time */
	BOTTLENECK_MORE_CPUS, /* the same, but more than anything it waits for a CPU */
	BOTTLENECK_OUTSIDE,   /* it waits for somebody who was not recorded */
	BOTTLENECK_SLEEP,     /* it waits for time to pass */
};

struct bottleneck {
	enum bottleneck_type type;
	bool background; /* not busy: set aside, as long as there is anything that is */
	bool sleeps;	 /* when it is not busy, it waits for time to pass */
	bool relevant;	 /* a thread that was asked for is in it, or waits for it */
	ARRAY(uint32_t) members;
	/* Of the graph, between members; waits for work come last. What works by itself has
	 * those of the knot it was found in, if any. */
	ARRAY(uint32_t) edges;
	const struct waitgraph_edge *awaited_by; /* BOTTLENECK_SLEEP: who waits for it; or NULL */
	double active; /* part of the time that one of it ran, could have, or had requests */
	double idle_for[SOURCE_TYPE_COUNT]; /* and the rest: what its members waited for then */
	uint64_t running_ns;
	uint64_t runnable_ns;
	uint64_t pull_ns; /* what others waited for it, and it did itself: they are ordered by it */
};

struct bottlenecks {
	ARRAY(struct bottleneck) all; /* the one to look at first, first; background ones last */
	uint64_t threshold_ns;
	uint64_t least_ns; /* shorter edges were not looked at */
};

/*
 * @threshold, 0 to 1 or more, is the part of the recording's length up to which an edge is
 * taken out of a knot that is no simple cycle. Returns 0 or -ENOMEM; to be freed anyway.
 */
int bottlenecks__find(const struct waitgraph *graph, double threshold, struct bottlenecks *out);
/* Puts them into order, the one to look at first; part of bottlenecks__find(). */
int bottlenecks__choose(const struct waitgraph *graph, struct bottlenecks *bottlenecks);
void bottlenecks__free(struct bottlenecks *bottlenecks);

/* "knot", "work", "cpus", "outside", "sleep". */
const char *bottleneck_type__name(enum bottleneck_type type);

/* The one to look at, or NULL. */
const struct bottleneck *bottlenecks__first(const struct bottlenecks *bottlenecks);

bool bottleneck__has(const struct bottleneck *bottleneck, uint32_t vertex);
