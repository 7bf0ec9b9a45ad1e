// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/request_comparison.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

/* From this percentile on, a group is the requests at and above it. */
#define TAIL_PERCENTILE 90.0

struct making {
	const struct model *model;
	const struct wait_causes *causes;
	struct request_comparison *comparison;
	enum comparison_side_index side;
	struct map64 index; /* hash of a row to its index; linear probing on collisions */
};

/* A request's timeline, with the items that lie at one time after the other. */
struct sweep {
	const struct timeline *timeline;
	ARRAY(uint32_t) active; /* items that lie there */
	size_t next;		/* item that begins next */
};

static bool is_same(const struct comparison_row *one, const struct comparison_row *other)
{
	return one->is_rest == other->is_rest && one->type == other->type &&
	       one->kind == other->kind && one->name == other->name &&
	       one->caller == other->caller && one->variable == other->variable &&
	       one->object == other->object;
}

/* Sets *@index to that of the row like @wanted; adds one if there is none. */
static int find_row(struct making *making, const struct comparison_row *wanted, uint32_t *index)
{
	uint64_t key = hash__add(wanted->type | (uint64_t)wanted->is_rest << 8, wanted->kind);

	key = hash__add(hash__add(key, wanted->name), wanted->caller);
	key = hash__add(key, wanted->variable);
	for (key = hash__add(key, wanted->object);; key++) {
		size_t n = making->comparison->rows.n;
		uint64_t *at = map64__put(&making->index, key, n);

		if (!at)
			return -ENOMEM;
		*index = (uint32_t)*at;
		if (*at == n)
			return array__push(&making->comparison->rows, *wanted);
		if (is_same(&making->comparison->rows.data[*at], wanted))
			return 0;
	}
}

/*
 * Waits for different locks or files are different rows. Waits for different connections are one
 * row, as each client has a connection of its own.
 */
static void set_wait(const struct making *making, const struct timeline_item *item,
		     struct comparison_row *row)
{
	const struct model *model = making->model;
	uint32_t process = model->threads.data[item->thread].process;

	row->kind = item->kind;
	switch (model->objects.data[item->object].type) {
	case OBJECT_FUTEX:
		row->variable = model__variable(model, process, item->object);
		row->object = row->variable ? 0 : item->object;
		break;
	case OBJECT_KLOCK:
	case OBJECT_FILE:
		row->object = item->object;
		break;
	default:
		break;
	}
	/* Other waits may end in an interrupt, in whatever function runs there. */
	if (kind__info((enum wait_kind)item->kind)->role == KIND_ROLE_LOCK)
		row->name = item->name;
}

static struct comparison_row row_of(const struct making *making, const struct timeline_item *item,
				    uint32_t caller)
{
	struct comparison_row row = {.type = item->type, .caller = caller};

	if (item->type == TIMELINE_WAIT)
		set_wait(making, item, &row);
	else if (item->type == TIMELINE_CALL)
		row.name = item->name;
	return row;
}

/*
 * What the thread waits for says more than the call that it waits in, and both more than where the
 * request lies meanwhile. What a lock's holder does is a part of the wait for it.
 */
static int precedence(const struct timeline_item *item)
{
	switch ((enum timeline_type)item->type) {
	case TIMELINE_WAIT:
	case TIMELINE_RUN_QUEUE:
		return 3;
	case TIMELINE_CALL:
		return 2;
	case TIMELINE_HOLDER_CALL:
		return 0;
	default:
		return 1;
	}
}

/*
 * The item that counts at a time: of those of the highest precedence, the one that begins last; at
 * one time outer calls come first. @end is brought forward to where that may change.
 */
static const struct timeline_item *counted(struct sweep *sweep, uint64_t time, uint64_t *end)
{
	const struct timeline_item *items = sweep->timeline->items.data, *best = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < sweep->active.n; i++) {
		const struct timeline_item *item = &items[sweep->active.data[i]];

		if (item->end <= time)
			continue;
		sweep->active.data[kept++] = sweep->active.data[i];
		*end = item->end < *end ? item->end : *end;
		if (!best || precedence(item) >= precedence(best))
			best = item;
	}
	sweep->active.n = kept;
	return best;
}

static int add_times(struct making *making, const struct model_span *span,
		     const struct timeline *timeline, const uint32_t *rows, uint32_t rest)
{
	struct sweep sweep = {.timeline = timeline};
	const struct timeline_item *items = timeline->items.data;
	size_t n = timeline->items.n;
	int err = 0;

	for (uint64_t time = span->arrived, end; time < span->ended && !err; time = end) {
		const struct timeline_item *item;

		for (; sweep.next < n && items[sweep.next].begin <= time && !err; sweep.next++)
			if (precedence(&items[sweep.next]))
				err = array__push(&sweep.active, (uint32_t)sweep.next);
		end = sweep.next < n && items[sweep.next].begin < span->ended
			      ? items[sweep.next].begin
			      : span->ended;
		item = counted(&sweep, time, &end);
		making->comparison->rows.data[item ? rows[item - items] : rest].ns[making->side] +=
			end - time;
	}
	array__free(&sweep.active);
	return err;
}

/* The middle of a wait: begins and ends of calls are known less exactly than those of waits. */
struct middle {
	uint64_t time;
	uint32_t item;
};

static int by_time(const void *a, const void *b)
{
	const struct middle *one = a, *other = b;

	return one->time < other->time ? -1 : one->time > other->time;
}

/* The function of the innermost call of @thread at @time. */
static int find_caller(struct sweep *sweep, uint64_t time, uint32_t thread, uint32_t *name)
{
	const struct timeline_item *items = sweep->timeline->items.data;
	size_t n = sweep->timeline->items.n, kept = 0;

	for (; sweep->next < n && items[sweep->next].begin <= time; sweep->next++)
		if (items[sweep->next].type == TIMELINE_CALL &&
		    array__push(&sweep->active, (uint32_t)sweep->next))
			return -ENOMEM;
	for (size_t i = 0; i < sweep->active.n; i++) {
		const struct timeline_item *item = &items[sweep->active.data[i]];

		if (item->end <= time)
			continue;
		sweep->active.data[kept++] = sweep->active.data[i];
		if (item->thread == thread)
			*name = item->name;
	}
	sweep->active.n = kept;
	return 0;
}

/* Sets the functions in which the waits of @timeline lie, by item. */
static int find_callers(const struct timeline *timeline, uint32_t *callers)
{
	struct sweep sweep = {.timeline = timeline};
	ARRAY(struct middle) waits = {};
	int err = 0;

	for (size_t i = 0; i < timeline->items.n && !err; i++) {
		const struct timeline_item *item = &timeline->items.data[i];
		struct middle middle = {item->begin + (item->end - item->begin) / 2, (uint32_t)i};

		if (item->type == TIMELINE_WAIT)
			err = array__push(&waits, middle);
	}
	if (waits.n)
		qsort(waits.data, waits.n, sizeof(*waits.data), by_time);
	for (size_t i = 0; i < waits.n && !err; i++) {
		uint32_t item = waits.data[i].item;

		err = find_caller(&sweep, waits.data[i].time, timeline->items.data[item].thread,
				  &callers[item]);
	}
	array__free(&waits);
	array__free(&sweep.active);
	return err;
}

static int add_request(struct making *making, const struct model_span *span, uint32_t rest)
{
	_cleanup_free_ uint32_t *rows = NULL, *callers = NULL;
	struct timeline timeline = {};
	int err = timeline__make(making->model, making->causes, span, &timeline);

	if (!err) {
		rows = calloc(timeline.items.n + 1, sizeof(*rows));
		callers = calloc(timeline.items.n + 1, sizeof(*callers));
		err = rows && callers ? find_callers(&timeline, callers) : -ENOMEM;
	}
	for (size_t i = 0; i < timeline.items.n && !err; i++) {
		const struct comparison_row row =
			row_of(making, &timeline.items.data[i], callers[i]);

		if (!precedence(&timeline.items.data[i]))
			continue;
		err = find_row(making, &row, &rows[i]);
		if (!err)
			making->comparison->rows.data[rows[i]].n[making->side]++;
	}
	err = err ? err : add_times(making, span, &timeline, rows, rest);
	timeline__free(&timeline);
	return err;
}

static int add_side(struct making *making, const struct requests *requests, uint32_t rest)
{
	struct comparison_side *side = &making->comparison->sides[making->side];
	int err = 0;

	for (size_t i = 0; i < side->group.n && !err; i++) {
		const struct model_span *span = requests__at(requests, side->group.first + i);

		side->ns += model_span__latency(span);
		err = add_request(making, span, rest);
	}
	return err;
}

double request_comparison__mean(const struct request_comparison *comparison,
				enum comparison_side_index side, uint64_t sum)
{
	size_t n = comparison->sides[side].group.n;

	return n ? (double)sum / (double)n : 0;
}

static double difference(const struct comparison_row *row, const struct request_comparison *in)
{
	return request_comparison__mean(in, COMPARISON_TO, row->ns[COMPARISON_TO]) -
	       request_comparison__mean(in, COMPARISON_FROM, row->ns[COMPARISON_FROM]);
}

static int by_difference(const void *a, const void *b, void *context)
{
	double one = difference(a, context), other = difference(b, context);

	return one > other ? -1 : one < other;
}

static struct requests_group group_at(const struct requests *requests, double percentile,
				      enum comparison_side_index side)
{
	struct requests_group group;

	if (side == COMPARISON_FROM || percentile < TAIL_PERCENTILE)
		return requests__around(requests, percentile / 100, COMPARISON_REQUESTS);
	group = requests__above(requests, percentile / 100);
	if (group.n > COMPARISON_REQUESTS)
		group.n = COMPARISON_REQUESTS;
	return group;
}

int request_comparison__make(const struct requests *requests, const struct wait_causes *causes,
			     const double percentiles[COMPARISON_SIDES],
			     struct request_comparison *comparison)
{
	struct making making = {
		.model = requests->model, .causes = causes, .comparison = comparison};
	const struct comparison_row not_covered = {.is_rest = true};
	uint32_t rest;
	int err = find_row(&making, &not_covered, &rest);

	for (int side = 0; side < COMPARISON_SIDES && !err; side++) {
		making.side = (enum comparison_side_index)side;
		comparison->sides[side].percentile = percentiles[side];
		comparison->sides[side].group = group_at(requests, percentiles[side], making.side);
		err = add_side(&making, requests, rest);
	}
	map64__free(&making.index);
	if (!err)
		qsort_r(comparison->rows.data, comparison->rows.n, sizeof(*comparison->rows.data),
			by_difference, comparison);
	return err;
}

void request_comparison__free(struct request_comparison *comparison)
{
	array__free(&comparison->rows);
}
