// SPDX-License-Identifier: BSD-2-Clause
#include "render/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "recording/wait_class.h"
#include "render/format.h"
#include "render/terminal.h"

#define CELL 512

const char *profile_row__symbol(const struct model *model, const struct profile_row *row,
				char text[static 24])
{
	if (row->symbol)
		return model__string(model, row->symbol);
	if (row->no_frame)
		return "[unknown]";
	snprintf(text, 24, "0x%" PRIx64, row->address);
	return text;
}

const char *profile_row__dso(const struct model *model, const struct profile_row *row)
{
	return model__string(model, model->dsos.data[row->dso].name);
}

static void cell_comm(const struct report *report, const struct profile_row *row, char *text)
{
	snprintf(text, CELL, "%s", model__string(report->model, row->comm));
}

static void cell_pid(const struct report *report, const struct profile_row *row, char *text)
{
	snprintf(text, CELL, "%u", row->pid);
}

static void cell_tid(const struct report *report, const struct profile_row *row, char *text)
{
	snprintf(text, CELL, "%u", row->tid);
}

static void cell_thread(const struct report *report, const struct profile_row *row, char *text)
{
	snprintf(text, CELL, "%s/%u", model__string(report->model, row->comm), row->tid);
}

static void cell_dso(const struct report *report, const struct profile_row *row, char *text)
{
	snprintf(text, CELL, "%s", profile_row__dso(report->model, row));
}

static void cell_symbol(const struct report *report, const struct profile_row *row, char *text)
{
	char address[24];

	snprintf(text, CELL, "[%c] %s%s", wait_class__letter(row->class, row->level_kernel),
		 profile_row__symbol(report->model, row, address), row->idle ? " (idle)" : "");
}

static void cell_class(const struct report *report, const struct profile_row *row, char *text)
{
	snprintf(text, CELL, "%s", wait_class__name(row->class));
}

static void cell_kind(const struct report *report, const struct profile_row *row, char *text)
{
	snprintf(text, CELL, "%s", kind__name(row->kind));
}

static void cell_object(const struct report *report, const struct profile_row *row, char *text)
{
	kind__describe(report->model, row->kind, row->object, text, CELL);
}

static void cell_line(const struct report *report, const struct profile_row *row, char *text)
{
	if (row->line)
		snprintf(text, CELL, "%s:%u", model__string(report->model, row->file), row->line);
	else
		snprintf(text, CELL, "[unknown]");
}

static const struct {
	const char *title;
	void (*cell)(const struct report *report, const struct profile_row *row, char *text);
} columns[PROFILE_KEY_COUNT] = {
	[PROFILE_COMM] = {"Command", cell_comm},     [PROFILE_PID] = {"Pid", cell_pid},
	[PROFILE_TID] = {"Tid", cell_tid},	     [PROFILE_THREAD] = {"Thread", cell_thread},
	[PROFILE_DSO] = {"Shared Object", cell_dso}, [PROFILE_SYMBOL] = {"Symbol", cell_symbol},
	[PROFILE_CLASS] = {"Class", cell_class},     [PROFILE_KIND] = {"Kind", cell_kind},
	[PROFILE_OBJECT] = {"Wait", cell_object},    [PROFILE_LINE] = {"Source:Line", cell_line},
};

static enum color percent_color(double percent)
{
	return percent >= 5.0 ? COLOR_HOT : percent >= 0.5 ? COLOR_WARM : COLOR_NONE;
}

static void put_percent(const struct report *report, uint64_t ns, FILE *to)
{
	double percent = format__percent(ns, report->profile->ns);
	enum color color = percent_color(percent);

	fprintf(to, "%s%9.2f%%%s", color__begin(report->color, color), percent,
		color__end(report->color, color));
}

static void put_dots(FILE *to, int n)
{
	while (n-- > 0)
		fputc('.', to);
}

/* Pads all but the last column. */
static void put_cell(FILE *to, const char *text, int width, bool last)
{
	fputs("  ", to);
	format__safe(to, text);
	if (!last)
		fprintf(to, "%*s", width - format__width(text), "");
}

static bool is_shown(const struct report *report, const struct profile_row *row)
{
	return format__percent(row->total_ns, report->profile->ns) >= report->percent_limit;
}

static void find_widths(const struct report *report, int widths[PROFILE_KEY_COUNT])
{
	char text[CELL];

	for (size_t k = 0; k < report->n_keys; k++)
		widths[k] = (int)strlen(columns[report->keys[k]].title);
	for (size_t i = 0; i < report->profile->rows.n; i++) {
		const struct profile_row *row = &report->profile->rows.data[i];

		for (size_t k = 0; k < report->n_keys && is_shown(report, row); k++) {
			int width;

			columns[report->keys[k]].cell(report, row, text);
			width = format__width(text);
			if (width > widths[k])
				widths[k] = width;
		}
	}
}

static void put_titles(const struct report *report, const int *widths, FILE *to)
{
	fputs(report->children ? "# Children        Self" : "# Overhead", to);
	for (size_t k = 0; k < report->n_keys; k++)
		put_cell(to, columns[report->keys[k]].title, widths[k], k + 1 == report->n_keys);
	fputs(report->children ? "\n# ........  ..........  " : "\n# ........  ", to);
	for (size_t k = 0; k < report->n_keys; k++) {
		put_dots(to, widths[k]);
		fputs(k + 1 < report->n_keys ? "  " : "\n#\n", to);
	}
}

static void put_row(const struct report *report, const struct profile_row *row, const int *widths,
		    FILE *to)
{
	char text[CELL];

	put_percent(report, row->total_ns, to);
	if (report->children) {
		fputs("  ", to);
		put_percent(report, row->self_ns, to);
	}
	for (size_t k = 0; k < report->n_keys; k++) {
		columns[report->keys[k]].cell(report, row, text);
		put_cell(to, text, widths[k], k + 1 == report->n_keys);
	}
	fputc('\n', to);
	if (report->tree && row->tree)
		report__tree(report, row, to);
}

static void put_table(const struct report *report, FILE *to)
{
	int widths[PROFILE_KEY_COUNT] = {};
	size_t hidden = 0;

	find_widths(report, widths);
	put_titles(report, widths, to);
	for (size_t i = 0; i < report->profile->rows.n; i++) {
		const struct profile_row *row = &report->profile->rows.data[i];

		if (is_shown(report, row))
			put_row(report, row, widths, to);
		else
			hidden++;
	}
	if (hidden)
		fprintf(to, "#\n# %zu row%s below %g%% not shown (--percent-limit)\n", hidden,
			hidden == 1 ? "" : "s", report->percent_limit);
}

int report__text(const struct report *report, FILE *to)
{
	const char *advice, *empty = report__why_empty(report, &advice);

	report__header(report, to);
	if (report->idle_explained)
		return report__idle(report, to);
	if (report->threads_only) {
		report__threads(report, "", to);
		return 0;
	}
	if (report->threads->threads.n) {
		report__threads(report, "# ", to);
		fputs("#\n", to);
	}
	if (empty) {
		fprintf(to, "# %s\n", empty);
		if (*advice)
			fprintf(to, "# %s\n", advice);
		return 0;
	}
	put_table(report, to);
	return 0;
}
