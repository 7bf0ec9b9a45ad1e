// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/waits/verdict.h"
#include "base/duration.h"
#include "render/format.h"
#include "render/header.h"
#include "render/terminal.h"
#include "render/waits/waits.h"

/* At most this many other knots and sinks, and long waits outside of them, are listed. */
#define MAX_OTHERS 5

/* A knot or sink is listed if it is busy for at least this share of the time. */
#define MIN_ACTIVE 0.05

/* Parts of a lifetime that are in no column are printed from this percentage on. */
#define MIN_REST 0.1

/* Width of lines of text, in columns. */
#define WIDTH 100

struct writer {
	const struct waits *waits;
	FILE *to;
	int err;
};

static void put_edge(struct writer *writer, const struct waitgraph_edge *edge)
{
	int err = waits__edge(writer->waits, edge, writer->to);

	writer->err = writer->err ? writer->err : err;
}

static void put_limitation(void *context, const char *text)
{
	struct writer *writer = context;

	fputs("  ! ", writer->to);
	format__wrapped(writer->to, text, "    ", 4, WIDTH);
}

static void put_note(struct writer *writer, const struct bottleneck *bottleneck)
{
	char text[512];

	verdict__note(writer->waits, bottleneck, text, sizeof(text));
	if (!*text)
		return;
	fputs("  ", writer->to);
	format__wrapped(writer->to, text, "  ", 2, WIDTH);
}

/* Whether the bottleneck is in the recording, not outside of it. */
static bool is_inside_recording(const struct bottleneck *first)
{
	return first && first->type != BOTTLENECK_OUTSIDE &&
	       (first->type != BOTTLENECK_SLEEP || first->awaited_by);
}

/* The words before the verdict on @first. @full: a sentence about full CPUs precedes it. */
static const char *verdict_label(const struct waits *waits, const struct bottleneck *first,
				 bool full)
{
	const struct waitgraph_edge *other = NULL;

	if (full)
		return first && first->type == BOTTLENECK_MORE_CPUS ? "Most affected: "
		       : is_inside_recording(first)		    ? "With more CPUs: "
								    : "Besides: ";
	if (is_inside_recording(first))
		return "Bottleneck: ";
	if (first)
		other = verdict__of(waits->graph, first).other;
	if (other && waits->graph->vertices.data[other->to].recorded)
		return "No bottleneck: "; /* what it waits for was recorded, but is not busy */
	return "No bottleneck in the recording: ";
}

static void put_labeled(struct writer *writer, const char *label, const char *text)
{
	fputs(color__begin(writer->waits->color, COLOR_HOT), writer->to);
	fputs(label, writer->to);
	fputs(color__end(writer->waits->color, COLOR_HOT), writer->to);
	format__wrapped(writer->to, text, "  ", (int)strlen(label), WIDTH);
}

static void put_verdict(struct writer *writer, const struct bottleneck *first)
{
	const struct waits *waits = writer->waits;
	char text[2048];
	bool full = verdict__cpus(waits, text, sizeof(text));

	if (full)
		put_labeled(writer, "Bottleneck: ", text);
	verdict__text(waits, first, text, sizeof(text));
	put_labeled(writer, verdict_label(waits, first, full), text);
	if (first && first->type == BOTTLENECK_KNOT)
		fprintf(writer->to, "  One of these waits has to become shorter before %s:\n",
			full ? "more CPUs make it faster" : "anything gets faster");
	for (size_t i = 0; first && i < first->edges.n; i++)
		put_edge(writer, &waits->graph->edges.data[first->edges.data[i]]);
	if (first) {
		int err = waits__put_lock(waits, first, writer->to);

		writer->err = writer->err ? writer->err : err;
		put_note(writer, first);
	}
	verdict__limitations(waits, put_limitation, writer);
	fputc('\n', writer->to);
}

/* Whether @other takes enough of the recording to be listed. */
static bool is_noteworthy(const struct waits *waits, const struct bottleneck *other)
{
	uint64_t own_ns = other->running_ns + other->runnable_ns;

	return other->active >= MIN_ACTIVE && other->relevant &&
	       other->impact_ns >= waits->bottlenecks->threshold_ns &&
	       (other->type == BOTTLENECK_KNOT || other->background ||
		own_ns >= waits->bottlenecks->threshold_ns / 2);
}

static void put_other_bottlenecks(struct writer *writer, size_t from)
{
	const struct bottlenecks *bottlenecks = writer->waits->bottlenecks;
	size_t shown = 0;

	for (size_t i = from; i < bottlenecks->all.n && shown < MAX_OTHERS; i++) {
		const struct bottleneck *other = &bottlenecks->all.data[i];
		const char *label = other->background ? "In the background: " : "Also: ";
		char text[2048];

		if (!is_noteworthy(writer->waits, other))
			continue;
		verdict__text(writer->waits, other, text, sizeof(text));
		fputs(label, writer->to);
		format__wrapped(writer->to, text, "  ", (int)strlen(label), WIDTH);
		shown++;
	}
	if (shown)
		fputc('\n', writer->to);
}

static bool edge_in(const struct bottleneck *bottleneck, uint32_t edge)
{
	for (size_t i = 0; i < bottleneck->edges.n; i++)
		if (bottleneck->edges.data[i] == edge)
			return true;
	return false;
}

/* Long waits outside of the bottleneck, so that they are not mistaken for it. */
static void put_long_waits(struct writer *writer, const struct bottleneck *first)
{
	const struct waits *waits = writer->waits;
	const struct waitgraph *graph = waits->graph;
	size_t shown = 0;

	for (uint32_t i = 0; first && i < graph->edges.n && shown < MAX_OTHERS; i++) {
		const struct waitgraph_edge *edge = &graph->edges.data[i];

		if (edge->plain_ns < waits->bottlenecks->threshold_ns || edge_in(first, i) ||
		    bottleneck__has(first, edge->from) || waitgraph_edge__is_idle(edge) ||
		    !bottlenecks__is_related(waits->bottlenecks, edge) ||
		    graph->vertices.data[edge->to].type == CAUSE_UNFINISHED)
			continue;
		if (!shown++)
			fputs("Long waits outside of the bottleneck, which does not depend on "
			      "them:\n",
			      writer->to);
		put_edge(writer, edge);
	}
	if (shown)
		fputc('\n', writer->to);
}

/* Prints the parts of the vertex's lifetime that are in no column, if they are not negligible. */
static void put_rest(struct writer *writer, const struct waitgraph_vertex *vertex)
{
	double stolen = format__percent(vertex->stolen_ns, vertex->lifetime_ns);
	double unseen = format__percent(vertex->unseen_ns, vertex->lifetime_ns);

	if (stolen > MIN_REST)
		fprintf(writer->to, "  stolen %.1f%%", stolen);
	if (unseen > MIN_REST)
		fprintf(writer->to, "  not seen %.1f%%", unseen);
}

static void put_vertices(struct writer *writer)
{
	const struct waits *waits = writer->waits;
	bool any = false;

	fprintf(writer->to, "# %-32s %8s %8s %8s %12s\n", "who", "running", "runnable", "blocked",
		"lifetime");
	for (uint32_t i = 0; i < waits->graph->vertices.n; i++) {
		const struct waitgraph_vertex *vertex = &waits->graph->vertices.data[i];
		const char *name = waitgraph_vertex__name(waits->graph, vertex);
		char text[128], lifetime[24];

		if (waitgraph_vertex__outside(vertex) ||
		    (waits->percent_limit && !waits->bottlenecks->relations[i]) ||
		    (waits__percent(waits, vertex->running_ns + vertex->runnable_ns) <
			     waits->percent_limit &&
		     vertex->type == CAUSE_THREAD))
			continue;
		vertex__text(waits, i, text, sizeof(text));
		fputs("  ", writer->to);
		format__safe(writer->to, vertex->n > 1 ? text : name);
		any |= vertex->running_differs || vertex->runnable_differs ||
		       vertex->blocked_differs;
		fprintf(writer->to, "%*s %7.1f%%%c%7.1f%%%c%7.1f%%%c%12s%s",
			format__width(text) < 32 ? 32 - format__width(text) : 0, "",
			format__percent(vertex->running_ns, vertex->lifetime_ns),
			vertex->running_differs ? '*' : ' ',
			format__percent(vertex->runnable_ns, vertex->lifetime_ns),
			vertex->runnable_differs ? '*' : ' ',
			format__percent(vertex->blocked_ns, vertex->lifetime_ns),
			vertex->blocked_differs ? '*' : ' ',
			duration__text(vertex->lifetime_ns, lifetime),
			vertex->type == CAUSE_DEVICE  ? "  (device: busy, -, idle)"
			: vertex->type == CAUSE_TCP   ? "  (TCP: holds something back, -, nothing)"
			: vertex->type == CAUSE_QUEUE ? "  (queue: waited for, -, not waited for)"
			: vertex->inferred	      ? "  (peer: waited for, -, not waited for)"
						      : "");
		put_rest(writer, vertex);
		fputc('\n', writer->to);
	}
	if (any)
		fputs("  * differs from what was sampled by more than chance: samples are scaled "
		      "to the exact time\n",
		      writer->to);
	fputc('\n', writer->to);
}

static const char *edge_kind(const struct waits *waits, const struct waitgraph_edge *edge,
			     char *text, size_t size)
{
	if (!edge->n_causes)
		return "";
	cause__text(waits->model, &waits->graph->causes.data[edge->cause], text, size);
	return text;
}

static void put_edges(struct writer *writer)
{
	const struct waits *waits = writer->waits;
	size_t hidden = 0;

	fprintf(writer->to, "# %12s %12s %10s  %s\n", "cascaded", "plain", "waits",
		"who -> for whom, mostly why");
	for (size_t i = 0; i < waits->graph->edges.n; i++) {
		const struct waitgraph_edge *edge = &waits->graph->edges.data[i];
		char from[128], to[128], kind[512], weight[24], plain[24];

		if (!waits__is_shown(waits, edge)) {
			hidden++;
			continue;
		}
		vertex__text(waits, edge->from, from, sizeof(from));
		vertex__text(waits, edge->to, to, sizeof(to));
		fprintf(writer->to, "  %12s %12s %10" PRIu64 "  ",
			waits__share(waits, edge->weight_ns, weight),
			waits__share(waits, edge->plain_ns, plain), edge->count);
		format__safe(writer->to, from);
		fputs(" -> ", writer->to);
		format__safe(writer->to, to);
		fputs("  ", writer->to);
		format__safe(writer->to, edge_kind(waits, edge, kind, sizeof(kind)));
		fputs(waitgraph_edge__is_idle(edge) ? " (for work)\n" : "\n", writer->to);
	}
	if (hidden)
		fprintf(writer->to,
			"# %zu more: short ones, kernel threads that wait for work, and other "
			"programs (--percent-limit 0)\n",
			hidden);
}

static void put_wait_count(const struct waits *waits, FILE *to)
{
	const struct waitgraph *graph = waits->graph;
	char text[256], window[24];

	if (graph->exact)
		snprintf(text, sizeof(text), "%zu, all recorded", graph->list.waits.n);
	else
		snprintf(text, sizeof(text), "%zu, seen at %" PRIu64 " sampling points",
			 graph->list.waits.n, graph->points);
	header__line(to, "waits", text);
	if (sample_filter__active(waits->filter))
		header__line(to, "window", duration__text(graph->duration_ns, window));
}

int waits__text(const struct waits *waits, FILE *to)
{
	const struct bottleneck *first = bottlenecks__first(waits->bottlenecks);
	struct writer writer = {.waits = waits, .to = to};

	header__recording(waits->model, to);
	put_wait_count(waits, to);
	header__diagnostics(waits->model, to);
	fputs("#\n", to);
	put_verdict(&writer, first);
	put_other_bottlenecks(&writer, first ? 1 : 0);
	put_long_waits(&writer, first);
	put_vertices(&writer);
	put_edges(&writer);
	return writer.err;
}
