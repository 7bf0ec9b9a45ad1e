// SPDX-License-Identifier: BSD-2-Clause
/* One line for each pseudo-stack, for flame graph tools: "process;frame;...;process;frame ns". */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "render/path/path_views.h"

/* With the separators of the format replaced. */
static void put_text(struct buffer *line, const char *text)
{
	for (; *text; text++) {
		char c = *text == ';' ? ':' : *text;

		if ((unsigned char)c < 0x20)
			c = '?';
		buffer__put(line, &c, 1);
	}
}

static void put_node(const struct path_view *view, struct buffer *line,
		     const struct path_node *node)
{
	bool brackets = node->type == PATH_NODE_WAIT || node->type == PATH_NODE_LEAF;
	char text[512];

	path_node__text(view, node, text, sizeof(text));
	if (line->n)
		buffer__put(line, ";", 1);
	put_text(line, brackets ? "[" : "");
	put_text(line, node->type == PATH_NODE_THREAD && node->had_cpu ? "had the CPU: " : "");
	put_text(line, text);
	put_text(line, brackets ? "]" : "");
	if (node->type == PATH_NODE_FRAME && node->kernel)
		put_text(line, "_[k]");
}

int path_view__folded(const struct path_view *view, FILE *to)
{
	const struct path_tree *tree = &view->path->tree;
	_cleanup_free_ uint32_t *stack = calloc(tree->nodes.n, sizeof(*stack));
	struct buffer line = {};

	if (!stack)
		return -ENOMEM;
	for (uint32_t i = 1; i < tree->nodes.n; i++) {
		size_t n = 0;

		if (!tree->nodes.data[i].self_ns)
			continue;
		for (uint32_t at = i; at; at = tree->nodes.data[at].parent)
			stack[n++] = at;
		line.n = 0;
		while (n--)
			put_node(view, &line, &tree->nodes.data[stack[n]]);
		if (line.failed)
			break;
		fprintf(to, "%.*s %" PRIu64 "\n", (int)line.n, (const char *)line.data,
			tree->nodes.data[i].self_ns);
	}
	buffer__free(&line);
	return line.failed ? -ENOMEM : 0;
}
