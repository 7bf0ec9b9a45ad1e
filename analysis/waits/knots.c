// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/knots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define UNSEEN UINT32_MAX

/* A part of the graph: edges between vertices that belong together. */
struct part {
	uint32_t *edges; /* indices, by weight, least first */
	size_t n;
};

/* Strongly connected components of a part, after Tarjan (1972), without recursion. */
struct search {
	const struct graph_edge *edges;
	uint32_t vertices;
	/* Edges of the part by their origin: those of v are out[first[v]...first[v + 1]). */
	uint32_t *first;
	uint32_t *out;
	uint32_t *number;    /* order of discovery; UNSEEN */
	uint32_t *low;	     /* the least one reached */
	uint32_t *component; /* UNSEEN while it is open */
	uint32_t *stack;     /* open vertices */
	uint32_t *path;	     /* of the search */
	uint32_t *next;	     /* edge to look at, by vertex */
	uint32_t n_stack;
	uint32_t n_seen;
	uint32_t n_components;
};

static int search__init(struct search *search, const struct graph_edge *edges, size_t n,
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

static void search__release(struct search *search)
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

static void search__load(struct search *search, const struct part *part, size_t from)
{
	memset(search->first, 0, ((size_t)search->vertices + 2) * sizeof(*search->first));
	for (size_t i = from; i < part->n; i++)
		search->first[search->edges[part->edges[i]].from + 2]++;
	for (uint32_t v = 0; v < search->vertices; v++)
		search->first[v + 2] += search->first[v + 1];
	for (size_t i = from; i < part->n; i++)
		search->out[search->first[search->edges[part->edges[i]].from + 1]++] =
			part->edges[i];
}

static void search__discover(struct search *search, uint32_t v)
{
	search->number[v] = search->low[v] = search->n_seen++;
	search->stack[search->n_stack++] = v;
	search->next[v] = search->first[v];
}

/* All that was found behind @v is done: it may be the first of a component. */
static void search__close(struct search *search, uint32_t v)
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

static void search__from(struct search *search, uint32_t root)
{
	uint32_t depth = 0;

	search->path[depth++] = root;
	search__discover(search, root);
	while (depth) {
		uint32_t v = search->path[depth - 1];

		if (search->next[v] < search->first[v + 1]) {
			uint32_t to = search->edges[search->out[search->next[v]++]].to;

			if (search->number[to] == UNSEEN) {
				search->path[depth++] = to;
				search__discover(search, to);
			} else if (search->component[to] == UNSEEN &&
				   search->number[to] < search->low[v]) {
				search->low[v] = search->number[to];
			}
			continue;
		}
		search__close(search, v);
		if (--depth) {
			uint32_t above = search->path[depth - 1];

			if (search->low[v] < search->low[above])
				search->low[above] = search->low[v];
		}
	}
}

/* The components of @vertices with the edges of @part from number @from on. */
static void search__run(struct search *search, const struct part *part, size_t from,
			const uint32_t *vertices, size_t n)
{
	search__load(search, part, from);
	search->n_stack = search->n_seen = search->n_components = 0;
	for (size_t i = 0; i < n; i++)
		search->number[vertices[i]] = search->component[vertices[i]] = UNSEEN;
	for (size_t i = 0; i < n; i++)
		if (search->number[vertices[i]] == UNSEEN)
			search__from(search, vertices[i]);
}

/* A part that is still to be looked at. */
struct task {
	bool component;		  /* strongly connected, and nothing leads out of it */
	ARRAY(uint32_t) vertices; /* ascending */
	struct part part;
};

struct refinement {
	const struct graph_edge *edges;
	uint64_t threshold;
	struct search search;
	struct knots *knots;
	ARRAY(struct task) tasks;
};

static void task__release(struct task *task)
{
	array__free(&task->vertices);
	free(task->part.edges);
}

static bool is_connected(struct refinement *refinement, const struct task *task, size_t from)
{
	search__run(&refinement->search, &task->part, from, task->vertices.data, task->vertices.n);
	return refinement->search.n_components == 1;
}

/* Puts what @task has, without its @from least edges, among the knots. */
static int add_knot(struct refinement *refinement, const struct task *task, size_t from)
{
	struct knot knot = {.sink = from == task->part.n};
	int err = 0;

	for (size_t i = 0; i < task->vertices.n && !err; i++)
		err = array__push(&knot.members, task->vertices.data[i]);
	for (size_t i = task->part.n; i > from && !err; i--)
		err = array__push(&knot.edges, task->part.edges[i - 1]);
	if (!err)
		err = array__push(&refinement->knots->all, knot);
	if (err) {
		array__free(&knot.members);
		array__free(&knot.edges);
	}
	return err;
}

/* How many of the least edges of @task have to go until it falls apart; more than @most: none. */
static size_t least_cut(struct refinement *refinement, const struct task *task, size_t most)
{
	size_t low = 1, high = most + 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_connected(refinement, task, middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int push_task(struct refinement *refinement, struct task *task)
{
	if (array__push(&refinement->tasks, *task))
		return -ENOMEM;
	*task = (struct task){};
	return 0;
}

/* Takes the least edges out of a component until it falls apart. */
static int refine(struct refinement *refinement, struct task *task)
{
	size_t most = 0, cut;

	while (most < task->part.n &&
	       refinement->edges[task->part.edges[most]].weight <= refinement->threshold)
		most++;
	if (!most || task->part.n <= task->vertices.n)
		return add_knot(refinement, task, 0);
	cut = least_cut(refinement, task, most);
	if (cut > most)
		return add_knot(refinement, task, most);
	if (task->part.n - (cut - 1) == task->vertices.n) /* a simple cycle */
		return add_knot(refinement, task, cut - 1);
	task->part.n -= cut;
	memmove(task->part.edges, task->part.edges + cut, task->part.n * sizeof(*task->part.edges));
	task->component = false;
	return push_task(refinement, task);
}

/* The vertices of @task in @component, and the edges between them. */
static int take_component(const struct refinement *refinement, const struct task *task,
			  uint32_t component, struct task *taken)
{
	const uint32_t *of = refinement->search.component;

	taken->part.edges = malloc((task->part.n + 1) * sizeof(*taken->part.edges));
	if (!taken->part.edges)
		return -ENOMEM;
	for (size_t i = 0; i < task->vertices.n; i++)
		if (of[task->vertices.data[i]] == component &&
		    array__push(&taken->vertices, task->vertices.data[i]))
			return -ENOMEM;
	for (size_t i = 0; i < task->part.n; i++)
		if (of[refinement->edges[task->part.edges[i]].from] == component)
			taken->part.edges[taken->part.n++] = task->part.edges[i];
	return 0;
}

/* Takes @task apart, into the components that nothing leads out of. */
static int split(struct refinement *refinement, const struct task *task)
{
	const uint32_t *of = refinement->search.component;
	_cleanup_free_ bool *left = NULL;
	uint32_t n;
	int err = 0;

	search__run(&refinement->search, &task->part, 0, task->vertices.data, task->vertices.n);
	n = refinement->search.n_components;
	left = calloc(n + 1, sizeof(*left));
	if (!left)
		return -ENOMEM;
	for (size_t i = 0; i < task->part.n; i++) {
		const struct graph_edge *edge = &refinement->edges[task->part.edges[i]];

		left[of[edge->from]] |= of[edge->from] != of[edge->to];
	}
	for (uint32_t component = 0; component < n && !err; component++) {
		struct task taken = {.component = true};

		if (left[component])
			continue;
		err = take_component(refinement, task, component, &taken);
		if (!err)
			err = push_task(refinement, &taken);
		task__release(&taken);
	}
	return err;
}

struct weighed {
	uint64_t weight;
	uint32_t edge;
};

static int compare_weighed(const void *a, const void *b)
{
	const struct weighed *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? -1 : 1;
	return x->edge < y->edge ? -1 : x->edge > y->edge;
}

/* All edges, least first, and the vertices they have. */
static int whole_graph(const struct graph_edge *edges, size_t n, uint32_t vertices,
		       struct task *task)
{
	_cleanup_free_ struct weighed *weighed = malloc((n + 1) * sizeof(*weighed));
	_cleanup_free_ bool *seen = calloc((size_t)vertices + 1, sizeof(*seen));

	task->part.edges = malloc((n + 1) * sizeof(*task->part.edges));
	if (!weighed || !seen || !task->part.edges)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		weighed[i] = (struct weighed){edges[i].weight, (uint32_t)i};
		seen[edges[i].from] = seen[edges[i].to] = true;
	}
	qsort(weighed, n, sizeof(*weighed), compare_weighed);
	for (size_t i = 0; i < n; i++)
		task->part.edges[task->part.n++] = weighed[i].edge;
	for (uint32_t v = 0; v < vertices; v++)
		if (seen[v] && array__push(&task->vertices, v))
			return -ENOMEM;
	return 0;
}

int knots__find(const struct graph_edge *edges, size_t n, uint32_t vertices, uint64_t threshold,
		struct knots *knots)
{
	struct refinement refinement = {.edges = edges, .threshold = threshold, .knots = knots};
	_cleanup_(task__release) struct task whole = {};
	int err;

	*knots = (struct knots){};
	err = search__init(&refinement.search, edges, n, vertices);
	if (!err)
		err = whole_graph(edges, n, vertices, &whole);
	if (!err)
		err = push_task(&refinement, &whole);
	while (refinement.tasks.n) {
		struct task task = refinement.tasks.data[--refinement.tasks.n];

		if (!err)
			err = task.component ? refine(&refinement, &task)
					     : split(&refinement, &task);
		task__release(&task);
	}
	array__free(&refinement.tasks);
	search__release(&refinement.search);
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
