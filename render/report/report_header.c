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

void report__header(const struct report *report, FILE *to)
{
	header__recording(report->model, to);
	put_sample_counts(report, to);
	report__idle_line(report, to);
	header__diagnostics(report->model, to);
	fputs("#\n", to);
}

const char *report__why_empty(const struct report *report, const char **advice)
{
	const struct model *model = report->model;

	*advice = "";
	if (report->profile->ns)
		return NULL;
	if (report->idle->ns) {
		*advice = "`dwell report --idle` shows these waits, `dwell report --idle=why` the "
			  "reasons.";
		return "All time passed in waits for work.";
	}
	if (model->n_samples + model->n_intervals) {
		*advice = "`dwell report` without filters shows what there is: threads, names, "
			  "classes.";
		return report->profile->groups.groups.n ? "No sampling point passes the filters."
							: "Nothing passes the filters.";
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
