// SPDX-License-Identifier: BSD-2-Clause
/*
 * The path in order of time: runs and waits as they came. Repeated patterns are folded: "41 times,
 * 3.1 ms each".
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "render/format.h"
#include "render/path/path_views.h"
#include "render/terminal.h"

/* A pattern has at most this many parts, and is folded if it comes at least this often. */
#define MAX_PERIOD  8
#define MIN_REPEATS 3

enum item_type {
	ITEM_THREAD,
	ITEM_RUN,
	ITEM_STATE, /* a gap, ...: neither a run nor a wait */
	ITEM_WAIT,
};

struct item {
	enum item_type type;
	uint32_t node; /* in the tree; of a run, of the function that most of it is in */
	uint32_t leaf; /* WAIT: what it waits for, if no thread is entered for that; else 0 */
	uint32_t end;  /* number of the first item that is not below it */
	uint64_t from;
	uint64_t until;
	uint64_t
		longest; /* WAIT: length of the longest piece, with @leaf; RUN: majority of @node */
	uint64_t queued; /* part of it, for a CPU: after a wait, or within a run */
};

struct chronicle {
	const struct path_view *view;
	struct path_tree tree;
	ARRAY(struct item) items;
	ARRAY(uint32_t) open; /* items of the levels that are being walked along */
	uint32_t last;	      /* 1 + number of the latest item of the innermost level; 0: none */
	FILE *to;
};

static struct item *add_item(struct chronicle *chronicle, enum item_type type, uint32_t node,
			     uint64_t from, uint64_t until)
{
	struct item *item = array__add(&chronicle->items);

	if (item)
		*item = (struct item){.type = type,
				      .node = node,
				      .end = (uint32_t)chronicle->items.n,
				      .from = from,
				      .until = until};
	return item;
}

static int on_enter(void *context, const struct path_level *level)
{
	struct chronicle *chronicle = context;
	int err = path_tree__enter(&chronicle->tree, level);
	uint32_t node, wait;

	if (err)
		return err;
	node = chronicle->tree.levels.data[chronicle->tree.levels.n - 1].node;
	wait = chronicle->tree.nodes.data[node].parent;
	if (wait && !add_item(chronicle, ITEM_WAIT, wait, level->from, level->until))
		return -ENOMEM;
	chronicle->last = 0;
	if (array__push(&chronicle->open, (uint32_t)chronicle->items.n) ||
	    !add_item(chronicle, ITEM_THREAD, node, level->from, level->until))
		return -ENOMEM;
	return 0;
}

static int on_leave(void *context, const struct path_level *level)
{
	struct chronicle *chronicle = context;
	uint32_t item = chronicle->open.data[--chronicle->open.n];

	chronicle->items.data[item].end = (uint32_t)chronicle->items.n;
	chronicle->last = 0;
	if (item && chronicle->items.data[item - 1].type == ITEM_WAIT) {
		chronicle->items.data[item - 1].end = (uint32_t)chronicle->items.n;
		chronicle->last = item;
	}
	path_tree__leave(&chronicle->tree);
	return 0;
}

/* The latest item of the innermost level, if it is of @type, and may go on with a step. */
static struct item *latest(struct chronicle *chronicle, enum item_type type)
{
	struct item *item = chronicle->last ? &chronicle->items.data[chronicle->last - 1] : NULL;

	return item && item->type == type ? item : NULL;
}

static int add_run(struct chronicle *chronicle, const struct path_step *step, uint32_t node)
{
	struct item *item = latest(chronicle, ITEM_RUN);
	uint64_t ns = step->until - step->from;

	if (!item)
		item = add_item(chronicle, ITEM_RUN, node, step->from, step->from);
	if (!item)
		return -ENOMEM;
	item->until = step->until;
	if (item->node == node) {
		item->longest += ns;
	} else if (ns > item->longest) { /* a majority vote */
		item->longest = ns - item->longest;
		item->node = node;
	} else {
		item->longest -= ns;
	}
	chronicle->last = (uint32_t)(item - chronicle->items.data) + 1;
	return 0;
}

/* Waiting for a CPU: shown as part of the wait before it, or else of the run. */
static int add_queued(struct chronicle *chronicle, const struct path_step *step, uint32_t node)
{
	struct item *item = latest(chronicle, ITEM_WAIT);

	item = item ? item : latest(chronicle, ITEM_RUN);
	if (!item) {
		item = add_item(chronicle, ITEM_RUN, node, step->from, step->until);
		chronicle->last = (uint32_t)chronicle->items.n;
	}
	if (!item)
		return -ENOMEM;
	item->until = step->until;
	item->queued += step->until - step->from;
	return 0;
}

static int add_wait(struct chronicle *chronicle, const struct path_step *step, uint32_t wait,
		    uint32_t leaf)
{
	struct item *item = latest(chronicle, ITEM_WAIT);

	if (!item || item->node != wait || !item->leaf || item->until != step->from)
		item = add_item(chronicle, ITEM_WAIT, wait, step->from, step->from);
	if (!item)
		return -ENOMEM;
	item->until = step->until;
	if (step->until - step->from > item->longest) {
		item->longest = step->until - step->from;
		item->leaf = leaf;
	}
	chronicle->last = (uint32_t)(item - chronicle->items.data) + 1;
	return 0;
}

static int on_step(void *context, const struct path_step *step)
{
	struct chronicle *chronicle = context;
	uint32_t node, wait;
	int err = path_tree__step(&chronicle->tree, step, &node);

	if (err)
		return err;
	if (step->doing == PATH_RUNNING || step->doing == PATH_ESTIMATED ||
	    step->doing == PATH_NOT_SAMPLED)
		return add_run(chronicle, step, node);
	if (step->category == PATH_RUN_QUEUE || step->category == PATH_PREEMPTED ||
	    step->category == PATH_CPU_IDLE)
		return add_queued(chronicle, step, node);
	wait = chronicle->tree.nodes.data[node].parent;
	if (chronicle->tree.nodes.data[wait].type == PATH_NODE_WAIT)
		return add_wait(chronicle, step, wait, node);
	chronicle->last = 0;
	return add_item(chronicle, ITEM_STATE, node, step->from, step->until) ? 0 : -ENOMEM;
}

/* Equal for items that are parts of one pattern. */
static uint64_t signature(const struct chronicle *chronicle, uint32_t index)
{
	const struct item *item = &chronicle->items.data[index];
	uint64_t inner = 0;

	if (item->type == ITEM_RUN)
		return 1;
	if (item->end > index + 1)
		inner = chronicle->items.data[index + 1].node;
	return hash__add(hash__add(hash__add(2, item->node), item->leaf), inner);
}

static void put_indent(const struct chronicle *chronicle, size_t depth)
{
	fprintf(chronicle->to, "%*s", (int)(2 * depth), "");
}

static void put_name(const struct chronicle *chronicle, uint32_t node, enum color color)
{
	char text[512];

	path_node__text(chronicle->view, &chronicle->tree.nodes.data[node], text, sizeof(text));
	fputs(color__begin(chronicle->view->color, color), chronicle->to);
	format__safe(chronicle->to, text);
	fputs(color__end(chronicle->view->color, color), chronicle->to);
}

/* The function at or above @node. */
static uint32_t function_at(const struct chronicle *chronicle, uint32_t node)
{
	const struct path_node *nodes = chronicle->tree.nodes.data;

	while (node && nodes[node].type != PATH_NODE_FRAME && nodes[node].type != PATH_NODE_THREAD)
		node = nodes[node].parent;
	return nodes[node].type == PATH_NODE_FRAME ? node : 0;
}

static void put_item(const struct chronicle *chronicle, const struct item *item)
{
	uint32_t function = function_at(chronicle, item->node);
	char queued[24];

	switch (item->type) {
	case ITEM_THREAD:
		if (chronicle->tree.nodes.data[item->node].had_cpu)
			fputs("had the CPU: ", chronicle->to);
		put_name(chronicle, item->node, COLOR_BOLD);
		return;
	case ITEM_RUN:
		fputs("runs", chronicle->to);
		break;
	case ITEM_STATE:
		fputc('[', chronicle->to);
		put_name(chronicle, item->node, COLOR_DIM);
		fputc(']', chronicle->to);
		break;
	case ITEM_WAIT:
		fputs("waits: ", chronicle->to);
		put_name(chronicle, item->node, COLOR_WARM);
		if (!item->leaf)
			break;
		fputs(" [", chronicle->to);
		put_name(chronicle, item->leaf, COLOR_DIM);
		fputc(']', chronicle->to);
		break;
	}
	if (function) {
		fputs(" in ", chronicle->to);
		put_name(chronicle, function, COLOR_NONE);
	}
	if (item->queued)
		fprintf(chronicle->to, ", %s of it for a CPU",
			duration__text(item->queued, queued));
}

static void put_line(const struct chronicle *chronicle, const struct item *item, size_t depth)
{
	char at[24], length[24];

	fprintf(chronicle->to, "%12s %12s  ",
		duration__text(item->from - chronicle->view->path->from, at),
		duration__text(item->until - item->from, length));
	put_indent(chronicle, depth);
	put_item(chronicle, item);
	fputc('\n', chronicle->to);
}

/* How often the pattern of @period items from @first on comes in a row. */
static size_t repeats(const uint64_t *signatures, size_t n, size_t first, size_t period)
{
	size_t times = 1;

	while (first + (times + 1) * period <= n &&
	       !memcmp(signatures + first, signatures + first + times * period,
		       period * sizeof(*signatures)))
		times++;
	return times;
}

/* The pattern from @first on that covers most items; *@period is its length. 1: there is none. */
static size_t find_pattern(const uint64_t *signatures, size_t n, size_t first, size_t *period)
{
	size_t best = 1;

	*period = 1;
	for (size_t p = 1; p <= MAX_PERIOD && first + p <= n; p++) {
		size_t times = repeats(signatures, n, first, p);

		if (times >= MIN_REPEATS && times * p > best * *period) {
			best = times;
			*period = p;
		}
	}
	return best;
}

static int put_children(const struct chronicle *chronicle, uint32_t parent, size_t depth,
			size_t waits);

static int put_one(const struct chronicle *chronicle, uint32_t index, size_t depth, size_t waits)
{
	const struct item *item = &chronicle->items.data[index];

	put_line(chronicle, item, depth);
	if (item->type == ITEM_WAIT)
		waits++;
	if (chronicle->view->depth && waits > chronicle->view->depth)
		return 0;
	return put_children(chronicle, index, depth + 1, waits);
}

/* @times times the @period items at @children, with the first of each in full. */
static int put_pattern(const struct chronicle *chronicle, const uint32_t *children, size_t times,
		       size_t period, size_t depth, size_t waits)
{
	const struct item *items = chronicle->items.data;
	const struct item *first = &items[children[0]];
	const struct item *last = &items[children[times * period - 1]];
	char at[24], whole[24], each[24];
	int err = 0;

	fprintf(chronicle->to, "%12s %12s  ",
		duration__text(first->from - chronicle->view->path->from, at),
		duration__text(last->until - first->from, whole));
	put_indent(chronicle, depth);
	fprintf(chronicle->to, "%zu times, %s each; the first of them:\n", times,
		duration__text((last->until - first->from) / times, each));
	for (size_t i = 0; i < period && !err; i++)
		err = put_one(chronicle, children[i], depth + 1, waits);
	return err;
}

static int put_children(const struct chronicle *chronicle, uint32_t parent, size_t depth,
			size_t waits)
{
	uint32_t end = chronicle->items.data[parent].end;
	_cleanup_free_ uint32_t *children = NULL;
	_cleanup_free_ uint64_t *signatures = NULL;
	size_t n = 0, period, times;
	int err = 0;

	for (uint32_t i = parent + 1; i < end; i = chronicle->items.data[i].end)
		n++;
	if (!n)
		return 0;
	children = calloc(n, sizeof(*children));
	signatures = calloc(n, sizeof(*signatures));
	if (!children || !signatures)
		return -ENOMEM;
	n = 0;
	for (uint32_t i = parent + 1; i < end; i = chronicle->items.data[i].end) {
		signatures[n] = signature(chronicle, i);
		children[n++] = i;
	}
	for (size_t i = 0; i < n && !err; i += times * period) {
		times = find_pattern(signatures, n, i, &period);
		err = times > 1 ? put_pattern(chronicle, children + i, times, period, depth, waits)
				: put_one(chronicle, children[i], depth, waits);
	}
	return err;
}

int path_view__chronological(const struct path_view *view, FILE *to)
{
	const struct path *path = view->path;
	struct chronicle chronicle = {.view = view, .to = to};
	struct path_visitor visitor = {on_enter, on_step, on_leave, &chronicle};
	int err = path_view__account(view, to);

	err = err ? err : path_tree__begin(&chronicle.tree, view->model, path->causes, path->runs);
	err = err ? err : path__walk(&path->walk, path->thread, path->from, path->until, &visitor);
	if (!err) {
		fprintf(to, "%12s %12s\n", "at", "for");
		err = put_one(&chronicle, 0, 0, 0);
	}
	path_tree__free(&chronicle.tree);
	array__free(&chronicle.items);
	array__free(&chronicle.open);
	return err;
}
