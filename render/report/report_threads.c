// SPDX-License-Identifier: BSD-2-Clause
#include <inttypes.h>

#include "recording/wait_class.h"
#include "render/format.h"
#include "render/report/report.h"

/* As columns of the table, in this order. */
static const enum wait_class shown[] = {CLASS_CPU, CLASS_IO, CLASS_LOCK, CLASS_SCHED, CLASS_OTHER};

static void put__times(FILE *to, const uint64_t ns[CLASS_COUNT])
{
	char text[24];

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		fprintf(to, " %12s", format__ns(ns[shown[i]], text));
}

static void put__titles(FILE *to, const char *prefix)
{
	fprintf(to, "%s%7s %7s %-15s", prefix, "pid", "tid", "thread");
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		fprintf(to, " %12s", wait_class__info(shown[i])->title);
	fprintf(to, " %12s\n", "lifetime");
}

static void put__thread(const struct report *report, const struct thread_times *times,
			const char *prefix, FILE *to)
{
	const struct model_thread *thread = &report->model->threads.data[times->thread];
	const char *comm = model__string(report->model, times->comm);
	char lifetime[24];

	fprintf(to, "%s%7u %7u ", prefix, thread->tgid, thread->tid);
	format__safe(to, comm);
	fprintf(to, "%*s", 15 - format__width(comm), "");
	put__times(to, times->ns);
	fprintf(to, " %12s\n", format__ns(times->lifetime_ns, lifetime));
}

static void put__sum(FILE *to, const char *prefix, const char *label,
		     const uint64_t ns[CLASS_COUNT], uint64_t whole)
{
	char text[24];

	fprintf(to, "%s%-31s", prefix, label);
	put__times(to, ns);
	fprintf(to, " %12s\n", format__ns(whole, text));
}

/* The rest of a long list, as one line. */
static void put__rest(const struct report *report, size_t first, const char *prefix, FILE *to)
{
	const struct thread_summary *threads = report->threads;
	uint64_t ns[CLASS_COUNT] = {}, lifetime = 0;
	char label[64];

	for (size_t i = first; i < threads->threads.n; i++) {
		lifetime += threads->threads.data[i].lifetime_ns;
		for (int class = 0; class < CLASS_COUNT; class ++)
			ns[class] += threads->threads.data[i].ns[class];
	}
	snprintf(label, sizeof(label), "%7s %7s %zu more", "", "", threads->threads.n - first);
	put__sum(to, prefix, label, ns, lifetime);
}

void report__threads(const struct report *report, const char *prefix, FILE *to)
{
	const struct thread_summary *threads = report->threads;
	const struct sample_groups *sampled = &report->profile->groups;
	size_t n = threads->threads.n;

	if (!n) {
		fputs("# No thread's exact times are in the recording", to);
		fputs(sample_filter__active(report->filter) ? ", or none passes the filters.\n"
							    : ".\n",
		      to);
		return;
	}
	if (report->max_threads && n > report->max_threads)
		n = report->max_threads;
	put__titles(to, prefix);
	for (size_t i = 0; i < n; i++)
		put__thread(report, &threads->threads.data[i], prefix, to);
	if (n < threads->threads.n)
		put__rest(report, n, prefix, to);
	put__sum(to, prefix, "all threads, exact", threads->ns, threads->lifetime_ns);
	/* A window of time or of classes has no exact counterpart. */
	if (report->filter->classes || report->filter->from || report->filter->until)
		return;
	put__sum(to, prefix, "all threads, sampled", sampled->class_ns, sampled->ns);
}
