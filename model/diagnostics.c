// SPDX-License-Identifier: BSD-2-Clause
#include "model/diagnostics.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "model/model.h"
#include "recording/stack_end.h"
#include "recording/wait_class.h"

static int add(struct model *model, const char *label, bool all_well, char *text)
{
	struct model_diagnostic diagnostic = {label, text, all_well};

	if (text && !array__push(&model->diagnostics, diagnostic))
		return 0;
	free(text);
	return -ENOMEM;
}

int model__add_diagnostic(struct model *model, const char *label, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	return n < 0 ? -ENOMEM : add(model, label, false, text);
}

/* The sampling clocks were slowed because ticks would have cost too much. */
static int diagnose_clock(struct model *model)
{
	uint64_t slowest = model__meta_number(model, "slowest_clock_ns", 0);
	uint64_t share = model__meta_number(model, "clock_share", 0);
	char period[24], asked[24], cost[24];

	if (!slowest)
		return 0;
	return model__add_diagnostic(
		model, "clock",
		"slowed to a tick every %s: a tick took %s, which every %s is %" PRIu64
		"%% of a CPU",
		duration__text(slowest, period),
		duration__text(share * model->period_ns / 1000, cost),
		duration__text(model->period_ns, asked), (share + 5) / 10);
}

/* Reports calibrated threads, and the one with the greatest difference by name. */
static int diagnose_calibration(struct model *model)
{
	const struct model_thread *worst = NULL;
	enum wait_class worst_class = CLASS_CPU;
	char sampled[24], exact[24], by[32] = "", more[48] = "";
	size_t n = 0;
	double most = 0;

	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		for (int class = 0; class < CLASS_COUNT; class ++) {
			double off = fabs((double)model_thread__exact_ns(thread, class) -
					  (double)model_thread__sampled_ns(model, thread, class));

			if (!model_thread__is_calibrated(model, thread, class))
				continue;
			n++;
			if (off <= most)
				continue;
			most = off;
			worst = thread;
			worst_class = class;
		}
	}
	if (!worst)
		return 0;
	if (n > 1)
		snprintf(more, sizeof(more), "; and %zu more, see --json", n - 1);
	if (worst->points[worst_class])
		snprintf(by, sizeof(by), " by %.2f", worst->factor[worst_class]);
	return model__add_diagnostic(
		model, "calibrated", "%s of %s/%u%s: %s sampled, %s exact%s",
		wait_class__name(worst_class),
		model__string(model, worst->comms.data[worst->comms.n - 1].name), worst->tid, by,
		duration__text(model_thread__sampled_ns(model, worst, worst_class), sampled),
		duration__text(worst->ns[worst_class], exact), more);
}

static int diagnose_lost(struct model *model)
{
	char *text = NULL;
	size_t size, shown = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -ENOMEM;
	for (size_t i = 0; i < model->losts.n; i++) {
		const struct model_lost *lost = &model->losts.data[i];

		if (lost->count)
			fprintf(to, "%s%" PRIu64 " %s", shown++ ? ", " : "", lost->count,
				model__string(model, lost->cause));
	}
	if (!shown)
		fputs("nothing", to);
	fclose(to);
	return add(model, "lost", !shown, text);
}

static int diagnose_damage(struct model *model)
{
	if (!model->refused)
		return 0;
	return model__add_diagnostic(model, "damaged",
				     "%" PRIu64 " records name things the file does not have",
				     model->refused);
}

/* Reports context switches that the kernel counted but no tracepoint reported. */
static int diagnose_hidden(struct model *model)
{
	uint64_t made = model__meta_number(model, "machine_switches", 0);
	uint64_t told = model__meta_number(model, "machine_switches_told", made);

	if (told >= made || made - told <= made / 1000)
		return 0;
	return model__add_diagnostic(model, "hidden",
				     "%" PRIu64 " of the machine's %" PRIu64
				     " switches: this kernel hides some tasks from tracing",
				     made - told, made);
}

/* Reports tags of requests that do not belong together. */
static int diagnose_tags(struct model *model)
{
	const struct model_tags *tags = &model->tags;

	if (!tags->unended && !tags->strays)
		return 0;
	return model__add_diagnostic(
		model, "unbalanced",
		"%" PRIu64 " tagged requests did not end and are left out, beside %" PRIu64
		" that did; %" PRIu64
		" tags hand on or end a request that the thread does not have: see dwell.h",
		tags->unended, tags->requests, tags->strays);
}

static int diagnose_truncated(struct model *model)
{
	uint64_t all = 0, cut;
	char *text = NULL;
	size_t size, shown = 0;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -ENOMEM;
	for (int end = 0; end < STACK_END_COUNT; end++)
		all += model->truncated[end];
	cut = all - model->truncated[STACK_COMPLETE] - model->truncated[STACK_GUESSED];
	if (cut)
		fprintf(to, "%" PRIu64 " of %" PRIu64 " stacks (%.2f%%): ", cut, all,
			100.0 * (double)cut / (double)all);
	else
		fprintf(to, "none of %" PRIu64 " stacks", all);
	for (int end = STACK_COMPLETE + 1; end < STACK_GUESSED; end++)
		if (model->truncated[end])
			fprintf(to, "%s%" PRIu64 " %s", shown++ ? ", " : "", model->truncated[end],
				stack_end__text(end));
	if (model->truncated[STACK_GUESSED])
		fprintf(to, "; %" PRIu64 " go on by frame pointer past code that says nothing",
			model->truncated[STACK_GUESSED]);
	fclose(to);
	return add(model, "truncated", !cut, text);
}

int model__diagnose(struct model *model)
{
	static int (*const all[])(struct model *) = {
		diagnose_clock,	 diagnose_calibration, diagnose_lost, diagnose_damage,
		diagnose_hidden, diagnose_truncated,   diagnose_tags,
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && !err; i++)
		err = all[i](model);
	if (!err && model->warning)
		err = model__add_diagnostic(model, "warning", "%s", model->warning);
	return err;
}

void model_diagnostics__free(model_diagnostics *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->data[i].text);
	array__free(list);
}
