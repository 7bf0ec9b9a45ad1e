// SPDX-License-Identifier: BSD-2-Clause
/* The consolidated tree of pseudo-stacks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "render/format.h"
#include "render/path/path_views.h"
#include "render/terminal.h"

/* Functions of an unbranched stack that are printed at its ends; the others are left out. */
#define OUTER_FRAMES 2
#define INNER_FRAMES 4

struct printer {
	const struct path_view *view;
	const struct path_tree *tree;
	uint64_t whole;
	FILE *to;
};

static const struct path_node *node_at(const struct printer *printer, uint32_t node)
{
	return &printer->tree->nodes.data[node];
}

static bool is_shown(const struct printer *printer, uint32_t node)
{
	return format__percent(node_at(printer, node)->total_ns, printer->whole) >=
	       printer->view->percent_limit;
}

static enum color color_of(const struct path_node *node)
{
	switch ((enum path_node_type)node->type) {
	case PATH_NODE_THREAD:
		return COLOR_BOLD;
	case PATH_NODE_WAIT:
		return COLOR_WARM;
	case PATH_NODE_LEAF:
		return COLOR_DIM;
	default:
		return COLOR_NONE;
	}
}

static void put_text(const struct printer *printer, const struct path_node *node)
{
	bool color = printer->view->color;
	char text[512];

	path_node__text(printer->view, node, text, sizeof(text));
	fputs(color__begin(color, color_of(node)), printer->to);
	if (node->type == PATH_NODE_WAIT)
		fputs("waits: ", printer->to);
	if (node->type == PATH_NODE_LEAF)
		fputc('[', printer->to);
	if (node->type == PATH_NODE_THREAD && node->had_cpu)
		fputs("had the CPU: ", printer->to);
	format__safe(printer->to, text);
	if (node->type == PATH_NODE_LEAF)
		fputc(']', printer->to);
	fputs(color__end(color, color_of(node)), printer->to);
}

/* The only child of a frame without time of its own, if it is a frame, too; else 0. */
static uint32_t only_frame_below(const struct printer *printer, uint32_t node)
{
	uint32_t child = node_at(printer, node)->child;

	if (!child || node_at(printer, child)->type != PATH_NODE_FRAME ||
	    node_at(printer, child)->total_ns != node_at(printer, node)->total_ns)
		return 0;
	return child;
}

/* Prints a stack that does not branch, from @node on, in one line. Returns its innermost frame. */
static uint32_t put_frames(const struct printer *printer, uint32_t node)
{
	size_t n = 1, i = 0;

	for (uint32_t at = node; (at = only_frame_below(printer, at));)
		n++;
	for (;; i++, node = only_frame_below(printer, node)) {
		bool hidden = i >= OUTER_FRAMES && n > OUTER_FRAMES + INNER_FRAMES + 1 &&
			      i < n - INNER_FRAMES;

		if (hidden && i == OUTER_FRAMES)
			fprintf(printer->to, " > ...%zu...", n - OUTER_FRAMES - INNER_FRAMES);
		if (!hidden) {
			fputs(i ? " > " : "", printer->to);
			put_text(printer, node_at(printer, node));
		}
		if (i + 1 == n)
			return node;
	}
}

/* A time in a column; "~": part of it is estimated. */
static const char *time_text(uint64_t ns, bool is_estimated, char text[static 25])
{
	text[0] = '~';
	duration__text(ns, text + 1);
	return is_estimated ? text : text + 1;
}

/*
 * The columns before @first: its share, its time, and the own time of @last, the innermost frame in
 * the line.
 */
static void put_times(const struct printer *printer, const struct path_node *first,
		      const struct path_node *last)
{
	bool has_own = last->self_ns && (last->type != PATH_NODE_LEAF || last->child);
	char total[25], self[25];

	fprintf(printer->to, "%6.2f%% %10s %10s", format__percent(first->total_ns, printer->whole),
		time_text(first->total_ns, first->is_estimated, total),
		has_own ? time_text(last->self_ns, last->estimated_ns, self) : "");
}

/* The same for requests that are compared with others: mean times. */
static void put_compared(const struct printer *printer, uint32_t node)
{
	const struct path_view *view = printer->view;
	uint64_t ns = path_view__mean(view, node_at(printer, node)->total_ns);
	uint64_t other =
		path_view__mean_compared(view, printer->tree->compared.data[node].total_ns);
	char these[24], others[24], more[24];

	fprintf(printer->to, "%6.2f%% %10s %10s %s%-10s",
		format__percent(node_at(printer, node)->total_ns, printer->whole),
		duration__text(ns, these), duration__text(other, others), ns < other ? "-" : "+",
		duration__text(ns < other ? other - ns : ns - other, more));
}

/* How often @node was entered; what TCP does takes about the same time each time. */
static void put_count(const struct printer *printer, const struct path_node *node)
{
	char each[24];

	if (node->type == PATH_NODE_FRAME || node->count < 2)
		return;
	fprintf(printer->to, " (%" PRIu64 " times", node->count);
	if (node->type == PATH_NODE_LEAF && node->category == PATH_TCP)
		fprintf(printer->to, ", %s each",
			duration__text(node->total_ns / node->count, each));
	fputc(')', printer->to);
}

/* Prints @node with what is in the same line; returns the node whose children come next. */
static uint32_t put_line(const struct printer *printer, uint32_t node, size_t indent)
{
	const struct path_node *first = node_at(printer, node);
	uint32_t last = node;

	for (uint32_t at = node;
	     first->type == PATH_NODE_FRAME && (at = only_frame_below(printer, at));)
		last = at;
	if (printer->tree->compared.n)
		put_compared(printer, node);
	else
		put_times(printer, first, node_at(printer, last));
	fprintf(printer->to, "  %*s", (int)indent, "");
	if (first->type == PATH_NODE_FRAME)
		put_frames(printer, node);
	else
		put_text(printer, first);
	put_count(printer, first);
	fputc('\n', printer->to);
	return last;
}

static void put_hidden(const struct printer *printer, size_t n, uint64_t ns, size_t indent)
{
	char text[24];

	if (ns)
		fprintf(printer->to, "%6.2f%% %10s %*s  %*s... %zu more\n",
			format__percent(ns, printer->whole),
			duration__text(
				printer->tree->compared.n ? path_view__mean(printer->view, ns) : ns,
				text),
			printer->tree->compared.n ? 22 : 10, "", (int)indent, "", n);
}

/* A node whose children are being printed. */
struct open_node {
	uint32_t next; /* child to be printed; 0: none */
	size_t indent;
	size_t depth; /* in waits */
};

static int push_children(const struct printer *printer, uint32_t node, size_t indent, size_t depth,
			 struct open_node **open, size_t *n, size_t *capacity)
{
	if (*n == *capacity) {
		size_t more = *capacity ? 2 * *capacity : 64;
		struct open_node *grown = realloc(*open, more * sizeof(**open));

		if (!grown)
			return -1;
		*open = grown;
		*capacity = more;
	}
	(*open)[(*n)++] = (struct open_node){node_at(printer, node)->child, indent, depth};
	return 0;
}

void path_view__tree(const struct path_view *view, const struct path_tree *tree, uint64_t whole,
		     FILE *to)
{
	struct printer printer = {view, tree, whole, to};
	struct open_node *open = NULL;
	size_t n = 0, capacity = 0;
	int err;

	if (tree->compared.n)
		fprintf(to, "%7s %10s %10s %s\n", "share", "slow", "median", "difference");
	else
		fprintf(to, "%7s %10s %10s\n", "share", "total", "self");
	err = push_children(&printer, 0, 0, 0, &open, &n, &capacity);
	while (n && !err) {
		struct open_node *top = &open[n - 1];
		uint32_t node = top->next, last;
		size_t indent = top->indent, depth = top->depth;
		uint64_t hidden = 0;
		size_t n_hidden = 0;

		if (node && is_shown(&printer, node)) {
			top->next = node_at(&printer, node)->next;
			last = put_line(&printer, node, indent);
			if (node_at(&printer, node)->type == PATH_NODE_WAIT)
				depth++;
			if (!view->depth || depth <= view->depth)
				err = push_children(&printer, last, indent + 2, depth, &open, &n,
						    &capacity);
			continue;
		}
		for (; node; node = node_at(&printer, node)->next, n_hidden++)
			hidden += node_at(&printer, node)->total_ns;
		if (format__percent(hidden, whole) >= view->percent_limit)
			put_hidden(&printer, n_hidden, hidden, indent);
		n--;
	}
	free(open);
}
