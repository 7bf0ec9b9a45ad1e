// SPDX-License-Identifier: BSD-2-Clause
/* Requests: their latencies, the slow ones, and what these did that others did not. */
#include <stdio.h>

#include "base/duration.h"
#include "render/format.h"
#include "render/header.h"
#include "render/json.h"
#include "render/path/path_views.h"

/* So many of the requests shown are listed. */
#define MAX_LISTED 10

static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};
static const char *const quantile_names[] = {"median", "90%", "99%", "99.9%"};
static const char *const quantile_keys[] = {"p50_ns", "p90_ns", "p99_ns", "p999_ns"};

uint64_t path_view__mean(const struct path_view *view, uint64_t ns)
{
	return view->path->n_windows ? ns / view->path->n_windows : 0;
}

uint64_t path_view__mean_compared(const struct path_view *view, uint64_t ns)
{
	return view->path->compared.n ? ns / view->path->compared.n : 0;
}

/* The time of all requests that passed before they were read. */
static uint64_t unread_ns(const struct requests *requests)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < requests->spans.n; i++)
		ns += requests__at(requests, i)->begun - requests__at(requests, i)->arrived;
	return ns;
}

static uint64_t all_ns(const struct requests *requests)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < requests->spans.n; i++)
		ns += model_span__latency(requests__at(requests, i));
	return ns;
}

static void put_latencies(const struct requests *requests, FILE *to)
{
	char text[24], line[256] = "";

	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		format__append(line, sizeof(line), "%s %s, ", quantile_names[i],
			       duration__text(requests__quantile(requests, quantiles[i]), text));
	format__append(line, sizeof(line), "longest %s",
		       duration__text(requests__quantile(requests, 1), text));
	header__line(to, "latency", line);
}

/* "12 us to 1.5 ms": of the requests in @group. */
static void put_range(const struct requests *requests, const struct requests_group *group,
		      char *text, size_t size)
{
	const struct model_span *first = requests__at(requests, group->first);
	const struct model_span *last = requests__at(requests, group->first + group->n - 1);
	char ns[24];

	format__append(text, size, "%s", duration__text(model_span__latency(first), ns));
	if (group->n > 1)
		format__append(text, size, " to %s", duration__text(model_span__latency(last), ns));
}

static void put_shown(const struct path_view *view, FILE *to)
{
	char line[256] = "";

	if (view->shown.n > 1)
		format__append(line, sizeof(line), "the %zu slowest, ", view->shown.n);
	else
		format__append(line, sizeof(line), "the slowest, ");
	put_range(view->requests, &view->shown, line, sizeof(line));
	format__append(line, sizeof(line), "; compared with %zu around the median, ",
		       view->compared.n);
	put_range(view->requests, &view->compared, line, sizeof(line));
	header__line(to, "shown", line);
}

static void put_request(const struct path_view *view, const struct model_span *span, FILE *to)
{
	const struct model *model = view->model;
	char thread[128], at[24], length[24], unread[24];
	const char *peer = model__string(model, model->objects.data[span->object].name);

	path_thread__text(view, span->thread, span->ended, thread, sizeof(thread));
	fprintf(to, "#     %10s  at %s, ", duration__text(model_span__latency(span), length),
		duration__text(span->arrived - model->start, at));
	if (span->begun > span->arrived)
		fprintf(to, "read after %s, ", duration__text(span->begun - span->arrived, unread));
	format__safe(to, thread);
	if (*peer) {
		fputs(", from ", to);
		format__safe(to, peer);
	}
	fputc('\n', to);
}

void path_requests__text(const struct path_view *view, FILE *to)
{
	const struct requests *requests = view->requests;
	const struct model_span *first = requests__at(requests, 0);
	char line[256] = "", text[24];
	uint64_t unread = unread_ns(requests);

	format__append(line, sizeof(line), "%s, %zu of them",
		       model__string(view->model, first->name), requests->spans.n);
	header__line(to, "requests", line);
	put_latencies(requests, to);
	if (unread) {
		*line = '\0';
		format__append(line, sizeof(line),
			       "%.1f%% of that time they had arrived, but were not read yet; on "
			       "average %s",
			       format__percent(unread, all_ns(requests)),
			       duration__text(unread / requests->spans.n, text));
		header__line(to, "unread", line);
	}
	if (!view->compared.n)
		return;
	put_shown(view, to);
	for (size_t i = 0; i < view->shown.n && i < MAX_LISTED; i++)
		put_request(view, requests__at(requests, view->shown.first + view->shown.n - 1 - i),
			    to);
}

static void put_row(const char *label, uint64_t mean, uint64_t compared, FILE *to)
{
	char text[24], other[24], more[24];

	fprintf(to, "#   %-34s %12s %12s %s%s\n", label, duration__text(mean, text),
		duration__text(compared, other), mean < compared ? "-" : "+",
		duration__text(mean < compared ? compared - mean : mean - compared, more));
}

void path_requests__compare(const struct path_view *view, FILE *to)
{
	const struct path *path = view->path;

	fprintf(to, "#\n#   %-34s %12s %12s %s\n", "per request", "slow", "median", "difference");
	put_row("time", path_view__mean(view, path->wall_ns),
		path_view__mean_compared(view, path->compared.wall_ns), to);
	for (int i = 0; i < PATH_CATEGORY_COUNT; i++)
		if (path->ns[i] || path->compared.ns[i])
			put_row(path_category__text((enum path_category)i),
				path_view__mean(view, path->ns[i]),
				path_view__mean_compared(view, path->compared.ns[i]), to);
	fprintf(to, "#   %-34s %11.1f%%\n", "accounted for",
		format__percent(path->accounted_ns, path->wall_ns));
}

static json_t *request_json(const struct path_view *view, const struct model_span *span)
{
	const struct model *model = view->model;
	const struct model_thread *thread = &model->threads.data[span->thread];
	uint32_t peer = model->objects.data[span->object].name;
	json_t *entry = json_object();

	json_object_set_new(entry, "begin_ns", json__number(span->arrived - model->start));
	json_object_set_new(entry, "length_ns", json__number(model_span__latency(span)));
	json_object_set_new(entry, "unread_ns", json__number(span->begun - span->arrived));
	json_object_set_new(entry, "pid", json__number(thread->tgid));
	json_object_set_new(entry, "tid", json__number(thread->tid));
	json_object_set_new(entry, "peer", peer ? json__string(model, peer) : json_null());
	return entry;
}

static json_t *compared_json(const struct path_side *side)
{
	json_t *entry = json_object();

	json_object_set_new(entry, "count", json__number(side->n));
	json_object_set_new(entry, "wall_ns", json__number(side->wall_ns));
	json_object_set_new(entry, "categories", path_categories__json(side->ns));
	return entry;
}

json_t *path_requests__json(const struct path_view *view)
{
	const struct requests *requests = view->requests;
	json_t *entry = json_object(), *latency = json_object(), *list = json_array();

	json_object_set_new(entry, "source",
			    json__string(view->model, requests__at(requests, 0)->name));
	json_object_set_new(entry, "count", json__number(requests->spans.n));
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		json_object_set_new(latency, quantile_keys[i],
				    json__number(requests__quantile(requests, quantiles[i])));
	json_object_set_new(latency, "max_ns", json__number(requests__quantile(requests, 1)));
	json_object_set_new(latency, "sum_ns", json__number(all_ns(requests)));
	json_object_set_new(latency, "unread_ns", json__number(unread_ns(requests)));
	json_object_set_new(entry, "latency", latency);
	for (size_t i = view->shown.first + view->shown.n; i-- > view->shown.first;)
		json_array_append_new(list, request_json(view, requests__at(requests, i)));
	json_object_set_new(entry, "shown", list);
	json_object_set_new(entry, "compared",
			    view->compared.n ? compared_json(&view->path->compared) : json_null());
	return entry;
}
