// SPDX-License-Identifier: BSD-2-Clause
#include "model/tagged_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In more queues at once, a request is not seen. */
#define MAX_QUEUES 64

/* A tag with an id. */
struct tag {
	uint64_t time;
	uint64_t id;
	uint64_t queue;
	uint32_t thread;
	uint32_t process;
	uint32_t order; /* in the thread */
	uint8_t type;	/* enum annotation_type */
};

/* An END_ALL. */
struct end_all {
	uint64_t time;
	uint32_t thread;
	uint32_t order;
};

/* A thread that has the request. */
struct holder {
	uint64_t begin;
	uint64_t until; /* its next END_ALL, or else its end; MODEL_FOREVER: neither */
	uint32_t thread;
	uint32_t until_order; /* of the END_ALL */
	bool until_end_all;
};

/* The request is in a queue. */
struct queued {
	uint64_t begin;
	uint64_t queue;
};

/* The tags of one id are looked at in order of time; then those of the next id. */
struct tagging {
	struct model *model;
	uint32_t name;
	ARRAY(struct tag) tags;	   /* by process, id and time */
	ARRAY(struct end_all) all; /* by thread and order */

	/* The request that is open, if it has a holder or is queued. */
	uint64_t id;
	uint64_t begun;
	uint32_t begun_by;
	ARRAY(struct holder) holders;
	struct queued queued[MAX_QUEUES]; /* the oldest first */
	size_t n_queued;
	ARRAY(struct model_span_part) parts; /* that are over */
};

static int collect(struct tagging *tagging)
{
	const struct model *model = tagging->model;

	for (uint32_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		for (uint32_t i = 0; i < thread->annotations.n; i++) {
			const struct model_annotation *at = &thread->annotations.data[i];
			struct tag tag = {at->time,	   at->address, at->queue, t,
					  thread->process, i,		at->type};
			struct end_all all = {at->time, t, i};
			int err = 0;

			if (at->type == ANNOTATION_REQUEST_END_ALL)
				err = array__push(&tagging->all, all);
			else if (at->type >= ANNOTATION_REQUEST_BEGIN &&
				 at->type <= ANNOTATION_REQUEST_END)
				err = array__push(&tagging->tags, tag);
			if (err)
				return err;
		}
	}
	return 0;
}

static int compare(uint64_t one, uint64_t other)
{
	return (one > other) - (one < other);
}

static int by_id(const void *a, const void *b)
{
	const struct tag *one = a, *other = b;
	int order = compare(one->process, other->process);

	order = order ? order : compare(one->id, other->id);
	order = order ? order : compare(one->time, other->time);
	order = order ? order : compare(one->thread, other->thread);
	return order ? order : compare(one->order, other->order);
}

/* When the thread of @begin has none of its requests any more. */
static struct holder make_holder(const struct tagging *tagging, const struct tag *begin)
{
	const struct model_thread *thread = &tagging->model->threads.data[begin->thread];
	struct holder holder = {.begin = begin->time,
				.until = thread->exited ? thread->ended : MODEL_FOREVER,
				.thread = begin->thread};
	size_t low = 0, high = tagging->all.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct end_all *all = &tagging->all.data[middle];

		if (all->thread < begin->thread ||
		    (all->thread == begin->thread && all->order < begin->order))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < tagging->all.n && tagging->all.data[low].thread == begin->thread) {
		holder.until = tagging->all.data[low].time;
		holder.until_order = tagging->all.data[low].order;
		holder.until_end_all = true;
	}
	/* In a damaged recording, a thread may do something after its end. */
	holder.until = holder.until < holder.begin ? holder.begin : holder.until;
	return holder;
}

static bool is_open(const struct tagging *tagging)
{
	return tagging->holders.n || tagging->n_queued;
}

/* Nobody will end the open request. */
static void abandon(struct tagging *tagging)
{
	tagging->holders.n = tagging->n_queued = tagging->parts.n = 0;
	tagging->model->tags.unended++;
}

static int by_begin(const void *a, const void *b)
{
	const struct model_span_part *one = a, *other = b;
	int order = compare(one->begin, other->begin);

	return order ? order : compare(one->end, other->end);
}

static int end_request(struct tagging *tagging, uint64_t time, uint32_t thread)
{
	struct model *model = tagging->model;
	struct model_span span = {
		.arrived = tagging->begun,
		.begun = tagging->begun,
		.ended = time,
		.name = tagging->name,
		.thread = thread,
		.begun_by = tagging->begun_by,
		.id = tagging->id,
		.part = (uint32_t)model->span_parts.n,
		.n_parts = (uint32_t)tagging->parts.n,
	};

	qsort(tagging->parts.data, tagging->parts.n, sizeof(*tagging->parts.data), by_begin);
	for (size_t i = 0; i < tagging->parts.n; i++)
		if (array__push(&model->span_parts, tagging->parts.data[i]))
			return -ENOMEM;
	tagging->parts.n = 0;
	model->tags.requests++;
	return array__push(&model->spans, span);
}

/* Holder @at has the request until @time. */
static int release(struct tagging *tagging, size_t at, uint64_t time)
{
	const struct holder *holder = &tagging->holders.data[at];
	struct model_span_part part = {
		.begin = holder->begin, .end = time, .thread = holder->thread};

	tagging->holders.n--;
	memmove(&tagging->holders.data[at], &tagging->holders.data[at + 1],
		(tagging->holders.n - at) * sizeof(*tagging->holders.data));
	return array__push(&tagging->parts, part);
}

/* It is taken from queue @at, at @time, by who says that this is @queue (0: does not say it). */
static int dequeue(struct tagging *tagging, size_t at, uint64_t time, uint64_t queue)
{
	const struct queued *queued = &tagging->queued[at];
	struct model_span_part part = {.begin = queued->begin,
				       .end = time,
				       .queue = queued->queue ? queued->queue : queue};

	tagging->n_queued--;
	memmove(&tagging->queued[at], &tagging->queued[at + 1],
		(tagging->n_queued - at) * sizeof(*tagging->queued));
	return array__push(&tagging->parts, part);
}

/* Whether @holder no longer has it at the time of @tag; all tags are over if it is NULL. */
static bool is_over(const struct holder *holder, const struct tag *tag)
{
	if (!tag || holder->until == MODEL_FOREVER)
		return holder->until != MODEL_FOREVER;
	if (holder->until == tag->time && holder->until_end_all && holder->thread == tag->thread)
		return holder->until_order < tag->order;
	return holder->until <= tag->time;
}

/* What END_ALL and the ends of threads did before @tag. */
static int expire(struct tagging *tagging, const struct tag *tag)
{
	for (;;) {
		size_t first = tagging->holders.n;
		struct holder holder;

		for (size_t i = 0; i < tagging->holders.n; i++)
			if (is_over(&tagging->holders.data[i], tag) &&
			    (first == tagging->holders.n ||
			     tagging->holders.data[i].until < tagging->holders.data[first].until))
				first = i;
		if (first == tagging->holders.n)
			return 0;
		holder = tagging->holders.data[first];
		if (release(tagging, first, holder.until))
			return -ENOMEM;
		if (is_open(tagging))
			continue;
		if (!holder.until_end_all)
			abandon(tagging);
		else if (end_request(tagging, holder.until, holder.thread))
			return -ENOMEM;
	}
}

/* The index of the holder that is @thread, or the number of holders. */
static size_t find_holder(const struct tagging *tagging, uint32_t thread)
{
	size_t at = 0;

	while (at < tagging->holders.n && tagging->holders.data[at].thread != thread)
		at++;
	return at;
}

/* Which of the queues that the request is in @begin takes it from. */
static size_t find_queue(const struct tagging *tagging, const struct tag *begin)
{
	for (size_t i = 0; i < tagging->n_queued; i++)
		if (tagging->queued[i].queue == begin->queue)
			return i;
	return 0;
}

static int on_begin(struct tagging *tagging, const struct tag *tag)
{
	bool has_it = find_holder(tagging, tag->thread) < tagging->holders.n;
	int err = 0;

	if (has_it && tagging->holders.n == 1 && !tagging->n_queued) {
		abandon(tagging);
	} else if (has_it) {
		tagging->model->tags.strays++;
		return 0;
	}
	if (!is_open(tagging)) {
		tagging->begun = tag->time;
		tagging->begun_by = tag->thread;
	}
	if (tagging->n_queued)
		err = dequeue(tagging, find_queue(tagging, tag), tag->time, tag->queue);
	return err ? err : array__push(&tagging->holders, make_holder(tagging, tag));
}

static int on_block(struct tagging *tagging, const struct tag *tag)
{
	size_t at = find_holder(tagging, tag->thread);

	if (!is_open(tagging) || tagging->n_queued == MAX_QUEUES) {
		tagging->model->tags.strays++;
		return 0;
	}
	tagging->queued[tagging->n_queued++] = (struct queued){tag->time, tag->queue};
	return at < tagging->holders.n ? release(tagging, at, tag->time) : 0;
}

static int on_end(struct tagging *tagging, const struct tag *tag)
{
	size_t at = find_holder(tagging, tag->thread);
	bool has_it = at < tagging->holders.n;
	int err = 0;

	if (!is_open(tagging) ||
	    (!has_it && tagging->holders.n && tagging->holders.n + tagging->n_queued > 1)) {
		tagging->model->tags.strays++;
		return 0;
	}
	if (!has_it) {
		/* Of the only thread that has it, or out of the queues. */
		tagging->model->tags.strays += tagging->holders.n;
		while (tagging->n_queued && !err)
			err = dequeue(tagging, 0, tag->time, 0);
		at = 0;
	}
	if (!err && tagging->holders.n)
		err = release(tagging, at, tag->time);
	if (err || is_open(tagging))
		return err;
	return end_request(tagging, tag->time, tag->thread);
}

static int add_tag(struct tagging *tagging, const struct tag *tag)
{
	int err = expire(tagging, tag);

	if (err)
		return err;
	tagging->id = tag->id;
	switch (tag->type) {
	case ANNOTATION_REQUEST_BEGIN:
		return on_begin(tagging, tag);
	case ANNOTATION_REQUEST_BLOCK:
		return on_block(tagging, tag);
	default:
		return on_end(tagging, tag);
	}
}

static int pair(struct tagging *tagging)
{
	const struct tag *tags = tagging->tags.data;
	int err = 0;

	for (size_t i = 0; i < tagging->tags.n && !err; i++) {
		bool is_last = i + 1 == tagging->tags.n || tags[i + 1].id != tags[i].id ||
			       tags[i + 1].process != tags[i].process;

		err = add_tag(tagging, &tags[i]);
		if (!err && is_last)
			err = expire(tagging, NULL);
		if (!err && is_last && is_open(tagging))
			abandon(tagging);
	}
	return err;
}

int tagged_spans__add(struct model *model)
{
	struct tagging tagging = {.model = model};
	int err = collect(&tagging);

	if (!err && tagging.tags.n) {
		tagging.name = model__intern(model, RECORDING_TAGGED);
		qsort(tagging.tags.data, tagging.tags.n, sizeof(*tagging.tags.data), by_id);
		err = tagging.name ? pair(&tagging) : -ENOMEM;
	}
	array__free(&tagging.tags);
	array__free(&tagging.all);
	array__free(&tagging.holders);
	array__free(&tagging.parts);
	return err;
}
