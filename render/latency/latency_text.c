// SPDX-License-Identifier: BSD-2-Clause
#include "base/duration.h"
#include "base/round.h"
#include "render/format.h"
#include "render/header.h"
#include "render/latency/latency_cause.h"
#include "render/latency/latency_views.h"

/* So many waits are listed for a function: for locks, and those of at least 1% of slow calls' time.
 */
#define MAX_WAITS   3
#define LEAST_SHARE 100
/* The uncertainty of slow calls is shown if it is more than this share of their time. */
#define UNCERTAIN_SHARE 20
/* And this many functions with probes. */
#define MAX_PROBES 10
/* What they add to a call is subtracted, up to so much. */
#define PROBES_RESOLVE_NS 200

static void put_resolution(const struct latency_view *view, FILE *to)
{
	const struct model_scans *scans = &view->model->scans;
	char line[256] = "", period[24], pair[24], longest[24];

	format__append(line, sizeof(line),
		       "%s; calls shorter than %s are missing; at most %s without a look",
		       duration__text(view->latency->period_ns, period),
		       duration__text(view->latency->pair_ns, pair),
		       duration__text(scans->longest_ns, longest));
	if (view->latency->period_ns)
		header__line(to, "resolution", line);
	*line = '\0';
	if (scans->lost || scans->missed) {
		format__append(line, sizeof(line),
			       "%llu without memory, %llu deeper than shadow stacks are",
			       (unsigned long long)scans->lost, (unsigned long long)scans->missed);
		header__line(to, "calls lost", line);
	}
}

static void put_name(const struct latency_view *view, uint32_t name, FILE *to)
{
	format__safe(to, name ? model__string(view->model, name) : "(no name)");
}

/* CPU time of all threads, with what probes took. */
static uint64_t cpu_ns(const struct model *model)
{
	uint64_t sum = 0;

	for (size_t i = 1; i < model->threads.n; i++)
		sum += model->threads.data[i].ns[CLASS_CPU];
	return sum;
}

static void put_probe(const struct latency_view *view, const struct model_probe *probe, FILE *to)
{
	double share = format__percent(probe->set_cpu_ns, probe->cpu_ns);
	char each[24];

	fprintf(to, "# %12llu %9s %8.1f%% ", (unsigned long long)probe->entries,
		duration__text(probe->cost_ns / probe->entries, each),
		format__percent(probe->cost_ns, cpu_ns(view->model)));
	if (share > 0 && share < 100)
		fprintf(to, " %6.1f%%", share);
	else
		fprintf(to, " %7s", "");
	fputs("  ", to);
	put_name(view, probe->name, to);
	if (probe->single_stepped)
		fputs(" (single-stepped)", to);
	fputc('\n', to);
}

/* What probes cost, the most expensive first. */
static void put_probes(const struct latency_view *view, FILE *to)
{
	for (size_t i = 0; i < view->latency->probes.n; i++) {
		if (!i)
			fprintf(to, "#\n# %12s %9s %9s %7s  probes at function\n", "calls",
				"each took", "of CPU", "set for");
		if (i == MAX_PROBES) {
			fprintf(to, "# %zu more\n", view->latency->probes.n - i);
			break;
		}
		put_probe(view, &view->model->probes.data[view->latency->probes.data[i]], to);
	}
}

/* Lengths below the period of the scanner, or what probes resolve, are told as such. */
static void put_length(const struct latency_view *view, const struct latency_function *function,
		       uint64_t ns, FILE *to)
{
	uint64_t resolution = function->probed ? PROBES_RESOLVE_NS : view->latency->period_ns;
	char text[24], below[32];

	if (function->probed ? ns >= resolution : ns > 0) {
		fprintf(to, " %10s", duration__text(ns, text));
		return;
	}
	snprintf(below, sizeof(below), "< %s", duration__text(resolution, text));
	fprintf(to, " %10s", below);
}

static void put_thread(const struct latency_view *view, uint32_t number, FILE *to)
{
	const struct model_thread *thread = &view->model->threads.data[number];

	format__safe(to, model__string(view->model, model_thread__comm(thread, thread->ended)));
	fprintf(to, "/%u", thread->tid);
}

/* The longest waits, and what ended them. */
static void put_waits(const struct latency_view *view, const struct latency_function *function,
		      FILE *to)
{
	int shown = 0;
	char text[24];

	for (size_t i = 0; i < function->waits.n && shown < MAX_WAITS; i++) {
		const struct latency_wait *wait = &function->waits.data[i];

		/* That a recording or a sleep ended says nothing. */
		if (wait->cause.type >= CAUSE_INTERRUPT || wait->cause.type == CAUSE_PEER ||
		    (wait->part != LATENCY_LOCK && wait->ns < function->slow_ns / LEAST_SHARE))
			continue;
		shown++;
		fprintf(to, "%*s%s of waiting", 24, "", duration__text(wait->ns, text));
		if (wait->part == LATENCY_LOCK && wait->cause.type == CAUSE_THREAD)
			fputs(" for locks:", to);
		else
			fprintf(to, " (%s)", kind__name(wait->kind));
		latency_cause__put(view->model, " ", wait->cause, wait->function, UINT64_MAX, to);
		fputc('\n', to);
	}
}

/* Those that account for a tenth of the time of the slow calls, and more. */
static void put_competitors(const struct latency_view *view,
			    const struct latency_function *function, FILE *to)
{
	char text[24];

	for (size_t i = 0; i < function->competitors.n && i < MAX_WAITS; i++) {
		const struct latency_competitor *competitor = &function->competitors.data[i];

		if (!competitor->thread || competitor->ns < function->slow_ns / 10)
			continue;
		fprintf(to, "%*s%s of waiting for a CPU: that ", 24, "",
			duration__text(competitor->ns, text));
		put_thread(view, competitor->thread, to);
		fputs(" had\n", to);
	}
}

/* A scanner that had no CPU does not know when calls began and ended. */
static void put_uncertainty(const struct latency_function *function, FILE *to)
{
	char text[24];

	if (function->slow_uncertain > function->slow_ns / UNCERTAIN_SHARE)
		fprintf(to,
			"%*suncertain by +-%s: the scanner had no CPU when calls began or ended\n",
			24, "", duration__text(function->slow_uncertain, text));
}

/* Whether there is a column for stolen time: half a percent of the time of a function's calls. */
static bool has_stolen(const struct latency_view *view)
{
	for (size_t i = 0; i < view->latency->functions.n; i++) {
		const struct latency_function *function = &view->latency->functions.data[i];

		if (format__percent(function->parts[LATENCY_STOLEN], function->slow_ns) >= 0.5)
			return true;
	}
	return false;
}

static void put_function(const struct latency_view *view, const struct latency_function *function,
			 FILE *to)
{
	char total[24];

	fprintf(to, "%12.0f %9s", function->calls,
		duration__text(round__uint64(function->total_ns), total));
	for (int q = 0; q < LATENCY_QUANTILES; q++)
		put_length(view, function, function->ns[q], to);
	fputc(' ', to);
	for (int part = 0; part < LATENCY_PARTS; part++)
		if (part != LATENCY_STOLEN || has_stolen(view))
			fprintf(to, part == LATENCY_STOLEN ? " %5.0f%%" : " %4.0f%%",
				format__percent(function->parts[part], function->slow_ns));
	fputs("  ", to);
	put_name(view, function->name, to);
	if (function->caller) {
		fputs(" < ", to);
		put_name(view, function->caller, to);
	}
	fputc('\n', to);
	put_waits(view, function, to);
	put_competitors(view, function, to);
	put_uncertainty(function, to);
}

int latency_view__text(const struct latency_view *view, FILE *to)
{
	size_t n = view->latency->functions.n;

	header__recording(view->model, to);
	put_resolution(view, to);
	header__diagnostics(view->model, to);
	put_probes(view, to);
	fprintf(to, "#\n#%100s\n", "the slowest hundredth:");
	fprintf(to,
		"#%11s %9s %10s %10s %10s %10s %10s %10s   cpu  runq  lock  disk   net other  "
		"%sfunction < caller\n",
		"calls", "total", "p50", "p90", "p99", "p99.9", "p99.99", "max",
		has_stolen(view) ? "stolen  " : "");
	if (view->most && n > view->most)
		n = view->most;
	for (size_t i = 0; i < n; i++)
		put_function(view, &view->latency->functions.data[i], to);
	if (n < view->latency->functions.n)
		fprintf(to, "# %zu more functions: --functions 0\n",
			view->latency->functions.n - n);
	return 0;
}
