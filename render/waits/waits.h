/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell waits`: the verdict and the wait-for graph behind it, as text, JSON and for graphviz. */
#pragma once

#include <stdio.h>

#include "analysis/waits/bottleneck.h"
#include "analysis/callchain.h"

struct waits {
	const struct model *model;
	const struct sample_filter *filter;
	const struct waitgraph *graph;
	const struct bottlenecks *bottlenecks;
	double percent_limit; /* edges below this part of the window are left out */
	uint64_t max_causes;  /* of each edge; 0: all */
	bool colour;
};

/* All return 0 or -ENOMEM. */
int waits__text(const struct waits *waits, FILE *to);
int waits__json(const struct waits *waits, FILE *to);
int waits__dot(const struct waits *waits, FILE *to);

/* One edge: its weights, and the places in the code. Returns 0 or -ENOMEM. */
int waits__edge(const struct waits *waits, const struct waitgraph_edge *edge, FILE *to);

/* "worker* (8 threads)" */
void vertex__text(const struct waits *waits, uint32_t vertex, char *text, size_t size);

/* What a wait was for: "fsync /data/log", "nothing in flight", ... */
void cause__text(const struct model *model, const struct waitgraph_cause *cause, char *text,
		 size_t size);

/* Weights as a part of the window, in percent. */
double waits__percent(const struct waits *waits, uint64_t ns);

/* The verdict: one sentence, for @bottleneck, NULL: there is none. */
void verdict__text(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
		   size_t size);

/* What more could be gained: a sentence, or "". */
void verdict__note(const struct waits *waits, const struct bottleneck *bottleneck, char *text,
		   size_t size);

/* Calls @each for everything that the recording cannot tell, one sentence each. */
void verdict__unknowns(const struct waits *waits, void (*each)(void *context, const char *text),
		       void *context);
