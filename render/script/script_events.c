// SPDX-License-Identifier: BSD-2-Clause
#include "render/script/script_events.h"

#include <errno.h>

static bool event_precedes(const struct script_event *a, const struct script_event *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->thread != b->thread)
		return a->thread < b->thread;
	return a->kind < b->kind;
}

static void sift_down(struct script_events *events, size_t at)
{
	struct script_event *heap = events->heap.data;

	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
			if (child < events->heap.n && event_precedes(&heap[child], &heap[least]))
				least = child;
		if (least == at)
			return;
		struct script_event moved = heap[at];

		heap[at] = heap[least];
		heap[least] = moved;
		at = least;
	}
}

/* Of the kinds that are listed by thread. */
static bool thread_event_set(struct script_event *next, const struct model_thread *thread)
{
	size_t i = next->index;
	bool there = false;

	switch (next->kind) {
	case LINE_THREAD:
		there = i < 1 && thread->announced;
		next->time = thread->created;
		break;
	case LINE_COMM:
		/* The first name is part of LINE_THREAD. */
		there = i + 1 < thread->comms.n;
		next->time = there ? thread->comms.data[i + 1].time : 0;
		break;
	case LINE_EXEC:
		there = i < thread->execs.n;
		next->time = there ? thread->execs.data[i].time : 0;
		break;
	case LINE_WAKE:
		there = i < thread->wakes.n;
		next->time = there ? thread->wakes.data[i].time : 0;
		break;
	case LINE_SEGMENT:
		there = i < thread->segments.n;
		next->time = there ? thread->segments.data[i].time : 0;
		break;
	case LINE_SAMPLE:
		there = i < thread->samples.n;
		next->time = there ? thread->samples.data[i].time : 0;
		break;
	case LINE_INTERVAL:
		there = i < thread->intervals.n;
		next->time = there ? thread->intervals.data[i].t_out : 0;
		break;
	case LINE_ANNOTATION:
		there = i < thread->annotations.n;
		next->time = there ? thread->annotations.data[i].time : 0;
		break;
	case LINE_EXIT:
		there = i < 1 && thread->has_totals;
		next->time = thread->ended;
		break;
	default:
		break;
	}
	return there;
}

/* Sets @next to event @next->index of its kind; false if there is none. */
static bool event_set(struct script_event *next, const struct model *model)
{
	const struct model_device *device = &model->devices.data[next->device];
	size_t i = next->index;
	bool there = false;

	switch (next->kind) {
	case LINE_IDLE:
		there = i < device->idles.n;
		next->time = there ? device->idles.data[i].since : 0;
		next->thread = there ? device->idles.data[i].thread : 0;
		break;
	case LINE_BLOCK:
		there = i < model->requests.n;
		next->time = there ? model->requests.data[i].completed : 0;
		next->thread = there ? model->requests.data[i].thread : 0;
		break;
	case LINE_REQUEST:
		there = i < model->spans.n;
		next->time = there ? model->spans.data[i].ended : 0;
		next->thread = there ? model->spans.data[i].thread : 0;
		break;
	default:
		return thread_event_set(next, &model->threads.data[next->thread]);
	}
	return there;
}

int script_events__begin(struct script_events *events, const struct model *model,
			 const struct sample_filter *filter)
{
	events->model = model;

	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		if (!sample_filter__thread(filter, thread))
			continue;
		for (uint32_t kind = 0; kind < LINE_IDLE; kind++) {
			struct script_event next = {.thread = (uint32_t)i, .kind = kind};

			if (event_set(&next, model) && array__push(&events->heap, next))
				return -ENOMEM;
		}
	}
	for (uint32_t i = 1; i < model->devices.n; i++) {
		struct script_event next = {.device = i, .kind = LINE_IDLE};

		if (event_set(&next, model) && array__push(&events->heap, next))
			return -ENOMEM;
	}
	for (uint32_t kind = LINE_BLOCK; kind <= LINE_REQUEST; kind++) {
		struct script_event next = {.kind = kind};

		if (event_set(&next, model) && array__push(&events->heap, next))
			return -ENOMEM;
	}
	for (size_t i = events->heap.n / 2 + 1; i--;)
		sift_down(events, i);
	return 0;
}

const struct script_event *script_events__first(const struct script_events *events)
{
	return events->heap.n ? &events->heap.data[0] : NULL;
}

void script_events__advance(struct script_events *events)
{
	struct script_event *next = &events->heap.data[0];

	next->index++;
	if (!event_set(next, events->model))
		*next = events->heap.data[--events->heap.n];
	sift_down(events, 0);
}

void script_events__free(struct script_events *events)
{
	array__free(&events->heap);
}
