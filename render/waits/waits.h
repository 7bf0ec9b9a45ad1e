/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell waits`: the verdict and the wait-for graph, as text, JSON and Graphviz input. */
#pragma once

#include <stdio.h>

#include <jansson.h>

#include "analysis/callchain.h"
#include "analysis/waits/verdict_lock.h"

struct waits {
	const struct model *model;
	const struct sample_filter *filter;
	const struct waitgraph *graph;
	const struct bottlenecks *bottlenecks;
	const struct verdict_locks *locks; /* of the bottlenecks; NULL: none is named */
	double percent_limit;		   /* edges below this share of the window are left out */
	uint64_t max_causes;		   /* of each edge; 0: all */
	bool color;
};

/* All return 0 or -ENOMEM. */
int waits__text(const struct waits *waits, FILE *to);
int waits__json(const struct waits *waits, FILE *to);
int waits__dot(const struct waits *waits, FILE *to);

/* Prints an edge with its weights and code locations. Returns 0 or -ENOMEM. */
int waits__edge(const struct waits *waits, const struct waitgraph_edge *edge, FILE *to);

/*
 * Sets *@code to the functions of a wait and their callers, one line, to be freed. Returns 0 or
 * -ENOMEM.
 */
int waits__code(const struct waits *waits, uint32_t kernel, uint32_t user, char **code);

/* The same as JSON. */
json_t *waits__frames(const struct waits *waits, uint32_t kernel, uint32_t user);

/* The lock of @bottleneck; NULL: there is none that matters. */
const struct verdict_lock *waits__lock(const struct waits *waits,
				       const struct bottleneck *bottleneck);

/* "lock at 0x1234, taken in store_item" */
void waits__lock_name(const struct waits *waits, const struct verdict_lock *lock, char *text,
		      size_t size);

/* Prints the lock that members of @bottleneck hold; nothing without. Returns 0 or -ENOMEM. */
int waits__put_lock(const struct waits *waits, const struct bottleneck *bottleneck, FILE *to);

/* The same as JSON; null without. */
json_t *waits__lock_json(const struct waits *waits, const struct bottleneck *bottleneck);

/* "worker* (8 similar threads)" */
void vertex__text(const struct waits *waits, uint32_t vertex, char *text, size_t size);

/* At least so many edges are listed, if there are as many, whatever percent_limit is. */
#define WAITS_LEAST_EDGES 3

/*
 * Whether the list of edges has @edge: not short ones, those of unrelated programs, and of kernel
 * workers without work. But where the shares of a large window hide all, some are listed.
 */
bool waits__is_shown(const struct waits *waits, const struct waitgraph_edge *edge);

/* What a wait was for: "fsync /data/log", "nothing in flight", ... */
void cause__text(const struct model *model, const struct waitgraph_cause *cause, char *text,
		 size_t size);

/* @ns in percent of the window. */
double waits__percent(const struct waits *waits, uint64_t ns);

/* Percent from which on weights are given in threads: 100.0% is not. */
#define WAITS_IN_THREADS 100.05

/* The same as text: "12.3%"; more than one thread's time in threads, on average: "5.3 threads". */
const char *waits__share(const struct waits *waits, uint64_t ns, char text[static 24]);

/* The verdict on @bottleneck, in sentences; NULL: there is no bottleneck. */
void verdict__text(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
		   size_t size);

/*
 * Sets @text to a sentence about full CPUs, which come before any wait. False, and "": they are
 * not, or no thread waits for one.
 */
bool verdict__cpus(const struct waits *waits, char *text, size_t size);

/* A sentence about CPU contention among the bottleneck's threads, or "". */
void verdict__note(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
		   size_t size);

/* Calls @each with a sentence for each limitation of the recording. */
void verdict__limitations(const struct waits *waits, void (*each)(void *context, const char *text),
			  void *context);
