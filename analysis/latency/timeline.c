// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/kinds/call_names.h"

static uint64_t latest(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

static uint64_t earliest(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* Whether the two may have a time in common. What may only touch is not taken for it. */
static bool overlaps(const struct model_call *call, uint64_t from, uint64_t until)
{
	return call->end > from + call->end_slack && call->begin + call->begin_slack < until;
}

/*
 * Whether [@from, @until) is a part of @call that says nothing: the loop that a request's thread
 * takes requests in, or one that a holder's thread never leaves.
 */
static bool is_outer_loop(const struct model_call *call, uint64_t from, uint64_t until,
			  enum timeline_type type)
{
	if (call->begin + call->begin_slack >= from || call->end <= until)
		return false;
	return type == TIMELINE_CALL || call->flags & (CALL_UNFINISHED | CALL_EARLIER);
}

/* Adds calls of @thread within [@from, @until). */
static int add_calls(const struct model *model, uint32_t thread, uint64_t from, uint64_t until,
		     enum timeline_type type, struct timeline *timeline)
{
	const struct model_thread *of = &model->threads.data[thread];
	int err = 0;

	for (size_t i = 0; i < of->calls.n && !err; i++) {
		const struct model_call *call = &of->calls.data[i];
		struct timeline_item item = {
			.begin = latest(call->begin, from),
			.end = earliest(call->end, until),
			.thread = thread,
			.level = call->depth,
			.name = call_names__function(model, call->stack, 0),
			.type = (uint8_t)type,
		};

		if (overlaps(call, from, until) && !is_outer_loop(call, from, until, type))
			err = array__push(&timeline->items, item);
	}
	return err;
}

static int add_wait(const struct model *model, const struct wait_causes *causes,
		    const struct model_span_part *part, const struct model_interval *interval,
		    struct timeline *timeline)
{
	const struct model_thread *thread = &model->threads.data[part->thread];
	uint64_t woken = interval->t_out + interval->blocked_ns;
	struct timeline_item item = {
		.begin = latest(interval->t_out, part->begin),
		.end = earliest(woken, part->end),
		.thread = part->thread,
		.cause = wait_causes__of(causes, part->thread, interval),
		.object = model_interval__object(interval),
		.type = TIMELINE_WAIT,
		.kind = (uint8_t)wait_causes__kind(causes, interval),
	};
	struct timeline_item queued = {
		.begin = latest(woken, part->begin),
		.end = earliest(woken + interval->runq_ns, part->end),
		.thread = part->thread,
		.instead = interval->previous,
		.type = TIMELINE_RUN_QUEUE,
	};
	bool is_lock = interval->class == CLASS_LOCK ||
		       kind__info((enum wait_kind)item.kind)->role == KIND_ROLE_LOCK;
	int err = call_names__waker(model, thread, interval, item.cause, &item.name);

	if (!err && item.begin < item.end)
		err = array__push(&timeline->items, item);
	if (!err && item.begin < item.end && is_lock && item.cause.type == CAUSE_THREAD)
		err = add_calls(model, item.cause.id, item.begin, item.end, TIMELINE_HOLDER_CALL,
				timeline);
	if (!err && queued.begin < queued.end)
		err = array__push(&timeline->items, queued);
	return err;
}

static int add_waits(const struct model *model, const struct wait_causes *causes,
		     const struct model_span_part *part, struct timeline *timeline)
{
	const struct model_thread *thread = &model->threads.data[part->thread];
	size_t i = model_thread__intervals_until(thread, part->begin, 0);
	int err = 0;

	for (i = i ? i - 1 : 0; i < thread->intervals.n && !err; i++) {
		const struct model_interval *interval = &thread->intervals.data[i];

		if (interval->t_out >= part->end)
			break;
		if (interval->t_out + interval->blocked_ns + interval->runq_ns > part->begin)
			err = add_wait(model, causes, part, interval, timeline);
	}
	return err;
}

/* One look finds several calls that begin; their level tells which is the outer one. */
static int by_begin(const void *a, const void *b)
{
	const struct timeline_item *one = a, *other = b;

	if (one->begin != other->begin)
		return one->begin < other->begin ? -1 : 1;
	if (one->type == other->type && one->thread == other->thread && one->level != other->level)
		return one->level < other->level ? -1 : 1;
	return one->end > other->end ? -1 : one->end < other->end;
}

/* Each item from @first on lies in those that begin before it and end after it. */
static int set_depths(struct timeline *timeline, size_t first, uint32_t depth)
{
	ARRAY(uint64_t) ends = {};
	int err = 0;

	for (size_t i = first; i < timeline->items.n && !err; i++) {
		struct timeline_item *item = &timeline->items.data[i];

		while (ends.n && ends.data[ends.n - 1] < item->end)
			ends.n--;
		item->depth = depth + (uint32_t)ends.n;
		err = array__push(&ends, item->end);
	}
	array__free(&ends);
	return err;
}

/* What a thread did in @part, @depth deep. */
static int add_part(const struct model *model, const struct wait_causes *causes,
		    const struct model_span_part *part, uint32_t depth, struct timeline *timeline)
{
	size_t first = timeline->items.n;
	int err = add_calls(model, part->thread, part->begin, part->end, TIMELINE_CALL, timeline);

	err = err ? err : add_waits(model, causes, part, timeline);
	if (!err && timeline->items.n > first)
		qsort(timeline->items.data + first, timeline->items.n - first,
		      sizeof(*timeline->items.data), by_begin);
	return err ? err : set_depths(timeline, first, depth);
}

/* Adds the times of [@part->begin, @part->end), in a queue, in which no thread had @span. */
static int add_queue(const struct model *model, const struct model_span *span,
		     const struct model_span_part *part, struct timeline *timeline)
{
	const struct model_span_part *parts = &model->span_parts.data[span->part];
	struct timeline_item item = {
		.begin = part->begin, .queue = part->queue, .type = TIMELINE_QUEUE};

	/* Parts are sorted by begin. */
	for (uint32_t i = 0; i < span->n_parts && item.begin < part->end; i++) {
		if (!parts[i].thread || parts[i].end <= item.begin)
			continue;
		item.end = earliest(parts[i].begin, part->end);
		if (item.end > item.begin && array__push(&timeline->items, item))
			return -ENOMEM;
		item.begin = latest(item.begin, parts[i].end);
	}
	item.end = part->end;
	return item.end > item.begin ? array__push(&timeline->items, item) : 0;
}

static int add_tagged(const struct model *model, const struct wait_causes *causes,
		      const struct model_span *span, struct timeline *timeline)
{
	int err = 0;

	for (uint32_t i = 0; i < span->n_parts && !err; i++) {
		const struct model_span_part *part = &model->span_parts.data[span->part + i];
		struct timeline_item item = {.begin = part->begin,
					     .end = part->end,
					     .thread = part->thread,
					     .type = TIMELINE_THREAD};

		if (!part->thread) {
			err = add_queue(model, span, part, timeline);
			continue;
		}
		err = array__push(&timeline->items, item);
		err = err ? err : add_part(model, causes, part, 1, timeline);
	}
	return err;
}

int timeline__make(const struct model *model, const struct wait_causes *causes,
		   const struct model_span *span, struct timeline *timeline)
{
	const struct model_span_part all = {
		.begin = span->arrived, .end = span->ended, .thread = span->thread};

	return span->n_parts ? add_tagged(model, causes, span, timeline)
			     : add_part(model, causes, &all, 0, timeline);
}

void timeline__free(struct timeline *timeline)
{
	array__free(&timeline->items);
}
