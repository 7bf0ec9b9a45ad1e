// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "render/format.h"
#include "render/header.h"
#include "render/report/report.h"

/* Threads that the line names, and functions that the list prints. */
#define MAX_NAMED  3
#define MAX_FRAMES 6

/* "worker-1 and 3 more" */
static void append_threads(const struct report *report, const struct idle_place *place, char *text,
			   size_t size)
{
	format__append(text, size, "%s", model__string(report->model, place->comm));
	if (place->n_threads > 1)
		format__append(text, size, " and %" PRIu32 " more", place->n_threads - 1);
}

void report__idle_line(const struct report *report, FILE *to)
{
	const struct idle_summary *idle = report->idle;
	uint64_t whole = report->profile->groups.ns;
	char text[512], time[24];

	if (!idle->ns)
		return;
	snprintf(text, sizeof(text),
		 "%s of %" PRIu32 " thread%s, %.1f%% of all time, waited for work",
		 duration__text(idle->ns, time), idle->n_threads, idle->n_threads == 1 ? "" : "s",
		 format__percent(idle->ns, whole));
	for (size_t i = 0; i < idle->places.n && i < MAX_NAMED; i++) {
		const struct idle_place *place = &idle->places.data[i];

		format__append(text, sizeof(text), i ? ", " : ": ");
		append_threads(report, place, text, sizeof(text));
		format__append(text, sizeof(text), " %s", duration__text(place->ns, time));
	}
	if (idle->places.n > MAX_NAMED)
		format__append(text, sizeof(text), ", ...");
	format__append(text, sizeof(text),
		       report->idle_shown
			       ? "; percentages include it"
			       : "; left out, percentages refer to the rest (--idle shows it)");
	header__line(to, "idle", text);
}

static int put_place(const struct report *report, const struct idle_place *place,
		     struct callchain *chain, FILE *to)
{
	const struct model *model = report->model;
	char threads[128] = "", time[24], text[24];
	int err = callchain__set(chain, model, place->kernel, place->user, true);

	if (err)
		return err;
	append_threads(report, place, threads, sizeof(threads));
	fprintf(to, "%12s  ", duration__text(place->ns, time));
	format__safe(to, threads);
	fprintf(to, ": %s (%s)\n", idle_reason__text(place->reason), kind__name(place->kind));
	for (size_t i = 0, shown = 0; i < chain->frames.n && shown < MAX_FRAMES; i++) {
		if (i < chain->n_kernel && chain->n_kernel < chain->frames.n)
			continue; /* of a kernel thread only */
		fputs("                  ", to);
		format__safe(to, callchain_frame__text(&chain->frames.data[i], model, text));
		fputc('\n', to);
		shown++;
	}
	return 0;
}

int report__idle(const struct report *report, FILE *to)
{
	struct callchain chain = {};
	int err = 0;

	if (!report->idle->places.n)
		fputs("# No wait was taken for a wait for work.\n", to);
	for (size_t i = 0; i < report->idle->places.n && !err; i++)
		err = put_place(report, &report->idle->places.data[i], &chain, to);
	callchain__free(&chain);
	return err;
}
