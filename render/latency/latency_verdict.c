// SPDX-License-Identifier: BSD-2-Clause
#include "render/latency/latency_verdict.h"

#include "base/duration.h"
#include "base/round.h"
#include "render/format.h"
#include "render/latency/latency_cause.h"
#include "render/latency/latency_compare.h"

#define LEAST_CALLS   1000
#define LEAST_PERCENT 10 /* parts of a slow call's time that are named */
#define MAX_ROWS      3	 /* and what slow requests did */

static const char *const part_texts[LATENCY_PARTS] = {
	[LATENCY_CPU] = "running",
	[LATENCY_RUN_QUEUE] = "waiting for a CPU",
	[LATENCY_LOCK] = "waiting for locks",
	[LATENCY_DISK] = "waiting for disks",
	[LATENCY_NETWORK] = "waiting for the network",
	[LATENCY_OTHER] = "waiting for something else",
	[LATENCY_STOLEN] = "running, but stolen by a hypervisor or interrupts",
};

/* "52% of their time running, 34% waiting for a CPU": the largest first. */
static void append_parts(const struct latency_function *function, char *text, size_t size)
{
	bool named[LATENCY_PARTS] = {};

	for (int n = 0; n < LATENCY_PARTS; n++) {
		int largest = -1;
		double percent;

		for (int i = 0; i < LATENCY_PARTS; i++)
			if (!named[i] &&
			    (largest < 0 || function->parts[i] > function->parts[largest]))
				largest = i;
		named[largest] = true;
		percent = format__percent(function->parts[largest], function->slow_ns);
		if (percent < LEAST_PERCENT && n)
			return;
		format__append(text, size, "%s%.0f%% %s%s", n ? ", " : "", percent,
			       n ? "" : "of their time ", part_texts[largest]);
	}
}

/* The first that has a p99.9 that can be told from its number of calls, or NULL. */
static const struct latency_function *first_by_rank(const struct call_latency *latency)
{
	for (size_t i = 0; i < latency->functions.n; i++) {
		const struct latency_function *function = &latency->functions.data[i];

		if (function->calls.calls >= LEAST_CALLS && function->slow_ns &&
		    function->ns[LATENCY_P999])
			return function;
	}
	return NULL;
}

void latency_verdict__calls(const struct model *model, const struct call_latency *latency,
			    char *text, size_t size)
{
	const struct latency_function *first = first_by_rank(latency);
	char median[24], tail[24];

	*text = '\0';
	if (!first)
		return;
	format__append(
		text, size,
		"%s adds most to the tail: its calls take %s%s at the median, %s at p99.9. ",
		first->name ? model__string(model, first->name) : "A function without a name",
		first->ns[LATENCY_P50] ? "" : "less than ",
		duration__text(first->ns[LATENCY_P50] ? first->ns[LATENCY_P50] : latency->period_ns,
			       median),
		duration__text(first->ns[LATENCY_P999], tail));
	format__append(text, size, "The slowest hundredth spend ");
	append_parts(first, text, size);
	format__append(text, size, ".");
}

static double difference(const struct request_comparison *comparison,
			 const struct comparison_row *row)
{
	return request_comparison__mean(comparison, COMPARISON_TO, row->ns[COMPARISON_TO]) -
	       request_comparison__mean(comparison, COMPARISON_FROM, row->ns[COMPARISON_FROM]);
}

void latency_verdict__requests(const struct model *model,
			       const struct request_comparison *comparison, char *text, size_t size)
{
	const struct comparison_side *from = &comparison->sides[COMPARISON_FROM];
	const struct comparison_side *to = &comparison->sides[COMPARISON_TO];
	double usual = request_comparison__mean(comparison, COMPARISON_FROM, from->ns);
	double slow = request_comparison__mean(comparison, COMPARISON_TO, to->ns);
	char slow_text[24], usual_text[24], row_text[24], what[512];

	*text = '\0';
	if (slow <= usual)
		return;
	format__append(text, size,
		       "Requests at p%g take %s, those at p%g %s, on average. The difference:",
		       to->percentile, duration__text(round__uint64(slow), slow_text),
		       from->percentile, duration__text(round__uint64(usual), usual_text));
	for (size_t i = 0; i < comparison->rows.n && i < MAX_ROWS; i++) {
		const struct comparison_row *row = &comparison->rows.data[i];
		double ns = difference(comparison, row);

		if (ns < (slow - usual) / LEAST_PERCENT && i)
			break;
		latency_compare__describe(model, row, what, sizeof(what));
		format__append(text, size, "%s %s %s", i ? "," : "",
			       duration__text(round__uint64(ns), row_text), what);
	}
	format__append(text, size, ".");
}
