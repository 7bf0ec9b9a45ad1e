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
	size_t n; /* of the prefix */
};

static const struct calltree_node *view__node(const struct tree_view *view, uint32_t node)
{
	return &view->report->profile->trees.nodes.data[node];
}

static double view__percent(const struct tree_view *view, uint64_t ns)
{
	return format__percent(ns, view->report->profile->ns);
}

static bool view__shows(const struct tree_view *view, uint32_t node)
{
	double limit =
		view->report->percent_limit > MIN_SHARE ? view->report->percent_limit : MIN_SHARE;

	return view__percent(view, view__node(view, node)->total_ns) >= limit;
}

/* The first child that is shown; they are in order of time, so the others follow. */
static uint32_t view__child(const struct tree_view *view, uint32_t node)
{
	uint32_t child = view__node(view, node)->child;

	return child && view__shows(view, child) ? child : 0;
}

static uint32_t view__next(const struct tree_view *view, uint32_t node)
{
	uint32_t next = view__node(view, node)->next;

	return next && view__shows(view, next) ? next : 0;
}

static void view__name(const struct tree_view *view, const struct calltree_node *node)
{
	const struct model *model = view->report->model;

	if (node->name)
		format__safe(view->to, model__string(model, node->name));
	else
		fprintf(view->to, "0x%" PRIx64, node->address);
	if (node->letter)
		fprintf(view->to, " [%c]", node->letter);
	else if (node->kernel)
		fputs(" [k]", view->to);
	fputc('\n', view->to);
}

/* Whether all of @node goes on into its first child. */
static bool view__is_line(const struct tree_view *view, uint32_t node)
{
	uint32_t child = view__node(view, node)->child;

	return child && view__node(view, child)->total_ns == view__node(view, node)->total_ns;
}

static void view__push(struct tree_view *view, const char *text)
{
	size_t n = strlen(text);

	if (view->n + n < sizeof(view->prefix))
		memcpy(view->prefix + view->n, text, n + 1);
	view->n += n;
}

static void view__pop(struct tree_view *view, size_t n)
{
	view->n = n;
	if (n < sizeof(view->prefix))
		view->prefix[n] = '\0';
}

static void view__branches(struct tree_view *view, uint32_t parent);

/* One branch: its share, then frame under frame as long as it does not fork. */
static void view__branch(struct tree_view *view, uint32_t node, bool last)
{
	size_t n = view->n;

	fprintf(view->to, "%s%s--%5.2f%%-- ", view->prefix, last ? " " : "|",
		view__percent(view, view__node(view, node)->total_ns));
	view__name(view, view__node(view, node));
	view__push(view, last ? "            " : "|           ");
	while (view__is_line(view, node)) {
		node = view__node(view, node)->child;
		fputs(view->prefix, view->to);
		view__name(view, view__node(view, node));
	}
	view__branches(view, node);
	view__pop(view, n);
}

static void view__branches(struct tree_view *view, uint32_t parent)
{
	uint32_t node = view__child(view, parent);

	while (node) {
		uint32_t next = view__next(view, node);

		fprintf(view->to, "%s|\n", view->prefix);
		view__branch(view, node, !next);
		node = next;
	}
}

void report__tree(const struct report *report, const struct profile_row *row, FILE *to)
{
	struct tree_view view = {.report = report, .to = to, .n = INDENT};

	memset(view.prefix, ' ', INDENT);
	view__branches(&view, row->tree);
	fputc('\n', to);
}
