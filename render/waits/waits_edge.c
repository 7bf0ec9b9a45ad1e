// SPDX-License-Identifier: BSD-2-Clause
/* One edge as text: its weights, and the code locations of its waits. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "render/format.h"
#include "render/terminal.h"
#include "render/waits/waits.h"

/* Locations below this share of an edge are left out, unless all are asked for. */
#define MIN_PLACE_PERCENT 2

/* Callers shown after the function that waits. */
#define MAX_CALLERS 3

/* Causes that print the same: of one kind, from the same functions. */
struct place {
	char *code; /* the functions that wait, as text */
	enum wait_kind kind;
	uint8_t origin;
	uint64_t weight_ns;
	const struct waitgraph_cause *heaviest;
};

struct writer {
	const struct waits *waits;
	const struct waitgraph_edge *edge;
	struct callchain chain;
	ARRAY(struct place) places;
};

/* Whether @name is where every thread starts, which is not shown. */
static bool is_start(const char *name)
{
	static const char *const starts[] = {"start_thread",
					     "clone",
					     "clone3",
					     "__clone3",
					     "_start",
					     "__libc_start_main",
					     "__libc_start_call_main",
					     "ret_from_fork",
					     "ret_from_fork_asm"};
	size_t n = strcspn(name, "@.");

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (!strncmp(name, starts[i], n) && !starts[i][n])
			return true;
	return false;
}

static void put_frame(const struct writer *writer, size_t i, FILE *to)
{
	const struct callchain_frame *frame = &writer->chain.frames.data[i];
	const struct model *model = writer->waits->model;
	const struct model_frame *code = &model->frames.data[frame->frame];
	const char *file = model__string(model, code->file);
	const char *slash = strrchr(file, '/');
	char text[24];

	if (!frame->name && frame->dso) {
		format__safe(to, model__string(model, model->dsos.data[frame->dso].name));
		fputc('+', to);
	}
	format__safe(to, callchain_frame__text(frame, model, text));
	if (!code->line)
		return;
	fputs(" (", to);
	format__safe(to, slash ? slash + 1 : file);
	fprintf(to, ":%" PRIu32 ")", code->line);
}

/* Prints the function that waits or wakes, and its callers. Returns 0 or -ENOMEM. */
static int put_code(struct writer *writer, uint32_t kernel, uint32_t user, bool off_cpu, FILE *to)
{
	const struct model *model = writer->waits->model;
	int err = callchain__set(&writer->chain, model, kernel, user, off_cpu);
	ssize_t row = err ? -1 : callchain__row(&writer->chain, model, true, !user);

	for (size_t i = (size_t)row; row >= 0 && i < writer->chain.frames.n; i++) {
		const struct callchain_frame *frame = &writer->chain.frames.data[i];
		char text[24];

		if (i > (size_t)row + MAX_CALLERS ||
		    (i > (size_t)row && is_start(callchain_frame__text(frame, model, text))))
			break;
		if (i > (size_t)row)
			fputs(" <- ", to);
		put_frame(writer, i, to);
	}
	return err;
}

static int code_text(struct writer *writer, uint32_t kernel, uint32_t user, bool off_cpu,
		     char **text)
{
	size_t size;
	FILE *to = open_memstream(text, &size);
	int err;

	if (!to)
		return -ENOMEM;
	err = kernel || user ? put_code(writer, kernel, user, off_cpu, to) : 0;
	return fclose(to) || err ? -ENOMEM : 0;
}

int waits__code(const struct waits *waits, uint32_t kernel, uint32_t user, char **code)
{
	struct writer writer = {.waits = waits};
	int err = code_text(&writer, kernel, user, true, code);

	callchain__free(&writer.chain);
	return err;
}

static int add_cause(struct writer *writer, const struct waitgraph_cause *cause)
{
	struct place fresh = {.kind = cause->kind, .origin = cause->origin, .heaviest = cause};
	int err = code_text(writer, cause->kernel, cause->user, true, &fresh.code);

	for (size_t i = 0; i < writer->places.n && !err; i++) {
		struct place *place = &writer->places.data[i];

		if (place->kind != fresh.kind || place->origin != fresh.origin ||
		    strcmp(place->code, fresh.code) != 0)
			continue;
		place->weight_ns += cause->weight_ns;
		free(fresh.code);
		return 0;
	}
	fresh.weight_ns = cause->weight_ns;
	err = err ? err : array__push(&writer->places, fresh);
	if (err)
		free(fresh.code);
	return err;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *one = a, *two = b;

	if (one->weight_ns != two->weight_ns)
		return one->weight_ns < two->weight_ns ? 1 : -1;
	return one->heaviest < two->heaviest ? -1 : 1;
}

static int put_place(struct writer *writer, const struct place *place, FILE *to)
{
	const struct waitgraph_cause *cause = place->heaviest;
	char what[512], *waker = NULL;
	int err;

	cause__text(writer->waits->model, cause, what, sizeof(what));
	fprintf(to, "      %3.0f%%  ", format__percent(place->weight_ns, writer->edge->weight_ns));
	format__safe(to, what);
	fputs(cause->idle ? ": waiting for work\n" : "\n", to);
	if (*place->code)
		fprintf(to, "        waits in  %s\n", place->code);
	err = code_text(writer, cause->waker_kernel, cause->waker_user, false, &waker);
	if (!err && *waker)
		fprintf(to, "        %s %s\n",
			cause->origin == WAIT_DEVICE_IDLE ? "fed by   " : "woken by ", waker);
	free(waker);
	return err;
}

/* The standard error of the cascaded weight, in the unit in which that is printed. */
static void put_error(const struct waits *waits, const struct waitgraph_edge *edge, FILE *to)
{
	double percent = waits__percent(waits, round__uint64(edge->error_ns));

	if (waits__percent(waits, edge->weight_ns) < WAITS_IN_THREADS)
		fprintf(to, " (+- %.1f%%)", percent);
	else
		fprintf(to, " (+- %.2f threads)", percent / 100);
}

static void put_head(const struct writer *writer, FILE *to)
{
	const struct waits *waits = writer->waits;
	const struct waitgraph_edge *edge = writer->edge;
	const struct waitgraph_vertex *waiter = &waits->graph->vertices.data[edge->from];
	double idle = format__percent(edge->idle_ns, edge->plain_ns);
	char from[128], to_name[128], share[24];

	vertex__text(waits, edge->from, from, sizeof(from));
	vertex__text(waits, edge->to, to_name, sizeof(to_name));
	fprintf(to, "  %s", color__begin(waits->color, COLOR_BOLD));
	format__safe(to, from);
	fputs(" -> ", to);
	format__safe(to, to_name);
	fputs(color__end(waits->color, COLOR_BOLD), to);
	if (waits__percent(waits, edge->plain_ns) < WAITS_IN_THREADS)
		fprintf(to, ": waits %.1f%% of the time", waits__percent(waits, edge->plain_ns));
	else if (waiter->inferred)
		fprintf(to, ": waits for %.1f threads, on average",
			waits__percent(waits, edge->plain_ns) / 100);
	else
		fprintf(to, ": %.1f of %" PRIu32 " threads wait, on average",
			waits__percent(waits, edge->plain_ns) / 100, waiter->n);
	if (waiter->n > 1 && waiter->merged == MERGED_SIMILAR)
		fprintf(to, " (%.1f%% of the time each)",
			waits__percent(waits, edge->plain_ns) / waiter->n);
	if (edge->weight_ns > edge->plain_ns + edge->plain_ns / 50)
		fprintf(to, ", %s including those blocked behind it",
			waits__share(waits, edge->weight_ns, share));
	if (edge->error_ns > 0)
		put_error(waits, edge, to);
	if (idle > 90)
		fputs(", for work: there is nothing to gain here", to);
	else if (idle > 10)
		fprintf(to, ", %.0f%% of it for work", idle);
	fputc('\n', to);
}

static int put_places(struct writer *writer, FILE *to)
{
	const struct waitgraph_edge *edge = writer->edge;
	uint64_t max = writer->waits->max_causes;
	int err = 0;

	for (uint32_t i = 0; i < edge->n_causes && !err; i++)
		err = add_cause(writer, &writer->waits->graph->causes.data[edge->cause + i]);
	if (writer->places.n && !err)
		qsort(writer->places.data, writer->places.n, sizeof(struct place), compare_places);
	for (size_t i = 0; i < writer->places.n && !err && (!max || i < max); i++) {
		const struct place *place = &writer->places.data[i];

		if (i && max &&
		    format__percent(place->weight_ns, edge->weight_ns) < MIN_PLACE_PERCENT)
			break;
		err = put_place(writer, place, to);
	}
	return err;
}

/* Whether it may be listed, if it is long enough. */
static bool is_of_interest(const struct waits *waits, const struct waitgraph_edge *edge)
{
	/* Relations do not follow short waits, but what was asked for is of interest itself. */
	return (waits->bottlenecks->relations[edge->from] == RELATION_ASKED_FOR ||
		bottlenecks__is_related(waits->bottlenecks, edge)) &&
	       !(waitgraph_edge__is_idle(edge) && waits->graph->vertices.data[edge->from].kernel);
}

bool waits__is_shown(const struct waits *waits, const struct waitgraph_edge *edge)
{
	const struct waitgraph *graph = waits->graph;
	size_t longer = 0;

	if (!waits->percent_limit)
		return true;
	if (!is_of_interest(waits, edge))
		return false;
	if (waits__percent(waits, edge->weight_ns) >= waits->percent_limit)
		return true;
	/* They are in the order of their weights. */
	for (size_t i = 0; i < graph->edges.n && longer < WAITS_LEAST_EDGES; i++) {
		if (&graph->edges.data[i] == edge)
			return true;
		longer += is_of_interest(waits, &graph->edges.data[i]);
	}
	return false;
}

int waits__edge(const struct waits *waits, const struct waitgraph_edge *edge, FILE *to)
{
	struct writer writer = {.waits = waits, .edge = edge};
	int err = 0;

	put_head(&writer, to);
	if (!waits->max_causes || edge->idle_ns < edge->plain_ns - edge->plain_ns / 10)
		err = put_places(&writer, to);
	for (size_t i = 0; i < writer.places.n; i++)
		free(writer.places.data[i].code);
	array__free(&writer.places);
	callchain__free(&writer.chain);
	return err;
}
