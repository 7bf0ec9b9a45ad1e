// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/callchain.h"
#include "base/buffer.h"
#include "recording/wait_class.h"
#include "render/export/script.h"

struct folder {
	const struct model *model;
	struct intern lines;
	ARRAY(uint64_t) points; /* by line */
	ARRAY(uint64_t) ns;
	struct callchain chain;
	struct buffer text;
};

/* @text as part of a line: ';' and line ends separate, so they cannot stand in it. */
static void folder__put(struct folder *folder, const char *text)
{
	for (; *text; text++) {
		char c = *text == ';' ? ':' : *text;

		if ((unsigned char)c < 0x20)
			c = '?';
		buffer__put(&folder->text, &c, 1);
	}
}

static void folder__put_frame(struct folder *folder, const struct callchain_frame *frame)
{
	const struct model *model = folder->model;

	buffer__put(&folder->text, ";", 1);
	if (frame->name) {
		folder__put(folder, model__string(model, frame->name));
		return;
	}
	/* Addresses would not merge; the file's name does. */
	if (frame->dso)
		buffer__put(&folder->text, "[", 1);
	folder__put(folder, model__string(model, model->dsos.data[frame->dso].name));
	if (frame->dso)
		buffer__put(&folder->text, "]", 1);
}

static int folder__line(struct folder *folder, const struct sample_group *group)
{
	bool off_cpu = group->class != CLASS_CPU;
	char mark[] = {'_', '[', wait_class__letter(group->class, false), ']', '\0'};
	const struct callchain *chain = &folder->chain;
	int err =
		callchain__set(&folder->chain, folder->model, group->kernel, group->user, off_cpu);

	if (err)
		return err;
	folder->text.n = 0;
	folder__put(folder, model__string(folder->model, group->comm));
	for (size_t i = chain->frames.n; i--;) {
		folder__put_frame(folder, &chain->frames.data[i]);
		if (!i && off_cpu)
			folder__put(folder, mark);
		else if (chain->frames.data[i].kernel)
			folder__put(folder, "_[k]");
	}
	if (!chain->frames.n) {
		buffer__put(&folder->text, ";", 1);
		folder__put(folder, "[unknown]");
		folder__put(folder, off_cpu ? mark : "");
	}
	return folder->text.failed ? -ENOMEM : 0;
}

static int folder__add(struct folder *folder, const struct sample_group *group)
{
	int64_t id;
	bool fresh;
	int err = folder__line(folder, group);

	if (err)
		return err;
	id = intern__id(&folder->lines, folder->text.data, folder->text.n, &fresh);
	if (id < 0)
		return (int)id;
	if (fresh && (array__push(&folder->points, 0) || array__push(&folder->ns, 0)))
		return -ENOMEM;
	folder->points.data[id] += group->points;
	folder->ns.data[id] += group->ns;
	return 0;
}

static const struct intern *sorting;

static int line__order(const void *a, const void *b)
{
	return strcmp(intern__bytes(sorting, *(const uint32_t *)a, NULL),
		      intern__bytes(sorting, *(const uint32_t *)b, NULL));
}

static int folder__print(const struct folder *folder, enum folded_unit unit, FILE *to)
{
	_cleanup_free_ uint32_t *order = calloc(folder->lines.n + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < folder->lines.n; i++)
		order[i] = i;
	sorting = &folder->lines;
	qsort(order, folder->lines.n, sizeof(*order), line__order);
	sorting = NULL;
	for (size_t i = 0; i < folder->lines.n; i++) {
		uint64_t count = unit == FOLDED_POINTS ? folder->points.data[order[i]]
						       : folder->ns.data[order[i]] / 1000;

		if (count)
			fprintf(to, "%s %" PRIu64 "\n",
				(const char *)intern__bytes(&folder->lines, order[i], NULL), count);
	}
	return 0;
}

int folded__write(const struct model *model, const struct sample_filter *filter,
		  enum folded_unit unit, FILE *to)
{
	struct folder folder = {.model = model};
	struct sample_groups groups;
	int err = sample_groups__collect(model, filter, &groups);

	if (err)
		return err;
	for (size_t i = 0; i < groups.groups.n && !err; i++)
		err = folder__add(&folder, &groups.groups.data[i]);
	err = err ? err : folder__print(&folder, unit, to);
	sample_groups__free(&groups);
	intern__free(&folder.lines);
	array__free(&folder.points);
	array__free(&folder.ns);
	callchain__free(&folder.chain);
	buffer__free(&folder.text);
	return err;
}
