// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>

#include "render/html/page_recording.h"

#define CHUNK_ROWS 65536

/* Columns of intervals and samples, in the order of docs/page.md. */
enum interval_column {
	INTERVAL_GAP,
	INTERVAL_BLOCKED,
	INTERVAL_RUNQ,
	INTERVAL_STACK,
	INTERVAL_WAIT,
	INTERVAL_OBJECT,
	INTERVAL_WAKER,
	INTERVAL_WAKER_STACK,
	INTERVAL_BLOCKED_POINTS,
	INTERVAL_RUNQ_POINTS,
	INTERVAL_STOLEN,
	INTERVAL_COLUMNS,
};

enum sample_column {
	SAMPLE_GAP,
	SAMPLE_POINTS,
	SAMPLE_STACK,
	SAMPLE_COLUMNS,
};

/* A chunk that is being filled. */
struct chunk {
	struct page_recording *page;
	const char *type; /* "intervals" */
	size_t columns;
	size_t number;
	struct table table;
	json_t *runs;
	size_t rows;
	size_t run_rows;      /* of @thread */
	uint32_t thread;      /* 0: none */
	uint64_t before;      /* what column `gap` counts from */
	uint32_t stack;	      /* of the row before */
	struct recent next;   /* stacks after a stack, of all chunks */
	struct recent wakers; /* stacks of wakers of a stack */
	uint64_t from;
	uint64_t until;
};

static void end_run(struct chunk *chunk)
{
	if (chunk->run_rows)
		json_array_append_new(chunk->runs, json_pack("[i,I]", (int)chunk->thread,
							     (json_int_t)chunk->run_rows));
	chunk->run_rows = 0;
	chunk->before = 0;
	chunk->stack = 0;
}

static int end_chunk(struct chunk *chunk)
{
	struct page_recording *page = chunk->page;
	char part[32], name[48];
	json_t *entry;
	int err;

	end_run(chunk);
	if (!chunk->rows)
		return 0;
	snprintf(part, sizeof(part), "%s.%zu", chunk->type, chunk->number++);
	page__block_name(page, part, name);
	err = table__write(&chunk->table, chunk->columns, name, page->to);
	entry = json_pack("{s:s, s:s, s:o, s:I, s:I}", "block", name, "type", chunk->type, "runs",
			  chunk->runs, "from", (json_int_t)chunk->from, "until",
			  (json_int_t)chunk->until);
	chunk->runs = json_array();
	if (!chunk->runs || json_array_append_new(page->chunks, entry))
		err = -ENOMEM;
	chunk->rows = 0;
	chunk->from = UINT64_MAX;
	chunk->until = 0;
	return err;
}

/* Makes place for a row of @thread in [@from, @until). */
static int begin_row(struct chunk *chunk, uint32_t thread, uint64_t from, uint64_t until)
{
	int err = chunk->rows == CHUNK_ROWS ? end_chunk(chunk) : 0;

	if (thread != chunk->thread)
		end_run(chunk);
	chunk->thread = thread;
	chunk->rows++;
	chunk->run_rows++;
	chunk->from = from < chunk->from ? from : chunk->from;
	chunk->until = until > chunk->until ? until : chunk->until;
	return err;
}

/* The number of the wait's description in the index, or -ENOMEM. */
static int64_t wait_number(struct page_recording *page, uint32_t thread,
			   const struct model_interval *interval)
{
	const struct html_recording *from = page->from;
	size_t index = (size_t)(interval - page->model->threads.data[thread].intervals.data);
	enum wait_kind kind = wait_causes__kind(from->causes, interval);
	enum idle_reason idle = idle_waits__reason(from->idle, thread, index);
	bool preempted = interval->flags & INTERVAL_PREEMPTED;
	const uint8_t key[] = {interval->class, (uint8_t)kind, (uint8_t)idle, preempted};
	bool fresh;
	int64_t id = intern__id(&page->waits_seen, key, sizeof(key), &fresh);

	if (id >= 0 && fresh &&
	    json_array_append_new(page->waits,
				  json_pack("{s:i, s:s, s:s, s:b}", "class", interval->class,
					    "kind", kind__name(kind), "idle",
					    idle_reason__name(idle), "preempted", preempted)))
		return -ENOMEM;
	return id;
}

/* The number of the object in the index, or -ENOMEM. */
static int64_t object_number(struct page_recording *page, uint32_t process, uint32_t object)
{
	uint64_t key = (uint64_t)process << 32 | object;
	const uint64_t *known = map64__get(&page->objects_seen, key);
	uint32_t variable;
	char text[512];
	int64_t number;

	if (!object)
		return 0;
	if (known)
		return (int64_t)*known;
	variable = model__variable(page->model, process, object);
	if (variable)
		snprintf(text, sizeof(text), "%s", model__string(page->model, variable));
	else
		object__text(page->model, object, text, sizeof(text));
	number = page_strings__id(&page->objects, text);
	if (number >= 0 && !map64__put(&page->objects_seen, key, (uint64_t)number))
		return -ENOMEM;
	return number;
}

/* Stolen time of the run before @interval, at most its length, in units. */
static uint64_t stolen_before(const struct model *model, uint32_t thread,
			      const struct model_interval *interval)
{
	const struct model_thread *of = &model->threads.data[thread];
	struct model_run run;

	if (!model_thread__run_before(of, (size_t)(interval - of->intervals.data), &run))
		return 0;
	return page__length(model, run.stolen_ns);
}

static int put_interval(struct chunk *chunk, uint32_t thread, const struct model_interval *interval)
{
	struct page_recording *page = chunk->page;
	const struct model *model = page->model;
	uint64_t t_wake = interval->t_out + interval->blocked_ns;
	uint64_t from = page__time(model, interval->t_out), woken = page__time(model, t_wake);
	uint64_t until = page__time(model, t_wake + interval->runq_ns);
	int64_t waker_stack;
	int64_t stack = page__stack(page, interval->kernel, interval->user, true);
	int64_t wait = wait_number(page, thread, interval);
	int64_t object = object_number(page, model->threads.data[thread].process,
				       model_interval__object(interval));
	int64_t waker = page_wakers__row(page, thread, interval, &waker_stack);
	struct table *table = &chunk->table;
	int err = begin_row(chunk, thread, from, until);
	int64_t next, by;

	if (stack < 0 || wait < 0 || object < 0 || waker < 0)
		return -ENOMEM;
	next = recent__code(&chunk->next, chunk->stack, (uint32_t)stack);
	by = recent__code(&chunk->wakers, (uint32_t)stack, (uint32_t)waker_stack);
	if (next < 0 || by < 0)
		return -ENOMEM;
	table__put_signed(table, INTERVAL_GAP, (int64_t)(from - chunk->before));
	table__put(table, INTERVAL_BLOCKED, woken - from);
	table__put(table, INTERVAL_RUNQ, until - woken);
	table__put(table, INTERVAL_STACK, (uint64_t)next);
	table__put(table, INTERVAL_WAIT, (uint64_t)wait);
	table__put(table, INTERVAL_OBJECT, (uint64_t)object);
	table__put(table, INTERVAL_WAKER, (uint64_t)waker);
	table__put(table, INTERVAL_WAKER_STACK, (uint64_t)by);
	if (!model->trace) {
		table__put(table, INTERVAL_BLOCKED_POINTS, interval->blocked_points);
		table__put(table, INTERVAL_RUNQ_POINTS, interval->runq_points);
	} else {
		table__put(table, INTERVAL_STOLEN, stolen_before(model, thread, interval));
	}
	chunk->before = until;
	chunk->stack = (uint32_t)stack;
	return err;
}

static int put_sample(struct chunk *chunk, uint32_t thread, const struct model_sample *sample)
{
	struct page_recording *page = chunk->page;
	uint64_t time = page__time(page->model, sample->time);
	int64_t stack = page__stack(page, sample->kernel, sample->user, false);
	int err = begin_row(chunk, thread, time, time);

	if (stack < 0)
		return -ENOMEM;
	table__put_signed(&chunk->table, SAMPLE_GAP, (int64_t)(time - chunk->before));
	table__put(&chunk->table, SAMPLE_POINTS, sample->weight);
	table__put(&chunk->table, SAMPLE_STACK, (uint64_t)stack);
	chunk->before = time;
	return err;
}

static int end_chunks(struct chunk *chunk, int err)
{
	err = err ? err : end_chunk(chunk);
	json_decref(chunk->runs);
	table__free(&chunk->table);
	array__free(&chunk->next.pairs);
	array__free(&chunk->wakers.pairs);
	return err;
}

int page_intervals__write(struct page_recording *page)
{
	const struct model *model = page->model;
	struct chunk chunk = {
		.page = page,
		.type = "intervals",
		.columns = INTERVAL_COLUMNS,
		.runs = json_array(),
		.from = UINT64_MAX,
	};
	int err = chunk.runs ? 0 : -ENOMEM;

	for (uint32_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		for (size_t i = 0; i < thread->intervals.n && !err; i++)
			err = put_interval(&chunk, t, &thread->intervals.data[i]);
	}
	return end_chunks(&chunk, err);
}

int page_samples__write(struct page_recording *page)
{
	const struct model *model = page->model;
	struct chunk chunk = {
		.page = page,
		.type = "samples",
		.columns = SAMPLE_COLUMNS,
		.runs = json_array(),
		.from = UINT64_MAX,
	};
	int err = chunk.runs ? 0 : -ENOMEM;

	for (uint32_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		for (size_t i = 0; i < thread->samples.n && !err; i++)
			if (thread->samples.data[i].weight)
				err = put_sample(&chunk, t, &thread->samples.data[i]);
	}
	return end_chunks(&chunk, err);
}
