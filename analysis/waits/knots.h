/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Knots of a wait-for graph (wPerf, OSDI'18, sections 3.1 to 3.3 and 4.2): sets of
 * vertices that wait for each other and for nobody else. One wait in each has to
 * become shorter before anything gets faster. Large ones are refined: their least
 * edges are taken out until they fall apart.
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

/* What is inescapable in a graph. */
struct knot {
	bool sink;		 /* one vertex that waits for nobody: it is its work that counts */
	ARRAY(uint32_t) members; /* vertices, ascending */
	ARRAY(uint32_t) edges;	 /* indices of those left between them, heaviest first */
};

struct knots {
	ARRAY(struct knot) all;
};

/*
 * The knots and sinks of the graph of @n @edges among @vertices vertices. Those
 * with more than a simple cycle are refined by taking out edges of at most
 * @threshold; 0: none are. Vertices without an edge are left out. Returns 0 or
 * -ENOMEM; @knots is to be released in any case.
 */
int knots__find(const struct graph_edge *edges, size_t n, uint32_t vertices, uint64_t threshold,
		struct knots *knots);

void knots__release(struct knots *knots);
