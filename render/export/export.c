// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/export.h"

#include <string.h>

#include "render/export/firefox.h"
#include "render/export/otlp.h"
#include "render/export/perfetto.h"
#include "render/export/pprof.h"
#include "render/export/script.h"
#include "render/export/speedscope.h"
#include "render/export/sqlite.h"

static int write_folded(const struct export *export, FILE *to)
{
	uint64_t idle_ns;

	return folded__write(export->model, export->filter, FOLDED_MICROSECONDS,
			     export->idle ? NULL : &idle_ns, to);
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
		.about = "an SQLite database, for questions of one's own: sqlite3, DuckDB, pandas",
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
