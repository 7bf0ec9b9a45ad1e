// SPDX-License-Identifier: BSD-2-Clause
/* The graph for Graphviz: the bottleneck is filled, edges up to the threshold are dashed. */
#include <inttypes.h>

#include "render/format.h"
#include "render/waits/waits.h"

static const char *shape_of(const struct waitgraph_vertex *vertex)
{
	switch (vertex->type) {
	case CAUSE_THREAD:
		return vertex->recorded ? "box" : "plaintext";
	case CAUSE_DEVICE:
		return "cylinder";
	default:
		return "ellipse";
	}
}

static void put_vertex(const struct waits *waits, uint32_t vertex, FILE *to)
{
	const struct bottlenecks *bottlenecks = waits->bottlenecks;
	const char *fill = "white";
	char text[128];

	for (size_t i = bottlenecks->all.n; i--;) {
		const struct bottleneck *at = &bottlenecks->all.data[i];

		if (bottleneck__has(at, vertex))
			fill = at->background ? "gray90" : i ? "lightyellow" : "salmon";
	}
	vertex__text(waits, vertex, text, sizeof(text));
	fprintf(to, "\t%" PRIu32 " [label=", vertex);
	format__quoted(to, text);
	fprintf(to, ", shape=%s, style=filled, fillcolor=%s];\n",
		shape_of(&waits->graph->vertices.data[vertex]), fill);
}

static void put_edge(const struct waits *waits, const struct waitgraph_edge *edge, FILE *to)
{
	double percent = waits__percent(waits, edge->weight_ns);

	fprintf(to, "\t%" PRIu32 " -> %" PRIu32 " [label=\"%.1f%%\", style=%s, penwidth=%.1f];\n",
		edge->from, edge->to, percent,
		edge->weight_ns > waits->bottlenecks->threshold_ns ? "solid" : "dashed",
		1 + percent / 40);
}

int waits__dot(const struct waits *waits, FILE *to)
{
	const struct waitgraph *graph = waits->graph;

	fputs("digraph waits {\n\trankdir=LR;\n", to);
	for (uint32_t v = 0; v < graph->vertices.n; v++) {
		bool shown = false;

		for (size_t i = 0; i < graph->edges.n && !shown; i++) {
			const struct waitgraph_edge *edge = &graph->edges.data[i];

			shown = (edge->from == v || edge->to == v) && waits__is_shown(waits, edge);
		}
		if (shown)
			put_vertex(waits, v, to);
	}
	for (size_t i = 0; i < graph->edges.n; i++)
		if (waits__is_shown(waits, &graph->edges.data[i]))
			put_edge(waits, &graph->edges.data[i], to);
	fputs("}\n", to);
	return 0;
}
