// SPDX-License-Identifier: BSD-2-Clause
#include "render/html/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "render/html/blocks.h"
#include "render/html/viewer_page.h"
#include "render/json.h"

#define DATA_LINE "<!--DATA-->\n"

/* The viewer's page up to the line for the data, or from behind it. */
static void write_page(FILE *to, bool end)
{
	const char *data = memmem(viewer_page, viewer_page_size, DATA_LINE, strlen(DATA_LINE));
	size_t before = data ? (size_t)(data - viewer_page) : viewer_page_size;
	size_t after = data ? before + strlen(DATA_LINE) : viewer_page_size;

	if (end)
		fwrite(viewer_page + after, 1, viewer_page_size - after, to);
	else
		fwrite(viewer_page, 1, before, to);
}

int html__begin(struct html *html, FILE *to)
{
	html->to = to;
	html->index = json_pack("{s:i, s:s, s:[], s:[], s:[]}", "version", 1, "dwell",
				dwell_version, "recordings", "causal", "verdicts");
	if (!html->index)
		return -ENOMEM;
	write_page(to, false);
	return 0;
}

/* Adds @name to the blocks of its recording in the index. */
static void list_block(struct html *html, const char *name)
{
	json_t *recording;
	size_t number;

	if (sscanf(name, "r%zu.", &number) != 1)
		return;
	recording = json_array_get(json_object_get(html->index, "recordings"), number);
	json_array_append_new(json_object_get(recording, "blocks"), json_string(name));
}

int html__block(struct html *html, const char *name, const char *text, size_t n)
{
	list_block(html, name);
	return block__write(html->to, name, text, n);
}

int html__table(struct html *html, const char *name, struct table *table, size_t n)
{
	list_block(html, name);
	return table__write(table, n, name, html->to);
}

int html__causal(struct html *html, const char *name, size_t *number)
{
	json_t *list = json_object_get(html->index, "causal");
	char block[32];

	*number = json_array_size(list);
	snprintf(block, sizeof(block), "c%zu", *number);
	return json_array_append_new(
		       list, json_pack("{s:o, s:s}", "name", json__text(name), "block", block))
		       ? -ENOMEM
		       : 0;
}

int html__verdict(struct html *html, int64_t recording, const char *view, const char *text)
{
	json_t *verdict = json_pack("{s:o, s:s, s:o}", "recording",
				    recording < 0 ? json_null() : json_integer(recording), "view",
				    view, "text", json__text(text));

	return json_array_append_new(json_object_get(html->index, "verdicts"), verdict) ? -ENOMEM
											: 0;
}

int html__end(struct html *html)
{
	_cleanup_free_ char *text = json_dumps(html->index, JSON_COMPACT);
	int err = text ? block__write(html->to, "index", text, strlen(text)) : -ENOMEM;

	if (!err)
		write_page(html->to, true);
	return err;
}

void html__free(struct html *html)
{
	json_decref(html->index);
}
