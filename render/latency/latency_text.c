// SPDX-License-Identifier: BSD-2-Clause
#include <math.h>
#include <string.h>

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
/* Calls that no row has are shown if they are more than this share of all. */
#define LEAST_UNEXPLAINED 0.05
/* And this many functions with probes. */
#define MAX_PROBES 10
#define SITE_WIDTH 20
/* What they add to a call is subtracted, up to so much. */
#define PROBES_RESOLVE_NS 200

/* How many calls there were, by the program's own count, and how many of them rows have. */
static void put_counts(const struct latency_view *view, FILE *to)
{
	const struct call_latency *latency = view->latency;
	const struct model_scans *scans = &view->model->scans;
	char line[256] = "", pair[24];

	if (latency->calls > 0)
		format__append(line, sizeof(line),
			       latency->are_counted ? "%.0f, as the program counts them"
						    : "about %.0f: the program counts them, but "
						      "only a part of its run was looked at",
			       latency->calls);
	if (latency->calls > 0 && latency->unexplained > latency->calls * LEAST_UNEXPLAINED)
		format__append(line, sizeof(line),
			       "; %.0f%% of them are in no row: they were shorter than %s, or not "
			       "looked at",
			       100 * latency->unexplained / latency->calls,
			       duration__text(latency->pair_ns, pair));
	if (latency->calls > 0 && latency->unseen_ns > latency->ns * LEAST_UNEXPLAINED)
		format__append(line, sizeof(line),
			       "; %.0f%% of the run time, at its begin or end, was not looked at",
			       format__percent(latency->unseen_ns, latency->ns));
	header__line(to, "calls", line);
	*line = '\0';
	if (scans->lost || scans->missed) {
		format__append(line, sizeof(line),
			       "%llu without memory, %llu deeper than shadow stacks are",
			       (unsigned long long)scans->lost, (unsigned long long)scans->missed);
		header__line(to, "calls lost", line);
	}
}

/* The thread that looks keeps a CPU busy. If there is none for it, it takes that of the program. */
static void put_lack_of_cpus(const struct latency_view *view, FILE *to)
{
	const struct call_latency *latency = view->latency;
	char line[256] = "";

	if (!latency->ns || !call_latency__lacked_cpus(latency))
		return;
	format__append(line, sizeof(line),
		       "no CPU to spare for the thread of dwell that looks at stacks: it had none "
		       "for %.0f%% "
		       "of the time in which",
		       format__percent(latency->unlooked_ns, latency->ns));
	header__line(to, "warning", line);
	fprintf(to,
		"#              the program ran; the program waited for a CPU %.0f%% of its time "
		"(lengths contain that)\n",
		format__percent(latency->waited_ns, latency->cpu_ns + latency->waited_ns));
}

static void put_resolution(const struct latency_view *view, FILE *to)
{
	char line[256] = "", period[24], pair[24], longest[24];

	if (!view->latency->period_ns)
		return;
	format__append(
		line, sizeof(line),
		"%s; calls shorter than %s are counted too seldom; at most %s without a look",
		duration__text(view->latency->period_ns, period),
		duration__text(view->latency->pair_ns, pair),
		duration__text(view->model->scans.longest_ns, longest));
	header__line(to, "resolution", line);
	put_counts(view, to);
	put_lack_of_cpus(view, to);
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

	if (function->whole <= 0) { /* no call was there from its begin to its end */
		fprintf(to, " %10s", "-");
		return;
	}
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

/* The number of calls and, unless it is exact, its interval. */
static void put_calls(const struct call_interval *calls, FILE *to)
{
	char number[32], interval[64] = "";

	snprintf(number, sizeof(number), "%s%.0f", calls->is_bound ? ">=" : "", calls->calls);
	if (calls->is_bound && isinf(calls->high))
		snprintf(interval, sizeof(interval), "too short");
	else if (isinf(calls->high))
		snprintf(interval, sizeof(interval), "thinned out");
	else if (round(calls->low) < round(calls->high))
		snprintf(interval, sizeof(interval), "%.0f..%.0f", calls->low, calls->high);
	fprintf(to, "%12s %17s", number, interval);
}

/* The file's name and the line where the function was called. */
static void put_site(const struct latency_view *view, const struct latency_function *function,
		     FILE *to)
{
	const char *path = function->file ? model__string(view->model, function->file) : "";
	const char *slash = strrchr(path, '/');
	char site[128] = "";

	if (function->line)
		snprintf(site, sizeof(site), "%s:%u", slash ? slash + 1 : path, function->line);
	fprintf(to, "%*s", (int)(strlen(site) < SITE_WIDTH ? SITE_WIDTH - strlen(site) : 0), "");
	format__safe(to, site);
}

static void put_function(const struct latency_view *view, const struct latency_function *function,
			 FILE *to)
{
	char total[24], mean[24];

	put_calls(&function->calls, to);
	fprintf(to, " %9s %s%9s", duration__text(round__uint64(function->total_ns), total),
		function->calls.is_bound ? "<" : " ",
		duration__text(round__uint64(function->mean_ns), mean));
	for (int q = 0; q < LATENCY_QUANTILES; q++)
		put_length(view, function, function->ns[q], to);
	fputc(' ', to);
	for (int part = 0; part < LATENCY_PARTS; part++)
		if (part != LATENCY_STOLEN || has_stolen(view))
			fprintf(to, part == LATENCY_STOLEN ? " %5.0f%%" : " %4.0f%%",
				format__percent(function->parts[part], function->slow_ns));
	fputs("  ", to);
	put_site(view, function, to);
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
	fprintf(to, "#\n#%129s\n", "the slowest hundredth:");
	fprintf(to,
		"#%11s %17s %9s %10s %10s %10s %10s %10s %10s %10s   cpu  runq  lock  disk   net "
		"other  "
		"%s%*s  function < caller\n",
		"calls", "95%", "total", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max",
		has_stolen(view) ? "stolen  " : "", SITE_WIDTH, "called at");
	if (view->most && n > view->most)
		n = view->most;
	for (size_t i = 0; i < n; i++)
		put_function(view, &view->latency->functions.data[i], to);
	if (n < view->latency->functions.n)
		fprintf(to, "# %zu more functions: --functions 0\n",
			view->latency->functions.n - n);
	return 0;
}
