/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What may be said of a bottleneck, because the rows of the graph show it: sentences are made from
 * this, not from how the bottleneck was found, which ignores short and unrecorded waits.
 */
#pragma once

#include "analysis/waits/bottleneck.h"

/* Of the time that threads were alive: less than this is "nothing", and less than that "little". */
#define VERDICT_NOTHING 0.005
#define VERDICT_LITTLE	0.1

/* CPUs that are idle for less of their time are full. */
#define VERDICT_FULL_IDLE 0.15

struct machine_use {
	double busy;	 /* share of the CPUs' time, 0 to 1; less than 0: unknown */
	double recorded; /* the part of it that recorded threads used */
	bool full;	 /* busy, and threads that were asked for wait for CPUs */
};

struct verdict {
	uint64_t lifetime_ns; /* of the members that are threads, summed */
	/* Waits of members: */
	uint64_t inside_ns;		      /* for each other */
	uint64_t outside_ns;		      /* for others, but for those of kernel threads */
	uint64_t work_ns;		      /* of both, for work */
	const struct waitgraph_edge *other;   /* the longest for another; NULL: none */
	const struct waitgraph_edge *awaited; /* the longest wait of another for them; NULL: none */
	uint64_t kernel_ns;		      /* of kernel threads, for work: in none of these */
	uint64_t stopped_ns;		      /* in which they were not allowed to run */
	const struct waitgraph_edge *limit;   /* the longest of these; NULL: none */
};

struct machine_use verdict__machine(const struct waitgraph *graph,
				    const struct bottlenecks *bottlenecks);

struct verdict verdict__of(const struct waitgraph *graph, const struct bottleneck *bottleneck);

/* The function in which the members of a bottleneck spend most of their CPU time. */
struct verdict_code {
	uint32_t name; /* string; 0: no function has a name */
	double share;  /* of their CPU time, 0 to 1, as sampled */
};

/* By samples within the window of @graph. Without memory as if no function had a name. */
struct verdict_code verdict__code(const struct waitgraph *graph,
				  const struct bottleneck *bottleneck);

/* Where no bottleneck was found. */
struct no_verdict {
	double busy; /* most that a vertex that was asked for ran or was runnable, of the window */
	const struct waitgraph_edge *longest; /* of its waits, but for work; NULL: there is none */
	double longest_share;		      /* its plain weight, of the window */
	bool only_sleeps;		      /* they hardly run, and wait for timers only */
	bool awaited;			      /* another thread waits for one of them */
};

struct no_verdict verdict__none(const struct waitgraph *graph,
				const struct bottlenecks *bottlenecks);
