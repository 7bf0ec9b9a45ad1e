// SPDX-License-Identifier: BSD-2-Clause
#include "render/header.h"

#include <inttypes.h>
#include <string.h>

#include "base/duration.h"
#include "render/format.h"

void header__line(FILE *to, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(to, "# %-11s: ", label);
	format__safe(to, text);
	fputc('\n', to);
}

/* CPU usage of the whole machine, and the share of the recorded threads. */
static void put_cpus(const struct model *model, FILE *to)
{
	uint64_t busy = model__meta_number(model, "machine_busy_ns", 0);
	uint64_t idle = model__meta_number(model, "machine_idle_ns", 0), ours = 0;
	char text[128];

	for (size_t i = 1; i < model->threads.n; i++)
		ours += model->threads.data[i].ns[CLASS_CPU];
	if (!busy)
		return;
	if (ours > busy)
		ours = busy;
	snprintf(text, sizeof(text), "%.0f%% busy, %.0f%% by what was recorded",
		 format__percent(busy, busy + idle), format__percent(ours, busy + idle));
	header__line(to, "CPUs", text);
}

void header__recording(const struct model *model, FILE *to)
{
	const char *host = model__meta(model, "hostname");
	const char *kernel = model__meta(model, "kernel");
	const char *machine = model__meta(model, "machine");
	const char *cpus = model__meta(model, "cpus");
	const char *status = model__meta(model, "exit_status");
	char text[512], duration[24], period[24], apart[24];

	header__line(to, "command", model__meta(model, "command"));
	if (!model__meta(model, "command"))
		header__line(to, "target", model__meta(model, "target"));
	snprintf(text, sizeof(text), "%s%s%s%s",
		 duration__text(model->end - model->start, duration),
		 model__meta(model, "end") ? "" : " (the recorder did not end properly)",
		 status && strcmp(status, "0") != 0 ? ", exit status " : "",
		 status && strcmp(status, "0") != 0 ? status : "");
	header__line(to, "duration", text);
	snprintf(text, sizeof(text), "%s, a sampling point every %s%s%s%s",
		 model->trace ? "trace (every interval)" : "sampling",
		 duration__text(model->period_ns, period),
		 model->spacing ? "; for waits, when there were too many, up to one every " : "",
		 model->spacing ? duration__text(model->period_ns << model->spacing, apart) : "",
		 model->spacing ? " and thread (see --wait-limit)" : "");
	header__line(to, "mode", text);
	if (host || kernel) {
		snprintf(text, sizeof(text), "%s, Linux %s, %s, %s CPUs", host ? host : "?",
			 kernel ? kernel : "?", machine ? machine : "?", cpus ? cpus : "?");
		header__line(to, "machine", text);
	}
	put_cpus(model, to);
}

void header__diagnostics(const struct model *model, FILE *to)
{
	for (size_t i = 0; i < model->diagnostics.n; i++)
		header__line(to, model->diagnostics.data[i].label, model->diagnostics.data[i].text);
}

void header__warnings(const struct model *model, FILE *to)
{
	for (size_t i = 0; i < model->diagnostics.n; i++) {
		const struct model_diagnostic *diagnostic = &model->diagnostics.data[i];

		if (diagnostic->all_well ||
		    (model->warning && !strcmp(diagnostic->text, model->warning)))
			continue;
		fprintf(to, "dwell: %s: ", diagnostic->label);
		format__safe(to, diagnostic->text);
		fputc('\n', to);
	}
}
