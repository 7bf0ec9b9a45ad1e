// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>

#include "base/duration.h"
#include "recording/wait_class.h"
#include "render/format.h"
#include "render/report/report.h"

/* The columns of the table. */
static const enum wait_class columns[] = {CLASS_CPU,   CLASS_IO,    CLASS_LOCK,
					  CLASS_SCHED, CLASS_OTHER, CLASS_STOPPED};

/* The times of a row. */
struct times {
	const uint64_t *ns;	 /* by class */
	const uint64_t *idle_ns; /* part of them: in idle waits */
	const bool *differs;	 /* a mark is beside these classes */
	uint64_t whole_ns;
	/* Part of the whole, but of no class; @has_rest: they are shown, @rest_known: and known. */
	uint64_t stolen_ns;
	uint64_t unseen_ns;
	bool has_rest;
	bool rest_known;
	size_t n_columns;
};

/* The times of classes without idle waits, those, what is of no class, and the whole. */
static void put_times(const struct times *times, FILE *to)
{
	char text[24], stolen[24] = "", unseen[24] = "";
	uint64_t idle = 0;

	fputc(' ', to);
	for (size_t i = 0; i < times->n_columns; i++) {
		idle += times->idle_ns[columns[i]];
		fprintf(to, "%12s%c",
			duration__text(busy_ns(times->ns, times->idle_ns, columns[i]), text),
			times->differs[columns[i]] ? '*' : ' ');
	}
	fprintf(to, "%12s %3.0f%%", duration__text(idle, text),
		format__percent(idle, times->whole_ns));
	if (times->rest_known) {
		duration__text(times->stolen_ns, stolen);
		duration__text(times->unseen_ns, unseen);
	}
	if (times->has_rest)
		fprintf(to, " %12s %12s", stolen, unseen);
	fprintf(to, " %12s\n", duration__text(times->whole_ns, text));
}

/* Few recordings have threads that were stopped. */
static size_t n_columns(const struct thread_summary *threads)
{
	return ARRAY_SIZE(columns) - !threads->ns[CLASS_STOPPED];
}

static void put_titles(const struct thread_summary *threads, const char *prefix, FILE *to)
{
	fprintf(to, "%s%7s %7s %-15s", prefix, "pid", "tid", "thread");
	for (size_t i = 0; i < n_columns(threads); i++)
		fprintf(to, " %12s", wait_class__info(columns[i])->title);
	fprintf(to, " %12s %4s", "idle", "");
	if (threads->counted)
		fprintf(to, " %12s %12s", "stolen", "not seen");
	fprintf(to, " %12s\n", "lifetime");
}

static void put_thread(const struct report *report, const struct thread_times *times,
		       const char *prefix, FILE *to)
{
	const struct model_thread *thread = &report->model->threads.data[times->thread];
	const char *comm = model__string(report->model, times->comm);

	fprintf(to, "%s%7u %7u ", prefix, thread->tgid, thread->tid);
	format__safe(to, comm);
	fprintf(to, "%*s", 15 - format__width(comm), "");
	put_times(&(struct times){.ns = times->ns,
				  .idle_ns = times->idle_ns,
				  .differs = times->differs,
				  .whole_ns = times->lifetime_ns,
				  .stolen_ns = times->stolen_ns,
				  .unseen_ns = times->unseen_ns,
				  .has_rest = report->threads->counted,
				  .rest_known = thread->counted,
				  .n_columns = n_columns(report->threads)},
		  to);
}

static void put_sum(FILE *to, const char *prefix, const char *label, const struct times *times)
{
	fprintf(to, "%s%-31s", prefix, label);
	put_times(times, to);
}

/* One line for the threads that are not listed. */
static void put_rest(const struct report *report, size_t first, const char *prefix, FILE *to)
{
	const struct thread_summary *threads = report->threads;
	uint64_t ns[CLASS_COUNT] = {}, idle_ns[CLASS_COUNT] = {};
	bool differs[CLASS_COUNT] = {};
	struct times sum = {.ns = ns,
			    .idle_ns = idle_ns,
			    .differs = differs,
			    .has_rest = threads->counted,
			    .rest_known = threads->counted,
			    .n_columns = n_columns(threads)};
	char label[64];

	for (size_t i = first; i < threads->threads.n; i++) {
		sum.whole_ns += threads->threads.data[i].lifetime_ns;
		sum.stolen_ns += threads->threads.data[i].stolen_ns;
		sum.unseen_ns += threads->threads.data[i].unseen_ns;
		for (int class = 0; class < CLASS_COUNT; class ++) {
			ns[class] += threads->threads.data[i].ns[class];
			idle_ns[class] += threads->threads.data[i].idle_ns[class];
			differs[class] |= threads->threads.data[i].differs[class];
		}
	}
	snprintf(label, sizeof(label), "%7s %7s %zu more", "", "", threads->threads.n - first);
	put_sum(to, prefix, label, &sum);
}

/* The standard errors, at most, of what was sampled. */
static void put_errors(const struct thread_summary *threads, const char *prefix, FILE *to)
{
	char text[24];

	fprintf(to, "%s%-31s ", prefix, "  standard error, at most");
	for (size_t i = 0; i < n_columns(threads); i++)
		fprintf(to, "%12s%s", duration__text(threads->error_ns[columns[i]], text),
			i + 1 < n_columns(threads) ? " " : "\n");
}

/* What the marks mean, if there are any. */
static void put_note(const struct thread_summary *threads, const char *prefix, FILE *to)
{
	bool any = false;

	for (int class = 0; class < CLASS_COUNT; class ++) {
		any |= threads->differs[class];
		for (size_t i = 0; i < threads->threads.n; i++)
			any |= threads->threads.data[i].differs[class];
	}
	if (any)
		fprintf(to,
			"%s* differs from what was sampled by more than chance: samples are scaled "
			"to the exact time\n",
			prefix);
}

void report__threads(const struct report *report, const char *prefix, FILE *to)
{
	const struct thread_summary *threads = report->threads;
	const struct sample_groups *sampled = &report->profile->groups;
	size_t n = threads->threads.n;
	uint64_t sampled_ns = 0;

	if (!n) {
		fputs("# The recording has no exact times of threads", to);
		fputs(sample_filter__active(report->filter) ? ", or none passes the filters.\n"
							    : ".\n",
		      to);
		return;
	}
	if (report->max_threads && n > report->max_threads)
		n = report->max_threads;
	put_titles(threads, prefix, to);
	for (size_t i = 0; i < n; i++)
		put_thread(report, &threads->threads.data[i], prefix, to);
	if (n < threads->threads.n)
		put_rest(report, n, prefix, to);
	put_sum(to, prefix, "all threads, exact",
		&(struct times){.ns = threads->ns,
				.idle_ns = threads->idle_ns,
				.differs = threads->differs,
				.whole_ns = threads->lifetime_ns,
				.stolen_ns = threads->stolen_ns,
				.unseen_ns = threads->unseen_ns,
				.has_rest = threads->counted,
				.rest_known = threads->counted,
				.n_columns = n_columns(threads)});
	/* Exact times are not known for a time window or by class filter. */
	if (report->filter->classes || report->filter->from || report->filter->until) {
		put_note(threads, prefix, to);
		return;
	}
	for (int class = 0; class < CLASS_COUNT; class ++)
		sampled_ns += sampled->sampled_ns[class];
	put_sum(to, prefix, "all threads, sampled",
		&(struct times){.ns = sampled->sampled_ns,
				.idle_ns = sampled->sampled_idle_ns,
				.differs = threads->differs,
				.whole_ns = sampled_ns,
				.has_rest = threads->counted,
				.n_columns = n_columns(threads)});
	put_errors(threads, prefix, to);
	put_note(threads, prefix, to);
}
