// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/knots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define UNSEEN UINT32_MAX

struct subgraph {
	uint32_t *edges; /* indices, lightest first */
	size_t n;
};

/* Strongly connected components of a subgraph, by Tarjan's algorithm (1972), without recursion. */
struct search {
	const struct graph_edge *edges;
	uint32_t vertices;
	/* Edges of the subgraph by their origin: those of v are out[first[v]] to out[first[v + 1] -
	 * 1].
	 */
	uint32_t *first;
	uint32_t *out;
	uint32_t *number;    /* order of discovery; UNSEEN */
	uint32_t *low;	     /* Tarjan's lowlink */
	uint32_t *component; /* UNSEEN: not in one yet */
	uint32_t *stack;     /* discovered vertices that are not in a component yet */
	uint32_t *path;	     /* from the root to the current vertex */
	uint32_t *next;	     /* by vertex: index in out of the next edge to follow */
	uint32_t n_stack;
	uint32_t n_seen;
	uint32_t n_components;
};

static int search_init(struct search *search, const struct graph_edge *edges, size_t n,
		       uint32_t vertices)
{
	uint32_t **const arrays[] = {&search->number, &search->low,  &search->component,
				     &search->stack,  &search->path, &search->next};

	*search = (struct search){.edges = edges, .vertices = vertices};
	search->first = calloc((size_t)vertices + 2, sizeof(uint32_t));
	search->out = malloc((n + 1) * sizeof(uint32_t));
	for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
		*arrays[i] = malloc(((size_t)vertices + 1) * sizeof(uint32_t));
	return search->first && search->out && search->number && search->low && search->component &&
			       search->stack && search->path && search->next
		       ? 0
		       : -ENOMEM;
}

static void search_release(struct search *search)
{
	free(search->first);
	free(search->out);
	free(search->number);
	free(search->low);
	free(search->component);
	free(search->stack);
	free(search->path);
	free(search->next);
}

static void search_index_edges(struct search *search, const struct subgraph *subgraph, size_t from)
{
	memset(search->first, 0, ((size_t)search->vertices + 2) * sizeof(*search->first));
	for (size_t i = from; i < subgraph->n; i++)
		search->first[search->edges[subgraph->edges[i]].from + 2]++;
	for (uint32_t v = 0; v < search->vertices; v++)
		search->first[v + 2] += search->first[v + 1];
	for (size_t i = from; i < subgraph->n; i++)
		search->out[search->first[search->edges[subgraph->edges[i]].from + 1]++] =
			subgraph->edges[i];
}

static void search_discover(struct search *search, uint32_t v)
{
	search->number[v] = search->low[v] = search->n_seen++;
	search->stack[search->n_stack++] = v;
	search->next[v] = search->first[v];
}

/* All edges of @v were followed: if it is the root of a component, completes that. */
static void search_close(struct search *search, uint32_t v)
{
	uint32_t member;

	if (search->low[v] != search->number[v])
		return;
	do {
		member = search->stack[--search->n_stack];
		search->component[member] = search->n_components;
	} while (member != v);
	search->n_components++;
}

static void search_from(struct search *search, uint32_t root)
{
	uint32_t depth = 0;

	search->path[depth++] = root;
	search_discover(search, root);
	while (depth) {
		uint32_t v = search->path[depth - 1];

		if (search->next[v] < search->first[v + 1]) {
			uint32_t to = search->edges[search->out[search->next[v]++]].to;

			if (search->number[to] == UNSEEN) {
				search->path[depth++] = to;
				search_discover(search, to);
			} else if (search->component[to] == UNSEEN &&
				   search->number[to] < search->low[v]) {
				search->low[v] = search->number[to];
			}
			continue;
		}
		search_close(search, v);
		if (--depth) {
			uint32_t above = search->path[depth - 1];

			if (search->low[v] < search->low[above])
				search->low[above] = search->low[v];
		}
	}
}

/* Finds the components of @n @vertices with the edges of @subgraph from number @from on. */
static void search_run(struct search *search, const struct subgraph *subgraph, size_t from,
		       const uint32_t *vertices, size_t n)
{
	search_index_edges(search, subgraph, from);
	search->n_stack = search->n_seen = search->n_components = 0;
	for (size_t i = 0; i < n; i++)
		search->number[vertices[i]] = search->component[vertices[i]] = UNSEEN;
	for (size_t i = 0; i < n; i++)
		if (search->number[vertices[i]] == UNSEEN)
			search_from(search, vertices[i]);
}

struct work_item {
	bool component;		  /* a knot or sink, to be refined; else to be split */
	ARRAY(uint32_t) vertices; /* ascending */
	struct subgraph subgraph;
};

struct refinement {
	const struct graph_edge *edges;
	uint64_t threshold;
	struct search search;
	struct knots *knots;
	ARRAY(struct work_item) worklist;
};

static void work_item_release(struct work_item *item)
{
	array__free(&item->vertices);
	free(item->subgraph.edges);
}

static bool is_connected(struct refinement *refinement, const struct work_item *item, size_t from)
{
	search_run(&refinement->search, &item->subgraph, from, item->vertices.data,
		   item->vertices.n);
	return refinement->search.n_components == 1;
}

/* Adds @item, without its @from lightest edges, to the knots. */
static int add_knot(struct refinement *refinement, const struct work_item *item, size_t from)
{
	struct knot knot = {.sink = from == item->subgraph.n};
	int err = 0;

	for (size_t i = 0; i < item->vertices.n && !err; i++)
		err = array__push(&knot.members, item->vertices.data[i]);
	for (size_t i = item->subgraph.n; i > from && !err; i--)
		err = array__push(&knot.edges, item->subgraph.edges[i - 1]);
	if (!err)
		err = array__push(&refinement->knots->all, knot);
	if (err) {
		array__free(&knot.members);
		array__free(&knot.edges);
	}
	return err;
}

/*
 * How many of its lightest edges must be removed from @item until it is no longer strongly
 * connected; @most + 1: more than @most.
 */
static size_t edges_to_split(struct refinement *refinement, const struct work_item *item,
			     size_t most)
{
	size_t low = 1, high = most + 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_connected(refinement, item, middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int push_item(struct refinement *refinement, struct work_item *item)
{
	if (array__push(&refinement->worklist, *item))
		return -ENOMEM;
	*item = (struct work_item){};
	return 0;
}

/* Removes the lightest edges of a component, up to the threshold, until it splits. */
static int refine(struct refinement *refinement, struct work_item *item)
{
	size_t most = 0, cut;

	while (most < item->subgraph.n &&
	       refinement->edges[item->subgraph.edges[most]].weight <= refinement->threshold)
		most++;
	if (!most || item->subgraph.n <= item->vertices.n)
		return add_knot(refinement, item, 0);
	cut = edges_to_split(refinement, item, most);
	if (cut > most)
		return add_knot(refinement, item, most);
	if (item->subgraph.n - (cut - 1) == item->vertices.n) /* a simple cycle */
		return add_knot(refinement, item, cut - 1);
	item->subgraph.n -= cut;
	memmove(item->subgraph.edges, item->subgraph.edges + cut,
		item->subgraph.n * sizeof(*item->subgraph.edges));
	item->component = false;
	return push_item(refinement, item);
}

/* Sets @taken to the vertices of @item in @component, and the edges from them. */
static int take_component(const struct refinement *refinement, const struct work_item *item,
			  uint32_t component, struct work_item *taken)
{
	const uint32_t *of = refinement->search.component;

	taken->subgraph.edges = malloc((item->subgraph.n + 1) * sizeof(*taken->subgraph.edges));
	if (!taken->subgraph.edges)
		return -ENOMEM;
	for (size_t i = 0; i < item->vertices.n; i++)
		if (of[item->vertices.data[i]] == component &&
		    array__push(&taken->vertices, item->vertices.data[i]))
			return -ENOMEM;
	for (size_t i = 0; i < item->subgraph.n; i++)
		if (of[refinement->edges[item->subgraph.edges[i]].from] == component)
			taken->subgraph.edges[taken->subgraph.n++] = item->subgraph.edges[i];
	return 0;
}

/* Adds the components of @item without an edge to another one to the worklist. */
static int split(struct refinement *refinement, const struct work_item *item)
{
	const uint32_t *of = refinement->search.component;
	_cleanup_free_ bool *left = NULL;
	uint32_t n;
	int err = 0;

	search_run(&refinement->search, &item->subgraph, 0, item->vertices.data, item->vertices.n);
	n = refinement->search.n_components;
	left = calloc(n + 1, sizeof(*left));
	if (!left)
		return -ENOMEM;
	for (size_t i = 0; i < item->subgraph.n; i++) {
		const struct graph_edge *edge = &refinement->edges[item->subgraph.edges[i]];

		left[of[edge->from]] |= of[edge->from] != of[edge->to];
	}
	for (uint32_t component = 0; component < n && !err; component++) {
		struct work_item taken = {.component = true};

		if (left[component])
			continue;
		err = take_component(refinement, item, component, &taken);
		if (!err)
			err = push_item(refinement, &taken);
		work_item_release(&taken);
	}
	return err;
}

struct weighted_edge {
	uint64_t weight;
	uint32_t edge;
};

static int compare_weighted(const void *a, const void *b)
{
	const struct weighted_edge *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	return x->edge < y->edge ? -1 : x->edge > y->edge;
}

/* Sets @item to all edges, lightest first, and their vertices. */
static int whole_graph(const struct graph_edge *edges, size_t n, uint32_t vertices,
		       struct work_item *item)
{
	_cleanup_free_ struct weighted_edge *weighted = malloc((n + 1) * sizeof(*weighted));
	_cleanup_free_ bool *seen = calloc((size_t)vertices + 1, sizeof(*seen));

	item->subgraph.edges = malloc((n + 1) * sizeof(*item->subgraph.edges));
	if (!weighted || !seen || !item->subgraph.edges)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		weighted[i] = (struct weighted_edge){edges[i].weight, (uint32_t)i};
		seen[edges[i].from] = seen[edges[i].to] = true;
	}
	qsort(weighted, n, sizeof(*weighted), compare_weighted);
	for (size_t i = 0; i < n; i++)
		item->subgraph.edges[item->subgraph.n++] = weighted[i].edge;
	for (uint32_t v = 0; v < vertices; v++)
		if (seen[v] && array__push(&item->vertices, v))
			return -ENOMEM;
	return 0;
}

int knots__find(const struct graph_edge *edges, size_t n, uint32_t vertices, uint64_t threshold,
		struct knots *knots)
{
	struct refinement refinement = {.edges = edges, .threshold = threshold, .knots = knots};
	_cleanup_(work_item_release) struct work_item whole = {};
	int err;

	*knots = (struct knots){};
	err = search_init(&refinement.search, edges, n, vertices);
	if (!err)
		err = whole_graph(edges, n, vertices, &whole);
	if (!err)
		err = push_item(&refinement, &whole);
	while (refinement.worklist.n) {
		struct work_item item = refinement.worklist.data[--refinement.worklist.n];

		if (!err)
			err = item.component ? refine(&refinement, &item)
					     : split(&refinement, &item);
		work_item_release(&item);
	}
	array__free(&refinement.worklist);
	search_release(&refinement.search);
	return err;
}

void knots__release(struct knots *knots)
{
	for (size_t i = 0; i < knots->all.n; i++) {
		array__free(&knots->all.data[i].members);
		array__free(&knots->all.data[i].edges);
	}
	array__free(&knots->all);
}
