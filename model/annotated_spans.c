// SPDX-License-Identifier: BSD-2-Clause
#include "model/annotated_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Begins that never end are forgotten when there are more. */
#define MAX_OPEN 4096

/* A BEGIN or END. */
struct mark {
	uint64_t time;
	uint32_t thread;
	uint32_t process;
	uint32_t name;
	bool end;
};

struct pairing {
	struct model *model;
	ARRAY(struct mark) marks; /* by time */
	ARRAY(struct mark) open;  /* begins without an end, by time */
};

static int collect(struct pairing *pairing)
{
	const struct model *model = pairing->model;

	for (uint32_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		for (size_t i = 0; i < thread->annotations.n; i++) {
			const struct model_annotation *at = &thread->annotations.data[i];
			struct mark mark = {at->time, t, thread->process, at->name,
					    at->type == ANNOTATION_END};

			if ((at->type == ANNOTATION_BEGIN || mark.end) &&
			    array__push(&pairing->marks, mark))
				return -ENOMEM;
		}
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

/* The index of the begin mark that @end belongs to, or the number of open ones. */
static size_t find_begin(const struct pairing *pairing, const struct mark *end)
{
	size_t found = pairing->open.n;

	for (size_t i = pairing->open.n; i--;) {
		const struct mark *begin = &pairing->open.data[i];

		if (begin->name != end->name || begin->process != end->process)
			continue;
		if (begin->thread == end->thread)
			return i;
		found = i;
	}
	return found;
}

static void remove_begin(struct pairing *pairing, size_t at)
{
	pairing->open.n--;
	memmove(&pairing->open.data[at], &pairing->open.data[at + 1],
		(pairing->open.n - at) * sizeof(*pairing->open.data));
}

static int begin_span(struct pairing *pairing, const struct mark *begin)
{
	if (pairing->open.n == MAX_OPEN)
		remove_begin(pairing, 0);
	return array__push(&pairing->open, *begin);
}

static int end_span(struct pairing *pairing, const struct mark *end)
{
	size_t at = find_begin(pairing, end);
	struct model_span span = {.ended = end->time, .name = end->name, .thread = end->thread};

	if (at == pairing->open.n)
		return 0;
	span.begun = span.arrived = pairing->open.data[at].time;
	span.begun_by = pairing->open.data[at].thread;
	remove_begin(pairing, at);
	return array__push(&pairing->model->spans, span);
}

int annotated_spans__add(struct model *model)
{
	struct pairing pairing = {.model = model};
	int err = collect(&pairing);

	if (!err && pairing.marks.n)
		qsort(pairing.marks.data, pairing.marks.n, sizeof(*pairing.marks.data), by_time);
	for (size_t i = 0; i < pairing.marks.n && !err; i++) {
		const struct mark *mark = &pairing.marks.data[i];

		err = mark->end ? end_span(&pairing, mark) : begin_span(&pairing, mark);
	}
	array__free(&pairing.marks);
	array__free(&pairing.open);
	return err;
}
