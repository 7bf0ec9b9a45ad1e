/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knots of a wait-for graph (wPerf, OSDI'18, sections 3.1 to 3.3 and 4.2): sets of vertices that
 * wait for each other and for no other vertex. Throughput cannot improve unless a wait in each
 * knot becomes shorter. Knots are refined: their lightest edges are removed until they split.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

/* @from waits for @to. At most one edge for a pair; self-loops are allowed. */
struct graph_edge {
	uint32_t from;
	uint32_t to;
	uint64_t weight; /* cascaded, ns */
};

/* A strongly connected component without an edge to the outside. */
struct knot {
	bool sink;		 /* without edges: one vertex that waits for none */
	ARRAY(uint32_t) members; /* vertices, ascending */
	ARRAY(uint32_t) edges;	 /* indices of the remaining edges between them, heaviest first */
};

struct knots {
	ARRAY(struct knot) all;
};

/*
 * Finds the knots and sinks of the graph of @n @edges among @vertices vertices. From a knot that is
 * more than a simple cycle, edges of weight at most @threshold are removed (0: none). Vertices
 * without an edge are ignored. Returns 0 or -ENOMEM; @knots is to be released in any case.
 */
int knots__find(const struct graph_edge *edges, size_t n, uint32_t vertices, uint64_t threshold,
		struct knots *knots);

void knots__release(struct knots *knots);
