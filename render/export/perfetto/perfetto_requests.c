// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests that --request of dwell record named: slices on tracks of their source, as many as are
 * in progress at a time, because slices of one track must nest; and their number as a counter.
 */
#include <errno.h>
#include <stdlib.h>

#include "render/export/perfetto/perfetto_packets.h"

struct request_lane {
	uint32_t name;	/* string: the source */
	uint64_t until; /* it is free from then on */
};

struct request_source {
	uint32_t name;
	int64_t in_progress;
};

struct request_writer {
	struct perfetto_writer *writer;
	const struct model *model;
	ARRAY(struct request_lane) lanes;
	ARRAY(struct request_source) sources;
	uint32_t *by_begin; /* spans by arrival */
	uint32_t *by_end;
	size_t n;
	size_t counted; /* of by_begin */
};

static int compare_begins(const void *a, const void *b, void *model)
{
	const struct model_span *spans = ((const struct model *)model)->spans.data;
	uint64_t x = spans[*(const uint32_t *)a].arrived, y = spans[*(const uint32_t *)b].arrived;

	return x < y ? -1 : x > y;
}

static void write_track(struct request_writer *requests, uint64_t track, uint32_t name,
			bool counter)
{
	struct perfetto_writer *writer = requests->writer;
	char text[256];
	size_t mark;

	snprintf(text, sizeof(text), "%s%s", model__string(requests->model, name),
		 counter ? " in progress" : "");
	protobuf__varint(&writer->event, 1, track);
	protobuf__string(&writer->event, 2, export_text(&writer->text, text));
	if (counter) {
		mark = protobuf__begin(&writer->event, 8);
		protobuf__varint(&writer->event, 3, 2); /* UNIT_COUNT */
		protobuf__end(&writer->event, mark);
	}
	perfetto__packet(writer, PERFETTO_TRACK_DESCRIPTOR, 0);
}

/* A track of @span's source that is free when it arrives. */
static int64_t take_lane(struct request_writer *requests, const struct model_span *span)
{
	const struct request_lane fresh = {.name = span->name};
	size_t i = 0;

	while (i < requests->lanes.n && (requests->lanes.data[i].name != span->name ||
					 requests->lanes.data[i].until > span->arrived))
		i++;
	if (i == requests->lanes.n) {
		if (array__push(&requests->lanes, fresh))
			return -ENOMEM;
		write_track(requests, perfetto__track(TRACK_REQUESTS, (uint32_t)i), span->name,
			    false);
	}
	requests->lanes.data[i].until = span->ended;
	return (int64_t)i;
}

static int write_slice(struct request_writer *requests, const struct model_span *span)
{
	struct perfetto_writer *writer = requests->writer;
	const struct model *model = requests->model;
	int64_t lane = take_lane(requests, span);
	const struct wait_cause thread = {.type = CAUSE_THREAD, .id = span->thread};
	uint64_t track;

	if (lane < 0)
		return (int)lane;
	track = perfetto__track(TRACK_REQUESTS, (uint32_t)lane);
	perfetto__begin_event(writer, PERFETTO_BEGIN, track);
	perfetto__put_name(writer, export_text(&writer->text, model__string(model, span->name)));
	perfetto__put_category(writer, "request");
	perfetto__put_annotation(
		writer, "thread",
		export_waits__cause_text(&writer->waits, thread, span->ended, &writer->waker));
	perfetto__put_number(writer, "queued_ns", span->begun - span->arrived);
	if (span->n_parts)
		perfetto__put_number(writer, "number", span->id);
	perfetto__packet(writer, PERFETTO_TRACK_EVENT, span->arrived);
	perfetto__slice_end(writer, track, span->ended);
	return perfetto__error(writer);
}

static int count(struct request_writer *requests, uint32_t name, uint64_t time, int change)
{
	struct perfetto_writer *writer = requests->writer;
	const struct request_source fresh = {.name = name};
	uint64_t track;
	size_t i = 0;

	while (i < requests->sources.n && requests->sources.data[i].name != name)
		i++;
	track = perfetto__track(TRACK_REQUEST_COUNT, (uint32_t)i);
	if (i == requests->sources.n) {
		if (array__push(&requests->sources, fresh))
			return -ENOMEM;
		write_track(requests, track, name, true);
	}
	requests->sources.data[i].in_progress += change;
	perfetto__begin_event(writer, PERFETTO_COUNTER, track);
	protobuf__varint(&writer->event, 30, (uint64_t)requests->sources.data[i].in_progress);
	perfetto__packet(writer, PERFETTO_TRACK_EVENT, time);
	return 0;
}

/* Counts request number @ended of those by end, and those that arrived before its end. */
static int write_counts(struct request_writer *requests, size_t ended)
{
	const struct model_span *spans = requests->model->spans.data;
	const struct model_span *end = &spans[requests->by_end[ended]];
	int err = 0;

	for (; requests->counted < requests->n && !err; requests->counted++) {
		const struct model_span *next = &spans[requests->by_begin[requests->counted]];

		if (next->arrived > end->ended)
			break;
		err = count(requests, next->name, next->arrived, 1);
	}
	return err ? err : count(requests, end->name, end->ended, -1);
}

/* Those of recorded threads, within the window. */
static int find(struct request_writer *requests)
{
	const struct model *model = requests->model;
	struct sample_filter filter = *requests->writer->export->filter;
	uint64_t from = model->start + filter.from;
	uint64_t until = filter.until ? model->start + filter.until : MODEL_FOREVER;

	filter.helpers = true;
	requests->by_begin = calloc(model->spans.n + 1, sizeof(uint32_t));
	requests->by_end = calloc(model->spans.n + 1, sizeof(uint32_t));
	if (!requests->by_begin || !requests->by_end)
		return -ENOMEM;
	for (size_t i = 0; i < model->spans.n && !filter.classes; i++) {
		const struct model_span *span = &model->spans.data[i];

		if (span->ended < from || span->arrived >= until ||
		    !sample_filter__thread(&filter, &model->threads.data[span->thread]))
			continue;
		requests->by_begin[requests->n] = requests->by_end[requests->n] = (uint32_t)i;
		requests->n++;
	}
	qsort_r(requests->by_begin, requests->n, sizeof(uint32_t), compare_begins, (void *)model);
	return 0;
}

int perfetto_requests__write(struct perfetto_writer *writer)
{
	struct request_writer requests = {.writer = writer, .model = writer->model};
	int err = find(&requests);

	for (size_t i = 0; i < requests.n && !err; i++)
		err = write_slice(&requests, &requests.model->spans.data[requests.by_begin[i]]);
	for (size_t i = 0; i < requests.n && !err; i++)
		err = write_counts(&requests, i);
	array__free(&requests.lanes);
	array__free(&requests.sources);
	free(requests.by_begin);
	free(requests.by_end);
	return err;
}
