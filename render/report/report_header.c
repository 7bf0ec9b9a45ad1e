// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>
#include <string.h>

#include "render/format.h"
#include "render/header.h"
#include "render/report/report.h"

static void header__events(const struct report *report, FILE *to)
{
	const struct model *model = report->model;
	const struct profile *profile = report->profile;
	char text[256], time[24];

	snprintf(text, sizeof(text),
		 "%" PRIu64 " on the CPU, %" PRIu64 " off it; together %" PRIu64 " points = %s%s",
		 model->n_samples, model->n_intervals, profile->points,
		 format__ns(profile->ns, time),
		 sample_filter__active(report->filter) ? " after filters" : "");
	header__line(to, "samples", text);
}

/* Of a whole machine, most rows are waits of threads that have nothing to do: says so. */
#define MOSTLY_WAITS_PERCENT 5

static void header__waits(const struct report *report, FILE *to)
{
	const struct profile *profile = report->profile;
	const char *target = model__meta(report->model, "target");
	uint64_t cpu = profile->groups.class_points[CLASS_CPU];
	uint64_t queued = profile->groups.class_points[CLASS_SCHED];
	char text[200];

	if (!target || strcmp(target, "system") != 0 || report->filter->classes ||
	    !profile->points ||
	    format__percent(cpu + queued, profile->points) >= MOSTLY_WAITS_PERCENT)
		return;
	snprintf(text, sizeof(text),
		 "all but %.2f%%, which ran, and %.2f%%, which waited for a CPU, are waits of "
		 "%zu threads, mostly for work: --class cpu shows what ran",
		 format__percent(cpu, profile->points), format__percent(queued, profile->points),
		 report->model->threads.n - 1);
	header__line(to, "waits", text);
}

void report__header(const struct report *report, FILE *to)
{
	header__what(report->model, to);
	header__events(report, to);
	header__waits(report, to);
	header__losses(report->model, to);
	fputs("#\n", to);
}

const char *report__emptiness(const struct report *report, const char **advice)
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
		*advice = "See the warning above; a recording that was copied may be whole at its "
			  "origin.";
		return "There are no samples in what is left of the file.";
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
