// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "render/format.h"
#include "render/header.h"
#include "render/report/report.h"

static void put_sample_counts(const struct report *report, FILE *to)
{
	const struct model *model = report->model;
	const struct profile *profile = report->profile;
	char text[256], time[24];

	snprintf(text, sizeof(text),
		 "%" PRIu64 " on the CPU, %" PRIu64 " off it; together %" PRIu64
		 " points, calibrated to %s%s",
		 model->n_samples, model->n_intervals, profile->points,
		 duration__text(profile->ns, time),
		 sample_filter__active(report->filter) ? " after filters" : "");
	header__line(to, "samples", text);
}

/*
 * In a recording of a whole machine most rows are idle waits. The header says so when less than
 * this was spent running or waiting for a CPU.
 */
#define BUSY_PERCENT 5

static void put_idle_share(const struct report *report, FILE *to)
{
	const struct profile *profile = report->profile;
	const char *target = model__meta(report->model, "target");
	uint64_t cpu = profile->groups.class_ns[CLASS_CPU];
	uint64_t queued = profile->groups.class_ns[CLASS_SCHED];
	char text[200];

	if (!target || strcmp(target, "system") != 0 || report->filter->classes || !profile->ns ||
	    format__percent(cpu + queued, profile->ns) >= BUSY_PERCENT)
		return;
	snprintf(text, sizeof(text),
		 "%.2f%% ran and %.2f%% waited for a CPU; the rest are waits of %zu threads, "
		 "mostly idle: --class cpu shows what ran",
		 format__percent(cpu, profile->ns), format__percent(queued, profile->ns),
		 report->model->threads.n - 1);
	header__line(to, "waits", text);
}

void report__header(const struct report *report, FILE *to)
{
	header__recording(report->model, to);
	put_sample_counts(report, to);
	put_idle_share(report, to);
	header__diagnostics(report->model, to);
	fputs("#\n", to);
}

const char *report__why_empty(const struct report *report, const char **advice)
{
	const struct model *model = report->model;

	*advice = "";
	if (report->profile->ns)
		return NULL;
	if (model->n_samples + model->n_intervals) {
		*advice = "`dwell report` without filters shows what there is: threads, names, "
			  "classes.";
		return report->profile->groups.groups.n ? "No sampling point passes the filters."
							: "Nothing passes the filters.";
	}
	if (model->warning) {
		*advice = "See the warning above. If the file is a copy, the original may be "
			  "complete.";
		return "There are no samples in the readable part of the file.";
	}
	if (model->threads.n <= 1) {
		*advice = "Was the target running? Name it with -p PID, or start it: dwell record "
			  "-- PROGRAM.";
		return "The recording has no samples: no thread of the target was seen.";
	}
	*advice = "Record longer, or with a shorter period (dwell record --help).";
	return "The recording has no samples: it is shorter than the time between two sampling "
	       "points.";
}
