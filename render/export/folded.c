// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/callchain.h"
#include "base/buffer.h"
#include "recording/wait_class.h"
#include "render/export/folded.h"

struct folded {
	const struct model *model;
	struct intern lines;
	ARRAY(uint64_t) ns; /* by line */
	struct callchain chain;
	struct buffer text;
};

/* Appends @text to the line, with the separators ';' and newline replaced. */
static void put_text(struct folded *folded, const char *text)
{
	for (; *text; text++) {
		char c = *text == ';' ? ':' : *text;

		if ((unsigned char)c < 0x20)
			c = '?';
		buffer__put(&folded->text, &c, 1);
	}
}

static void put_frame(struct folded *folded, const struct callchain_frame *frame)
{
	const struct model *model = folded->model;

	buffer__put(&folded->text, ";", 1);
	if (frame->name) {
		put_text(folded, model__string(model, frame->name));
		return;
	}
	/* Unnamed frames of one file are merged: addresses would each make a line. */
	if (frame->dso)
		buffer__put(&folded->text, "[", 1);
	put_text(folded, model__string(model, model->dsos.data[frame->dso].name));
	if (frame->dso)
		buffer__put(&folded->text, "]", 1);
}

static int make_line(struct folded *folded, const struct sample_group *group)
{
	bool off_cpu = group->class != CLASS_CPU;
	char mark[] = {'_', '[', wait_class__letter(group->class, false), ']', '\0'};
	const struct callchain *chain = &folded->chain;
	int err =
		callchain__set(&folded->chain, folded->model, group->kernel, group->user, off_cpu);

	if (err)
		return err;
	folded->text.n = 0;
	put_text(folded, model__string(folded->model, group->comm));
	for (size_t i = chain->frames.n; i--;) {
		put_frame(folded, &chain->frames.data[i]);
		if (!i && off_cpu)
			put_text(folded, mark);
		else if (chain->frames.data[i].kernel)
			put_text(folded, "_[k]");
	}
	if (!chain->frames.n) {
		buffer__put(&folded->text, ";", 1);
		put_text(folded, "[unknown]");
		put_text(folded, off_cpu ? mark : "");
	}
	return folded->text.failed ? -ENOMEM : 0;
}

static int add_group(struct folded *folded, const struct sample_group *group)
{
	int64_t id;
	bool fresh;
	int err = make_line(folded, group);

	if (err)
		return err;
	id = intern__id(&folded->lines, folded->text.data, folded->text.n, &fresh);
	if (id < 0)
		return (int)id;
	if (fresh && array__push(&folded->ns, 0))
		return -ENOMEM;
	folded->ns.data[id] += group->ns;
	return 0;
}

static int compare_lines(const void *a, const void *b, void *lines)
{
	return strcmp(intern__bytes(lines, *(const uint32_t *)a, NULL),
		      intern__bytes(lines, *(const uint32_t *)b, NULL));
}

static int print_lines(const struct folded *folded, enum folded_unit unit, FILE *to)
{
	_cleanup_free_ uint32_t *order = calloc(folded->lines.n + 1, sizeof(*order));
	uint64_t unit_ns = unit == FOLDED_POINTS ? folded->model->period_ns : 1000;
	uint64_t sum = 0, printed = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < folded->lines.n; i++)
		order[i] = i;
	qsort_r(order, folded->lines.n, sizeof(*order), compare_lines, (void *)&folded->lines);
	for (size_t i = 0; i < folded->lines.n && unit_ns; i++) {
		uint64_t count;

		/* Carry the rounding error to the next line, so that sums are right. */
		sum += folded->ns.data[order[i]];
		count = (sum + unit_ns / 2) / unit_ns - printed;
		printed += count;
		if (count)
			fprintf(to, "%s %" PRIu64 "\n",
				(const char *)intern__bytes(&folded->lines, order[i], NULL), count);
	}
	return 0;
}

int folded__write(const struct model *model, const struct sample_filter *filter,
		  enum folded_unit unit, uint64_t *idle_ns, FILE *to)
{
	struct folded folded = {.model = model};
	struct sample_groups groups;
	int err = sample_groups__collect(model, filter, &groups);

	if (err)
		return err;
	if (idle_ns)
		*idle_ns = groups.idle_ns;
	for (size_t i = 0; i < groups.groups.n && !err; i++)
		if (!idle_ns || !groups.groups.data[i].idle)
			err = add_group(&folded, &groups.groups.data[i]);
	err = err ? err : print_lines(&folded, unit, to);
	sample_groups__free(&groups);
	intern__free(&folded.lines);
	array__free(&folded.ns);
	callchain__free(&folded.chain);
	buffer__free(&folded.text);
	return err;
}
