// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>
#include <string.h>

#include "render/format.h"
#include "render/report/report.h"

#define INDENT	 12
#define MAX_TEXT 4096
/* Branches below this are noise, as in perf. */
#define MIN_SHARE 0.5

struct tree_view {
	const struct report *report;
	FILE *to;
	char prefix[MAX_TEXT];
	size_t n; /* length of the prefix */
};

static const struct calltree_node *tree_node(const struct tree_view *tree, uint32_t node)
{
	return &tree->report->profile->trees.nodes.data[node];
}

static double tree_percent(const struct tree_view *tree, uint64_t ns)
{
	return format__percent(ns, tree->report->profile->ns);
}

static bool is_shown(const struct tree_view *tree, uint32_t node)
{
	double limit =
		tree->report->percent_limit > MIN_SHARE ? tree->report->percent_limit : MIN_SHARE;

	return tree_percent(tree, tree_node(tree, node)->total_ns) >= limit;
}

/* The first child that is shown. Children are sorted by time, so hidden ones come last. */
static uint32_t first_shown_child(const struct tree_view *tree, uint32_t node)
{
	uint32_t child = tree_node(tree, node)->child;

	return child && is_shown(tree, child) ? child : 0;
}

static uint32_t next_shown_sibling(const struct tree_view *tree, uint32_t node)
{
	uint32_t next = tree_node(tree, node)->next;

	return next && is_shown(tree, next) ? next : 0;
}

static void put_name(const struct tree_view *tree, const struct calltree_node *node)
{
	const struct model *model = tree->report->model;

	if (node->name)
		format__safe(tree->to, model__string(model, node->name));
	else
		fprintf(tree->to, "0x%" PRIx64, node->address);
	if (node->letter)
		fprintf(tree->to, " [%c]", node->letter);
	else if (node->kernel)
		fputs(" [k]", tree->to);
	fputc('\n', tree->to);
}

/* Whether all of @node's time is in its first child. */
static bool is_unbranched(const struct tree_view *tree, uint32_t node)
{
	uint32_t child = tree_node(tree, node)->child;

	return child && tree_node(tree, child)->total_ns == tree_node(tree, node)->total_ns;
}

static void push_prefix(struct tree_view *tree, const char *text)
{
	size_t n = strlen(text);

	if (tree->n + n < sizeof(tree->prefix))
		memcpy(tree->prefix + tree->n, text, n + 1);
	tree->n += n;
}

static void pop_prefix(struct tree_view *tree, size_t n)
{
	tree->n = n;
	if (n < sizeof(tree->prefix))
		tree->prefix[n] = '\0';
}

static void put_branches(struct tree_view *tree, uint32_t parent);

/* Prints a branch: its share, then one frame per line until it forks. */
static void put_branch(struct tree_view *tree, uint32_t node, bool last)
{
	size_t n = tree->n;

	fprintf(tree->to, "%s%s--%5.2f%%-- ", tree->prefix, last ? " " : "|",
		tree_percent(tree, tree_node(tree, node)->total_ns));
	put_name(tree, tree_node(tree, node));
	push_prefix(tree, last ? "            " : "|           ");
	while (is_unbranched(tree, node)) {
		node = tree_node(tree, node)->child;
		fputs(tree->prefix, tree->to);
		put_name(tree, tree_node(tree, node));
	}
	put_branches(tree, node);
	pop_prefix(tree, n);
}

static void put_branches(struct tree_view *tree, uint32_t parent)
{
	uint32_t node = first_shown_child(tree, parent);

	while (node) {
		uint32_t next = next_shown_sibling(tree, node);

		fprintf(tree->to, "%s|\n", tree->prefix);
		put_branch(tree, node, !next);
		node = next;
	}
}

void report__tree(const struct report *report, const struct profile_row *row, FILE *to)
{
	struct tree_view tree = {.report = report, .to = to, .n = INDENT};

	memset(tree.prefix, ' ', INDENT);
	put_branches(&tree, row->tree);
	fputc('\n', to);
}
