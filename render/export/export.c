// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/export.h"

#include <stdlib.h>
#include <string.h>

#include "render/export/firefox/firefox.h"
#include "render/export/pprof/otlp.h"
#include "render/export/perfetto/perfetto.h"
#include "render/export/pprof/pprof.h"
#include "render/export/folded.h"
#include "render/export/speedscope.h"
#include "render/export/sqlite/sqlite.h"

static int write_folded(const struct export *export, FILE *to)
{
	uint64_t idle_ns;

	return folded__write(export->model, export->filter, FOLDED_MICROSECONDS,
			     export->idle ? NULL : &idle_ns, to);
}

/* The name of the thread @tid, if it was recorded, as it was at the end. */
static const char *name_of_tid(const struct model *model, uint32_t tid)
{
	for (size_t i = 0; i < model->threads.n; i++)
		if (model->threads.data[i].tid == tid)
			return model__string(
				model, model_thread__comm(&model->threads.data[i], model->end));
	return NULL;
}

void export__program(const struct model *model, char *name, size_t size)
{
	const char *command = model__meta(model, "command"), *target = model__meta(model, "target");
	const char *begin = command ? command : "", *program = NULL;

	if (!target || !strcmp(target, "command")) {
		for (const char *at = begin; *at && *at != ' '; at++)
			if (*at == '/')
				begin = at + 1;
		snprintf(name, size, "%.*s", (int)strcspn(begin, " "), begin);
	} else if (!strcmp(target, "processes") || !strcmp(target, "threads")) {
		begin += strcspn(begin, "0123456789");
		program = name_of_tid(model, (uint32_t)strtoul(begin, NULL, 10));
		snprintf(name, size, "%s", program ? program : "");
	} else {
		*name = '\0';
	}
	if (!*name)
		snprintf(name, size, "dwell");
}

static const struct export_format formats[] = {
	{
		.name = "folded",
		.extension = "folded",
		.about = "stacks with microseconds, a line each: flamegraph.pl, inferno",
		.write = write_folded,
	},
	{
		.name = "firefox",
		.extension = "json",
		.about = "a profile for the Firefox Profiler: profiler.firefox.com, samply load",
		.idle = true,
		.write = firefox__write,
	},
	{
		.name = "perfetto",
		.extension = "pftrace",
		.about = "a trace for Perfetto: ui.perfetto.dev, trace_processor",
		.idle = true,
		.write = perfetto__write,
	},
	{
		.name = "sqlite",
		.extension = "sqlite",
		.about = "an SQLite database, for queries: sqlite3, DuckDB, pandas",
		.idle = true,
		.write_file = sqlite__write,
	},
	{
		.name = "otlp",
		.extension = "otlp",
		.about = "OpenTelemetry profiles: a collector (with --to)",
		.idle = true,
		.write = otlp__write,
		.post_path = OTLP_PATH,
		.content_type = OTLP_CONTENT_TYPE,
	},
	{
		.name = "pprof",
		.extension = "pb.gz",
		.about = "a profile for go tool pprof, Grafana, Polar Signals",
		.idle = true,
		.write = pprof__write,
	},
	{
		.name = "speedscope",
		.extension = "speedscope.json",
		.about = "threads in order of time, as flame graphs: speedscope.app",
		.idle = true,
		.write = speedscope__write,
	},
};

bool export__stolen_run(const struct export *export, uint32_t thread, size_t *at,
			struct model_run *run)
{
	const struct sample_filter *filter = export->filter;
	const struct model_thread *of = &export->model->threads.data[thread];
	uint64_t from = export->model->start + filter->from;
	uint64_t until = filter->until ? export->model->start + filter->until : MODEL_FOREVER;

	if (!export->model->trace || !sample_filter__thread(filter, of) ||
	    (filter->classes && !(filter->classes & 1U << CLASS_CPU)))
		return false;
	while (*at <= of->intervals.n)
		if (model_thread__run_before(of, (*at)++, run) && run->stolen_ns &&
		    run->until > from && run->from < until)
			return true;
	return false;
}

const struct export_format *export_format__all(size_t *n)
{
	*n = ARRAY_SIZE(formats);
	return formats;
}

const struct export_format *export_format__find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}
