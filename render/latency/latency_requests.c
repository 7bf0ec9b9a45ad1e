// SPDX-License-Identifier: BSD-2-Clause
#include "render/latency/latency_requests.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "render/format.h"
#include "render/header.h"
#include "render/json.h"
#include "render/latency/latency_cause.h"
#include "render/latency/latency_compare.h"

#define ID_WIDTH    10 /* at least, in a list */
#define MOST_PUSHES 5  /* that are listed */

static const double quantiles[] = {0.5, 0.9, 0.99, 0.999, 0.9999, 1};
static const char *const quantile_names[] = {"p50", "p90", "p99", "p99.9", "p99.99", "max"};
static const char *const quantile_keys[] = {"p50_ns",  "p90_ns",   "p99_ns",
					    "p999_ns", "p9999_ns", "max_ns"};
static const char *const types[] = {
	[TIMELINE_CALL] = "call",	    [TIMELINE_WAIT] = "wait",
	[TIMELINE_RUN_QUEUE] = "run queue", [TIMELINE_HOLDER_CALL] = "holder's call",
	[TIMELINE_QUEUE] = "queue",	    [TIMELINE_THREAD] = "thread",
};

const char *latency_requests__type(enum timeline_type type)
{
	return types[type];
}

uint64_t latency_requests__id(const struct model *model, const struct model_span *span)
{
	return span->n_parts ? span->id : (uint64_t)(span - model->spans.data) + 1;
}

/* The number of threads that had the request. */
static size_t count_threads(const struct model *model, const struct model_span *span)
{
	_cleanup_free_ bool *had_it = calloc(model->threads.n, sizeof(*had_it));
	size_t n = 0;

	for (uint32_t i = 0; i < span->n_parts && had_it; i++) {
		uint32_t thread = model->span_parts.data[span->part + i].thread;

		n += thread && !had_it[thread];
		had_it[thread] = true;
	}
	return n;
}

static void put_thread(const struct latency_requests_view *view, uint32_t thread, uint64_t time,
		       FILE *to)
{
	const struct model_thread *of = &view->model->threads.data[thread];

	format__safe(to, model__string(view->model, model_thread__comm(of, time)));
	fprintf(to, "/%u", of->tid);
}

/* The id in @width columns, and what there is to say of the request. */
static void put_request(const struct latency_requests_view *view, const struct model_span *span,
			int width, FILE *to)
{
	const char *peer = model__string(view->model, view->model->objects.data[span->object].name);
	size_t threads = span->n_parts ? count_threads(view->model, span) : 1;
	char length[24], at[24], unread[24];

	fprintf(to, "%*" PRIu64 " %11s  at %s, ", width, latency_requests__id(view->model, span),
		duration__text(model_span__latency(span), length),
		duration__text(span->arrived - view->model->start, at));
	if (span->begun > span->arrived)
		fprintf(to, "read after %s, ", duration__text(span->begun - span->arrived, unread));
	if (threads > 1)
		fprintf(to, "%zu threads, ended by ", threads);
	put_thread(view, span->thread, span->ended, to);
	if (*peer) {
		fputs(", from ", to);
		format__safe(to, peer);
	}
	fputc('\n', to);
}

static void put_wait(const struct latency_requests_view *view, const struct timeline_item *item,
		     FILE *to)
{
	char text[256];

	kind__describe(view->model, (enum wait_kind)item->kind, item->object, text, sizeof(text));
	fputs("[waits: ", to);
	format__safe(to, text);
	/* Of a sleep, it says nothing that is new. */
	if (item->cause.type != CAUSE_TIMER ||
	    kind__info((enum wait_kind)item->kind)->ender != KIND_ENDER_TIMER)
		latency_cause__put(view->model, ", ", item->cause, item->name, item->end, to);
	fputc(']', to);
}

static void put_item(const struct latency_requests_view *view, const struct timeline_item *item,
		     FILE *to)
{
	char at[24], length[24];

	fprintf(to, "%12s %11s  %*s", duration__text(item->begin - view->shown->arrived, at),
		duration__text(item->end - item->begin, length), (int)(2 * item->depth), "");
	switch ((enum timeline_type)item->type) {
	case TIMELINE_HOLDER_CALL:
		fputs("| ", to);
		put_thread(view, item->thread, item->begin, to);
		fputs(": ", to);
		/* Fall through. */
		__attribute__((fallthrough));
	case TIMELINE_CALL:
		format__safe(to, item->name ? model__string(view->model, item->name) : "(no name)");
		break;
	case TIMELINE_WAIT:
		put_wait(view, item, to);
		break;
	case TIMELINE_RUN_QUEUE:
		fputs("[run queue", to);
		if (item->instead) {
			fputs(", for ", to);
			put_thread(view, item->instead, item->begin, to);
		}
		fputc(']', to);
		break;
	case TIMELINE_QUEUE:
		fputs("[in a queue", to);
		if (item->queue)
			fprintf(to, ": 0x%" PRIx64, item->queue);
		fputc(']', to);
		break;
	case TIMELINE_THREAD:
		put_thread(view, item->thread, item->begin, to);
		fputc(':', to);
		break;
	}
	fputc('\n', to);
}

static void put_timeline(const struct latency_requests_view *view, FILE *to)
{
	fputs("#\n# request:\n", to);
	put_request(view, view->shown, ID_WIDTH, to);
	fprintf(to, "#\n#%11s %11s\n", "after", "length");
	for (size_t i = 0; i < view->timeline->items.n; i++)
		put_item(view, &view->timeline->items.data[i], to);
	if (!view->timeline->items.n)
		fputs("# no call in it was longer than the resolution, and it did not wait\n", to);
}

/* A program may choose ids of up to 20 digits. */
static int width_of_ids(const struct latency_requests_view *view,
			const struct requests_group *group)
{
	int widest = ID_WIDTH;

	for (size_t i = 0; i < group->n; i++) {
		const struct model_span *span = requests__at(view->requests, group->first + i);
		int width = snprintf(NULL, 0, "%" PRIu64, latency_requests__id(view->model, span));

		widest = width > widest ? width : widest;
	}
	return widest;
}

static const char *push_name(const struct model_span *push)
{
	return push->flags & SPAN_PUSH ? "push" : "late";
}

static size_t count_pushes(const struct requests *requests, enum span_flags flag)
{
	size_t n = 0;

	for (size_t i = 0; i < requests->pushes.n; i++)
		n += (requests__push_at(requests, i)->flags & flag) != 0;
	return n;
}

/* The pushes among those of @requests that have @flag: how many, their median and the longest. */
static void put_push_line(const struct requests *requests, enum span_flags flag, const char *label,
			  const char *what, FILE *to)
{
	char line[256], p50[24], max[24];
	uint64_t longest = 0, median = 0;
	size_t n = count_pushes(requests, flag), seen = 0;

	for (size_t i = 0; i < requests->pushes.n; i++) {
		const struct model_span *push = requests__push_at(requests, i);

		if (!(push->flags & flag))
			continue;
		longest = model_span__latency(push);
		if (seen++ == (n - 1) / 2)
			median = longest;
	}
	if (!n)
		return;
	snprintf(line, sizeof(line), "%zu, p50 %s, max %s: %s", n, duration__text(median, p50),
		 duration__text(longest, max), what);
	header__line(to, label, line);
}

static void put_push_lines(const struct requests *requests, FILE *to)
{
	put_push_line(requests, SPAN_PUSH, "pushes",
		      "from other connections' data until it was sent; they answer no request", to);
	put_push_line(requests, SPAN_LATE, "late",
		      "from the client's last data until something was sent after idleness, by a "
		      "timer; not counted as requests",
		      to);
}

static void put_pushes(const struct latency_requests_view *view, FILE *to)
{
	const struct requests *requests = view->requests;
	size_t n = requests->pushes.n;

	if (n)
		fprintf(to, "#\n#%*s %11s\n", ID_WIDTH - 1, "pushes", "length");
	for (size_t i = 0; i < n && i < MOST_PUSHES && i < view->slowest; i++) {
		const struct model_span *push = requests__push_at(requests, n - 1 - i);
		const char *peer =
			model__string(view->model, view->model->objects.data[push->object].name);
		char length[24], at[24];

		fprintf(to, "%*s %11s  at %s, ", ID_WIDTH, push_name(push),
			duration__text(model_span__latency(push), length),
			duration__text(push->arrived - view->model->start, at));
		put_thread(view, push->thread, push->ended, to);
		if (*peer) {
			fputs(", to ", to);
			format__safe(to, peer);
		}
		fputc('\n', to);
	}
}

int latency_requests__text(const struct latency_requests_view *view, FILE *to)
{
	const struct requests *requests = view->requests;
	struct requests_group slowest = requests__slowest(requests, view->slowest);
	int width = width_of_ids(view, &slowest);
	char line[256] = "", text[24];

	header__recording(view->model, to);
	header__diagnostics(view->model, to);
	format__append(line, sizeof(line), "%zu", requests->spans.n);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++)
		format__append(line, sizeof(line), ", %s %s", quantile_names[i],
			       duration__text(requests__quantile(requests, quantiles[i]), text));
	header__line(to, "requests", line);
	put_push_lines(requests, to);
	if (view->comparison)
		latency_compare__text(view->model, view->comparison, to);
	if (view->shown)
		put_timeline(view, to);
	if (view->comparison || view->shown)
		return 0;
	fprintf(to, "#\n#%*s %11s\n", width - 1, "id", "length");
	for (size_t i = slowest.n; i-- > 0;)
		put_request(view, requests__at(requests, slowest.first + i), width, to);
	put_pushes(view, to);
	return 0;
}

/* JSON has no numbers beyond those of int64_t. */
static json_t *id_json(uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	return id > INT64_MAX ? json_string(text) : json__number(id);
}

static json_t *request_json(const struct latency_requests_view *view, const struct model_span *span)
{
	const struct model *model = view->model;
	const struct model_thread *thread = &model->threads.data[span->thread];
	uint32_t peer = model->objects.data[span->object].name;
	json_t *entry = json_object();

	json_object_set_new(entry, "id", id_json(latency_requests__id(model, span)));
	json_object_set_new(entry, "source", json__string(model, span->name));
	json_object_set_new(entry, "begin_ns", json__number(span->arrived - model->start));
	json_object_set_new(entry, "length_ns", json__number(model_span__latency(span)));
	json_object_set_new(entry, "unread_ns", json__number(span->begun - span->arrived));
	json_object_set_new(entry, "tid", json__number(thread->tid));
	json_object_set_new(entry, "peer", peer ? json__string(model, peer) : json_null());
	return entry;
}

static json_t *tid_json(const struct model *model, uint32_t thread)
{
	return thread ? json__number(model->threads.data[thread].tid) : json_null();
}

static json_t *item_json(const struct latency_requests_view *view, const struct timeline_item *item)
{
	const struct model *model = view->model;
	json_t *entry = json_object();
	char object[256];

	json_object_set_new(entry, "type", json_string(types[item->type]));
	json_object_set_new(entry, "begin_ns", json__number(item->begin - view->shown->arrived));
	json_object_set_new(entry, "length_ns", json__number(item->end - item->begin));
	json_object_set_new(entry, "depth", json__number(item->depth));
	json_object_set_new(entry, "tid", tid_json(model, item->thread));
	json_object_set_new(entry, "function",
			    item->name ? json__string(model, item->name) : json_null());
	if (item->type == TIMELINE_WAIT) {
		object__text(model, item->object, object, sizeof(object));
		json_object_set_new(entry, "kind",
				    json_string(kind__name((enum wait_kind)item->kind)));
		json_object_set_new(entry, "object", *object ? json__text(object) : json_null());
		latency_cause__json(model, item->cause, entry);
	}
	if (item->type == TIMELINE_RUN_QUEUE)
		json_object_set_new(entry, "for", tid_json(model, item->instead));
	if (item->type == TIMELINE_QUEUE) {
		snprintf(object, sizeof(object), "0x%" PRIx64, item->queue);
		json_object_set_new(entry, "queue",
				    item->queue ? json_string(object) : json_null());
	}
	return entry;
}

json_t *latency_requests__timeline(const struct latency_requests_view *view)
{
	json_t *entry = request_json(view, view->shown), *items = json_array();

	for (size_t i = 0; i < view->timeline->items.n; i++)
		json_array_append_new(items, item_json(view, &view->timeline->items.data[i]));
	json_object_set_new(entry, "items", items);
	return entry;
}

/* The longest first. */
static json_t *pushes_json(const struct latency_requests_view *view, size_t most)
{
	const struct requests *requests = view->requests;
	json_t *list = json_array();

	for (size_t i = requests->pushes.n; i-- && json_array_size(list) < most;) {
		const struct model_span *push = requests__push_at(requests, i);
		json_t *entry = request_json(view, push);

		json_object_del(entry, "id");
		json_object_set_new(entry, "why", json_string(push_name(push)));
		json_array_append_new(list, entry);
	}
	return list;
}

json_t *latency_requests__document(const struct latency_requests_view *view, size_t most)
{
	const struct requests *requests = view->requests;
	json_t *document = json_object(), *list = json_array(), *latency = json_object();
	size_t left_out = requests->spans.n > most ? requests->spans.n - most : 0;

	json__put_recording(document, view->model);
	json_object_set_new(document, "count", json__number(requests->spans.n));
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++)
		json_object_set_new(latency, quantile_keys[i],
				    json__number(requests__quantile(requests, quantiles[i])));
	json_object_set_new(document, "latency", latency);
	for (size_t i = requests->spans.n; i-- > left_out;)
		json_array_append_new(list, request_json(view, requests__at(requests, i)));
	json_object_set_new(document, "requests", list);
	json_object_set_new(document, "push_count",
			    json__number(count_pushes(requests, SPAN_PUSH)));
	json_object_set_new(document, "late_count",
			    json__number(count_pushes(requests, SPAN_LATE)));
	json_object_set_new(document, "pushes", pushes_json(view, most));
	if (view->shown)
		json_object_set_new(document, "timeline", latency_requests__timeline(view));
	if (view->comparison)
		json_object_set_new(document, "compare",
				    latency_compare__json(view->model, view->comparison));
	return document;
}

int latency_requests__json(const struct latency_requests_view *view, FILE *to)
{
	return json__write(latency_requests__document(view, SIZE_MAX), to);
}
