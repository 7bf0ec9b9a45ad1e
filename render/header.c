// SPDX-License-Identifier: BSD-2-Clause
#include "render/header.h"

#include <inttypes.h>
#include <string.h>

#include "render/format.h"

static const struct {
	const char *name;
	const char *text;
} stack_ends[STACK_END_COUNT] = {
	[STACK_COMPLETE] = {"complete", "complete"},
	[STACK_TOO_DEEP] = {"too_deep", "deeper than is kept"},
	[STACK_UNREADABLE] = {"unreadable", "stack memory not readable"},
	[STACK_NO_MAPPING] = {"no_mapping", "address in no known mapping"},
	[STACK_NO_TABLE] = {"no_table", "no unwind table yet"},
	[STACK_UNSUPPORTED] = {"unsupported", "unwind rule not handled"},
	[STACK_FRAME_POINTER] = {"frame_pointer", "frame pointers only"},
	[STACK_GUESSED] = {"guessed", "a step by frame pointer"},
};

const char *stack_end__text(enum stack_end end)
{
	return stack_ends[end].text;
}

const char *stack_end__name(enum stack_end end)
{
	return stack_ends[end].name;
}

void header__line(FILE *to, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	fprintf(to, "# %-11s: ", label);
	format__safe(to, text);
	fputc('\n', to);
}

/* Of all CPUs, what was busy; and how much of that is what was recorded. */
static void header__cpus(const struct model *model, FILE *to)
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

/* That the sampling clocks were slowed, as ticks would have cost too much. */
static void header__clock(const struct model *model, FILE *to)
{
	uint64_t slowest = model__meta_number(model, "slowest_clock_ns", 0);
	uint64_t share = model__meta_number(model, "clock_share", 0);
	char text[128], period[24], asked[24];

	if (!slowest)
		return;
	snprintf(
		text, sizeof(text),
		"slowed to a tick every %s: ticks every %s would have taken %" PRIu64 "%% of a CPU",
		format__ns(slowest, period), format__ns(model->period_ns, asked), (share + 5) / 10);
	header__line(to, "clock", text);
}

void header__what(const struct model *model, FILE *to)
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
	snprintf(text, sizeof(text), "%s%s%s%s", format__ns(model->end - model->start, duration),
		 model__meta(model, "end") ? "" : " (the recorder did not end properly)",
		 status && strcmp(status, "0") != 0 ? ", exit status " : "",
		 status && strcmp(status, "0") != 0 ? status : "");
	header__line(to, "duration", text);
	snprintf(text, sizeof(text), "%s, a sampling point every %s%s%s%s",
		 model->trace ? "trace (every interval)" : "sampling",
		 format__ns(model->period_ns, period),
		 model->spacing ? "; of waits, when there were too many, up to every " : "",
		 model->spacing ? format__ns(model->period_ns << model->spacing, apart) : "",
		 model->spacing ? " (see --wait-limit)" : "");
	header__line(to, "mode", text);
	header__clock(model, to);
	if (host || kernel) {
		snprintf(text, sizeof(text), "%s, Linux %s, %s, %s CPUs", host ? host : "?",
			 kernel ? kernel : "?", machine ? machine : "?", cpus ? cpus : "?");
		header__line(to, "machine", text);
	}
	header__cpus(model, to);
}

static void header__lost(const struct model *model, FILE *to)
{
	size_t shown = 0;

	fputs("# lost       : ", to);
	for (size_t i = 0; i < model->losts.n; i++) {
		const struct model_lost *lost = &model->losts.data[i];

		if (!lost->count)
			continue;
		fprintf(to, "%s%" PRIu64 " ", shown++ ? ", " : "", lost->count);
		format__safe(to, model__string(model, lost->cause));
	}
	fputs(shown ? "\n" : "nothing\n", to);
	if (model->refused)
		fprintf(to,
			"# damaged    : %" PRIu64 " records name things the file does not have\n",
			model->refused);
}

/* How much of what happens on the machine its kernel keeps to itself, when it does. */
static void header__untold(const struct model *model, FILE *to)
{
	uint64_t made = model__meta_number(model, "machine_switches", 0);
	uint64_t told = model__meta_number(model, "machine_switches_told", made);

	if (made - told > made / 1000)
		fprintf(to,
			"# hidden     : %" PRIu64 " of the machine's %" PRIu64
			" switches: this kernel hides some tasks from tracing\n",
			made - told, made);
}

static void header__truncated(const struct model *model, FILE *to)
{
	uint64_t all = 0, cut;
	size_t shown = 0;

	for (int end = 0; end < STACK_END_COUNT; end++)
		all += model->truncated[end];
	cut = all - model->truncated[STACK_COMPLETE] - model->truncated[STACK_GUESSED];
	if (cut)
		fprintf(to, "# truncated  : %" PRIu64 " of %" PRIu64 " stacks (%.2f%%): ", cut, all,
			format__percent(cut, all));
	else
		fprintf(to, "# truncated  : none of %" PRIu64 " stacks", all);
	for (int end = STACK_COMPLETE + 1; end < STACK_GUESSED; end++)
		if (model->truncated[end])
			fprintf(to, "%s%" PRIu64 " %s", shown++ ? ", " : "", model->truncated[end],
				stack_end__text(end));
	if (model->truncated[STACK_GUESSED])
		fprintf(to, "; %" PRIu64 " go on by frame pointer past code that says nothing",
			model->truncated[STACK_GUESSED]);
	fputc('\n', to);
}

void header__losses(const struct model *model, FILE *to)
{
	header__lost(model, to);
	header__untold(model, to);
	header__truncated(model, to);
	if (model->warning)
		header__line(to, "warning", model->warning);
}
