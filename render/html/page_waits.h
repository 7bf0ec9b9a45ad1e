/* SPDX-License-Identifier: BSD-2-Clause */
/* The wait-for graph over time, for the waits of a selection: block rN.waits.bins of docs/page.md.
 */
#pragma once

#include "analysis/waits/waitgraph_bins.h"
#include "render/html/html.h"

struct page_waits {
	const struct waitgraph *graph;
	size_t n_edges;	     /* the first edges: those that the document rN.waits lists */
	uint32_t max_causes; /* of each, that it lists; above 0 */
};

/* Writes the block of recording @number, and what the index says of it. Returns 0 or -ENOMEM. */
int page_waits__write(struct html *html, size_t number, const struct page_waits *waits);
