// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/html_analyses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/latency/call_details.h"
#include "analysis/latency/timeline.h"
#include "analysis/path/path.h"
#include "cmd/path_requests.h"
#include "render/format.h"
#include "render/causal/causal_verdict.h"
#include "render/causal/causal_views.h"
#include "render/html/page_latency.h"
#include "render/html/page_waits.h"
#include "render/json.h"
#include "render/latency/latency_locks.h"
#include "render/latency/latency_requests.h"
#include "render/latency/latency_verdict.h"
#include "render/latency/latency_views.h"
#include "render/path/path_views.h"
#include "render/waits/waits.h"

#define SHOWN_PERCENT	0.1    /* of the recording: edges below it may be long in a selection */
#define SHOWN_CAUSES	20     /* of each edge */
#define SHOWN_REQUESTS	100000 /* that are listed, the slowest */
#define SHOWN_TIMELINES 20     /* of the slowest requests */
#define SLOW_PERCENTILE 99     /* of requests whose path is shown */

/* A document in memory, and the block it becomes. */
struct document {
	struct html *html;
	char name[48];
	char *text;
	size_t size;
	FILE *to;
};

static int document_open(struct document *document, struct html *html, size_t number,
			 const char *part)
{
	*document = (struct document){.html = html};
	snprintf(document->name, sizeof(document->name), "r%zu.%s", number, part);
	document->to = open_memstream(&document->text, &document->size);
	return document->to ? 0 : -ENOMEM;
}

/* Ends it, and writes the block unless @err is other than 0. */
static int document_close(struct document *document, int err)
{
	if (fclose(document->to) && !err)
		err = -ENOMEM;
	err = err ? err
		  : html__block(document->html, document->name, document->text, document->size);
	free(document->text);
	return err;
}

/* How many edges the document of @waits lists: they are sorted by weight. */
static size_t count_listed(const struct waits *waits)
{
	const struct waitgraph *graph = waits->graph;
	size_t n = 0;

	while (n < graph->edges.n &&
	       waits__percent(waits, graph->edges.data[n].weight_ns) >= waits->percent_limit)
		n++;
	return n;
}

static int add_waits(struct html *html, const struct html_recording *recording, size_t number)
{
	const struct waitgraph_options options = {.filter.idle = recording->idle};
	struct bottlenecks bottlenecks = {};
	struct verdict_locks verdict_locks = {};
	struct lock_waits locks = {};
	struct waitgraph graph = {};
	const struct waits view = {
		.model = recording->model,
		.filter = &options.filter,
		.graph = &graph,
		.bottlenecks = &bottlenecks,
		.locks = &verdict_locks,
		.percent_limit = SHOWN_PERCENT,
		.max_causes = SHOWN_CAUSES,
	};
	struct page_waits over_time = {.graph = &graph, .max_causes = SHOWN_CAUSES};
	struct document document;
	char text[2048] = "";
	int err = waitgraph__make(recording->model, recording->kinds, &options, &graph);

	err = err ? err : bottlenecks__find(&graph, BOTTLENECKS_THRESHOLD, &bottlenecks);
	err = err ? err
		  : lock_waits__find(recording->model, recording->kinds, recording->idle, &locks);
	err = err ? err
		  : verdict_locks__find(&graph, recording->kinds, &locks, &bottlenecks,
					&verdict_locks);
	err = err ? err : document_open(&document, html, number, "waits");
	if (!err) {
		err = document_close(&document, waits__json(&view, document.to));
		if (verdict__cpus(&view, text, sizeof(text)))
			format__append(text, sizeof(text), " ");
		verdict__text(&view, bottlenecks__first(&bottlenecks), text + strlen(text),
			      sizeof(text) - strlen(text));
	}
	over_time.n_edges = count_listed(&view);
	err = err ? err : page_waits__write(html, number, &over_time);
	if (!err && *text)
		err = html__verdict(html, (int64_t)number, "waits", text);
	verdict_locks__free(&verdict_locks);
	lock_waits__free(&locks);
	bottlenecks__free(&bottlenecks);
	waitgraph__free(&graph);
	return err;
}

/* The verdict only: the page has the path itself. */
static int add_path(struct html *html, const struct html_recording *recording, size_t number)
{
	const struct path_window window = {
		.thread = recording->path,
		.from = recording->model->start,
		.until = recording->model->end,
	};
	const struct path_options options = {
		.windows = &window, .n_windows = 1, .no_background = true};
	struct path path = {};
	const struct path_view view = {
		.model = recording->model, .path = &path, .percent_limit = 1};
	char text[4096];
	int err;

	if (!recording->path)
		return 0;
	err = path__find(recording->model, recording->kinds, recording->idle, &options, &path);
	err = err ? err : path_view__verdict(&view, text, sizeof(text));
	if (!err && *text)
		err = html__verdict(html, (int64_t)number, "path", text);
	path__free(&path);
	return err == -ENODATA ? 0 : err;
}

static bool has_calls(const struct model *model)
{
	for (size_t i = 1; i < model->threads.n; i++)
		if (model->threads.data[i].calls.n || model->threads.data[i].short_calls.n)
			return true;
	return false;
}

static int add_latency(struct html *html, const struct html_recording *recording, size_t number)
{
	struct call_details details = {};
	struct call_latency latency = {.details = &details};
	const struct latency_view view = {.model = recording->model, .latency = &latency};
	struct document document;
	char text[2048] = "";
	int err;

	if (!has_calls(recording->model))
		return 0;
	err = call_latency__make(recording->model, recording->causes, LATENCY_RANK_TAIL, &latency);
	err = err ? err : document_open(&document, html, number, "latency");
	if (!err) {
		err = document_close(&document, latency_view__json(&view, document.to));
		/* Requests are what is of interest, if there are any. */
		if (!recording->model->spans.n)
			latency_verdict__calls(recording->model, &latency, text, sizeof(text));
	}
	if (!err && *text)
		err = html__verdict(html, (int64_t)number, "latency", text);
	err = err ? err : page_latency__calls(html, recording->model, number, &latency);
	call_details__free(&details);
	call_latency__free(&latency);
	return err;
}

static json_t *timeline_of(struct latency_requests_view view,
			   const struct html_recording *recording, size_t place)
{
	struct timeline timeline = {};
	json_t *json = NULL;

	view.shown = requests__at(view.requests, view.requests->spans.n - 1 - place);
	view.timeline = &timeline;
	if (!timeline__make(recording->model, recording->causes, view.shown, &timeline))
		json = latency_requests__timeline(&view);
	timeline__free(&timeline);
	return json;
}

static int put_requests(const struct latency_requests_view *view,
			const struct html_recording *recording, FILE *to)
{
	json_t *document = latency_requests__document(view, SHOWN_REQUESTS);
	json_t *timelines = json_array();

	for (size_t i = 0; i < SHOWN_TIMELINES && i < view->requests->spans.n; i++)
		json_array_append_new(timelines, timeline_of(*view, recording, i));
	json_object_set_new(document, "timelines", timelines);
	return json__write(document, to);
}

/* What the slow requests did that the others did not. */
static int add_comparison(struct html *html, const struct html_recording *recording, size_t number,
			  const struct requests *requests)
{
	static const double percentiles[COMPARISON_SIDES] = {50, 99.9};
	struct request_comparison comparison = {};
	char text[2048] = "";
	int err = request_comparison__make(requests, recording->causes, percentiles, &comparison);

	if (!err)
		latency_verdict__requests(recording->model, &comparison, text, sizeof(text));
	if (!err && *text)
		err = html__verdict(html, (int64_t)number, "latency", text);
	request_comparison__free(&comparison);
	return err;
}

static int add_requests(struct html *html, const struct html_recording *recording, size_t number)
{
	const struct requests_filter filter = {.until = MODEL_FOREVER};
	struct requests requests = {};
	const struct latency_requests_view view = {.model = recording->model,
						   .requests = &requests};
	struct document document;
	int err = requests__find(recording->model, &filter, &requests);

	if (!err && requests.spans.n) {
		err = document_open(&document, html, number, "requests");
		if (!err)
			err = document_close(&document,
					     put_requests(&view, recording, document.to));
		if (!err && requests.spans.n > SHOWN_REQUESTS)
			err = page_latency__requests(html, number, &requests);
		err = err ? err : add_comparison(html, recording, number, &requests);
	}
	requests__free(&requests);
	return err;
}

static int put_request_path(struct html *html, const struct html_recording *recording,
			    size_t number, const struct path_requests *requests)
{
	const struct path_options options = {
		.windows = requests->windows.data,
		.n_windows = requests->windows.n,
		.compared = requests->beside.data,
		.n_compared = requests->beside.n,
		.no_background = true,
	};
	struct path path = {};
	const struct path_view view = {
		.model = recording->model,
		.path = &path,
		.percent_limit = 1,
		.requests = &requests->all,
		.shown = requests->shown,
		.compared = requests->compared,
	};
	struct document document;
	int err = path__find(recording->model, recording->kinds, recording->idle, &options, &path);

	err = err ? err : document_open(&document, html, number, "requests.path");
	if (!err)
		err = document_close(&document, path_view__json(&view, document.to));
	path__free(&path);
	return err;
}

/*
 * The path of the slow requests, beside those around the median. There is none if they are too few
 * to be compared, or of several sources.
 */
static int add_request_path(struct html *html, const struct html_recording *recording,
			    size_t number)
{
	const struct path_request_options options = {
		.quantile = SLOW_PERCENTILE,
		.from = recording->model->start,
		.until = recording->model->end,
	};
	struct path_requests requests = {};
	int err;

	if (!recording->model->trace)
		return 0;
	err = path_requests__choose(recording->model, &options, &requests);
	if (!err && requests.windows.n && requests.beside.n)
		err = put_request_path(html, recording, number, &requests);
	path_requests__free(&requests);
	return err == -ENOENT || err == -EINVAL || err == -ENODATA ? 0 : err;
}

static int add_locks(struct html *html, const struct html_recording *recording, size_t number)
{
	struct locks locks = {};
	const struct latency_locks_view view = {.model = recording->model, .locks = &locks};
	struct document document;
	int err;

	if (!recording->model->trace)
		return 0;
	err = locks__find(recording->model, recording->kinds, &locks);
	err = err ? err : document_open(&document, html, number, "locks");
	if (!err)
		err = document_close(&document, latency_locks__json(&view, document.to));
	locks__free(&locks);
	return err;
}

int html_analyses__add(struct html *html, const struct html_recording *recording, size_t number)
{
	int err = add_waits(html, recording, number);

	err = err ? err : add_path(html, recording, number);
	err = err ? err : add_latency(html, recording, number);
	err = err ? err : add_requests(html, recording, number);
	err = err ? err : add_request_path(html, recording, number);
	return err ? err : add_locks(html, recording, number);
}

static void add_sentence(void *html, const char *text)
{
	html__verdict(html, -1, "causal", text);
}

int html_analyses__add_causal(struct html *html, const char *path, const char *name,
			      const struct redaction *redaction)
{
	const struct causal_options options = {
		.min_visits = CAUSAL_MIN_VISITS,
		.resamples = CAUSAL_RESAMPLES,
	};
	_cleanup_causal_profile_ struct causal_profile *profile = NULL;
	_cleanup_causal_effects_ struct causal_effects *effects = NULL;
	_cleanup_free_ char *text = NULL;
	char block[32];
	size_t number, size;
	FILE *to;
	int err = causal_profile__read(path, &profile);

	if (!err && redaction)
		err = causal_profile__redact(profile, redaction);
	err = err ? err : causal__effects(profile, &options, &effects);
	err = err ? err : html__causal(html, name, &number);
	if (err)
		return err;
	to = open_memstream(&text, &size);
	err = to ? causal_json__print(effects, to) : -ENOMEM;
	if (to && fclose(to))
		err = -ENOMEM;
	snprintf(block, sizeof(block), "c%zu", number);
	err = err ? err : html__block(html, block, text, size);
	if (!err)
		causal_verdict__sentences(effects, add_sentence, html);
	return err;
}
