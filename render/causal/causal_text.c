// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/round.h"
#include "render/causal/causal_views.h"
#include "render/causal/causal_verdict.h"
#include "render/format.h"
#include "render/terminal.h"

#define DEFAULT_WIDTH 80
#define MIN_WIDTH     60

/* The columns left of the chart. */
#define CHART_COLUMN 38

/* When there are more results, neighbors are merged. */
#define MAX_ROWS 10

/* Names listed without a chart. */
#define MAX_NAMES 12

struct writer {
	const struct causal_effects *effects;
	const struct causal_text_options *options;
	FILE *to;
	int width;
};

/* A row of a chart. */
struct row {
	double speedup;
	double value, low, high;
	double weight;
};

/* The x axis, the same for all charts of a progress point. */
struct scale {
	double from;
	double to;
	int cells;
};

static void begin_color(const struct writer *writer, enum color color)
{
	fputs(color__begin(writer->options->color, color), writer->to);
}

static void end_color(const struct writer *writer, enum color color)
{
	fputs(color__end(writer->options->color, color), writer->to);
}

static void put_wrapped(const struct writer *writer, const char *text, const char *indent)
{
	format__wrapped(writer->to, text, indent, (int)strlen(indent), writer->width);
}

static void put_sentence(void *context, const char *text)
{
	const struct writer *writer = context;

	begin_color(writer, COLOR_BOLD);
	format__wrapped(writer->to, text, "  ", 0, writer->width);
	end_color(writer, COLOR_BOLD);
}

static void put_commands(const struct writer *writer)
{
	const struct causal_profile *profile = writer->effects->profile;
	const char *command = profile->runs.data[0].command;

	for (size_t i = 1; i < profile->runs.n && command; i++)
		if (strcmp(profile->runs.data[i].command, command) != 0)
			command = NULL;
	fputs("# command    : ", writer->to);
	format__wrapped(writer->to, command ? command : "several", "#              ", 15, 1000);
}

static void put_header(const struct writer *writer)
{
	const struct causal_profile *profile = writer->effects->profile;
	uint64_t runtime = 0, delay = 0, disturbed = 0;
	char text[24], paused[24];

	for (size_t i = 0; i < profile->runs.n; i++) {
		runtime += profile->runs.data[i].runtime_ns;
		delay += profile->runs.data[i].delay_ns;
	}
	for (size_t i = 0; i < writer->effects->curves.n; i++)
		disturbed += writer->effects->curves.data[i].disturbed;
	if (profile->runs.n)
		put_commands(writer);
	fprintf(writer->to, "# runs       : %zu, %s, including %s of inserted pauses\n",
		profile->runs.n, duration__text(runtime, text), duration__text(delay, paused));
	fprintf(writer->to, "# experiments: %zu; targets: %zu; progress points: %zu",
		profile->experiments.n, profile->targets.n, profile->points.n);
	if (disturbed)
		fprintf(writer->to, "; disturbed, left out: %" PRIu64, disturbed);
	fputs("\n\n", writer->to);
}

static struct row row_from(const struct causal_result *result)
{
	double width = fmax(result->high - result->low, 1e-6);

	return (struct row){result->speedup, result->program_speedup, result->low, result->high,
			    1 / (width * width)};
}

/* Merges @other into @row, weighted by precision. */
static void merge_row(struct row *row, const struct row *other)
{
	double weight = row->weight + other->weight, half = 0.5 / sqrt(weight);

	row->speedup = (row->weight * row->speedup + other->weight * other->speedup) / weight;
	row->value = (row->weight * row->value + other->weight * other->value) / weight;
	row->low = row->value - half;
	row->high = row->value + half;
	row->weight = weight;
}

/* The rows of a curve: one per result, or one per 10% of speedup when there are many. */
static size_t rows_from(const struct causal_curve *curve, struct row *rows)
{
	size_t n = 0;
	int last = -1;

	for (size_t i = 0; i < curve->results.n; i++) {
		const struct row row = row_from(&curve->results.data[i]);
		int tenth = (int)ceil(row.speedup * MAX_ROWS - 1e-6);

		if (n && curve->results.n > MAX_ROWS && tenth == last)
			merge_row(&rows[n - 1], &row);
		else
			rows[n++] = row;
		last = tenth;
	}
	return n;
}

static int cell_of(const struct scale *scale, double value)
{
	double part = (value - scale->from) / (scale->to - scale->from);
	int cell = (int)lround(part * (scale->cells - 1));

	return cell < 0 ? 0 : cell >= scale->cells ? scale->cells - 1 : cell;
}

/* Prints the axis: "-20%      0       20%". */
static void put_axis(const struct writer *writer, const struct scale *scale)
{
	double range = scale->to - scale->from, step = 0.1;
	int at = 0;

	while (range / step > scale->cells / 8.0)
		step += step < 0.2 ? 0.1 : step < 0.25 ? 0.05 : 0.25;
	fprintf(writer->to, "%-*s", CHART_COLUMN, "speedup  program, 95%     throughput ");
	for (int i = (int)ceil(scale->from / step - 1e-9); i * step < scale->to + 1e-9; i++) {
		char text[16];
		int n = snprintf(text, sizeof(text), "%ld%%", lround(100 * i * step));
		int cell = cell_of(scale, i * step);

		if (cell + n > scale->cells)
			cell = scale->cells - n;
		if (cell >= at + (at > 0))
			at += fprintf(writer->to, "%*s%s", cell - at, "", text);
	}
	fputc('\n', writer->to);
}

/* "|======(==*--)    " */
static void put_bar(const struct writer *writer, const struct scale *scale, const struct row *row)
{
	_cleanup_free_ char *cells = malloc((size_t)scale->cells + 1);
	int zero = cell_of(scale, 0), value = cell_of(scale, row->value);
	int low = cell_of(scale, row->low), high = cell_of(scale, row->high);
	int from = value < zero ? value : zero, to = value < zero ? zero : value;

	if (!cells)
		return;
	for (int i = 0; i < scale->cells; i++)
		cells[i] = i >= from && i <= to ? '=' : i > low && i < high ? '-' : ' ';
	cells[zero] = '|';
	cells[low] = row->low < scale->from ? '<' : '(';
	cells[high] = row->high > scale->to ? '>' : ')';
	cells[value] = '*';
	for (to = scale->cells; to > 0 && cells[to - 1] == ' '; to--)
		;
	fprintf(writer->to, "%.*s\n", to, cells);
}

static void put_row(const struct writer *writer, const struct scale *scale, const struct row *row,
		    bool throughput)
{
	double times = causal_label__throughput_factor(row->value);
	char text[64], factor[16] = "";

	snprintf(text, sizeof(text), "(%.1f..%.1f)", 100 * row->low, 100 * row->high);
	if (throughput && times > 0)
		snprintf(factor, sizeof(factor), "x%.2f", times);
	fprintf(writer->to, "%5.0f%% %7.1f%% %-15s %5s ", 100 * row->speedup, 100 * row->value,
		text, factor);
	put_bar(writer, scale, row);
}

static const char *shape_text(const struct causal_curve *curve, char *text, size_t size)
{
	switch (curve->shape) {
	case CAUSAL_PLATEAU:
		snprintf(text, size, "no more gain past %.0f%%", 100 * curve->plateau_at);
		break;
	case CAUSAL_GAIN:
		snprintf(text, size, "gain");
		break;
	case CAUSAL_CONTENTION:
		snprintf(text, size, "contention");
		break;
	case CAUSAL_UNSURE:
		snprintf(text, size, "not sure");
		break;
	case CAUSAL_NO_EFFECT:
		snprintf(text, size, "no effect");
		break;
	}
	return text;
}

static void put_title(const struct writer *writer, const struct causal_curve *curve, size_t number)
{
	char name[CAUSAL_LABEL_SIZE], text[CAUSAL_LABEL_SIZE + 128], shape[64];
	enum color color = curve->shape == CAUSAL_CONTENTION ? COLOR_HOT : COLOR_WARM;
	int n = fprintf(writer->to, "%2zu. ", number);

	causal_label__curve(writer->effects->profile, curve, name, sizeof(name));
	snprintf(text, sizeof(text), "%s: %s", name, shape_text(curve, shape, sizeof(shape)));
	if (curve->phase_factor < 1 - 1e-9) {
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "; runs %.0f%% of the time",
			 100 * curve->phase_factor);
	}
	begin_color(writer, color);
	format__wrapped(writer->to, text, "    ", n, writer->width);
	end_color(writer, color);
}

static int put_curve(const struct writer *writer, const struct causal_curve *curve,
		     const struct scale *scale, size_t number)
{
	_cleanup_free_ struct row *rows = calloc(curve->results.n, sizeof(*rows));
	enum causal_point_kind kind = writer->effects->profile->points.data[curve->point].kind;
	size_t n = rows ? rows_from(curve, rows) : 0;

	if (!rows)
		return -ENOMEM;
	put_title(writer, curve, number);
	put_axis(writer, scale);
	for (size_t i = 0; i < n; i++)
		put_row(writer, scale, &rows[i],
			kind == CAUSAL_THROUGHPUT || kind == CAUSAL_SAMPLED);
	fputc('\n', writer->to);
	return 0;
}

static bool is_drawn(const struct writer *writer, const struct causal_curve *curve)
{
	return writer->options->all ||
	       (curve->shape != CAUSAL_NO_EFFECT && curve->shape != CAUSAL_UNSURE);
}

/* The x axis for the charts of @point: all estimates, and most of their intervals. */
static struct scale scale_for(const struct writer *writer, uint32_t point)
{
	struct scale scale = {.cells = writer->width - CHART_COLUMN};

	for (size_t i = 0; i < writer->effects->curves.n; i++) {
		const struct causal_curve *curve = &writer->effects->curves.data[i];

		if (curve->point != point || !is_drawn(writer, curve))
			continue;
		for (size_t k = 0; k < curve->results.n; k++) {
			const struct causal_result *result = &curve->results.data[k];

			scale.from =
				fmin(scale.from, fmax(result->low, result->program_speedup - 0.3));
			scale.to =
				fmax(scale.to, fmin(result->high, result->program_speedup + 0.3));
		}
	}
	scale.from = fmax(scale.from, -1);
	scale.to = fmin(scale.to, 1);
	/* Do not magnify noise. */
	scale.to = fmax(scale.to, scale.from + 0.25);
	return scale;
}

/* Prints ": now once in 2.4 ms", measured in the halves without a speedup. */
static void put_current_rate(const struct writer *writer, uint32_t index)
{
	const struct causal_profile *profile = writer->effects->profile;
	enum causal_point_kind kind = profile->points.data[index].kind;
	double time = 0, visits = 0;
	char text[24];

	for (size_t i = 0; i < profile->experiments.n; i++) {
		const struct causal_experiment *experiment = &profile->experiments.data[i];
		const struct causal_half *half =
			experiment->whole_run ? &experiment->with : &experiment->base;

		if (experiment->whole_run && experiment->speedup > 0)
			continue;
		if (experiment->whole_run && kind == CAUSAL_END_TO_END) {
			time += (double)half->duration_ns;
			visits++;
		}
		for (uint32_t k = 0; k < half->n_points && kind != CAUSAL_END_TO_END; k++) {
			if (half->points[k].point != index)
				continue;
			visits += (double)half->points[k].visits;
			time += kind == CAUSAL_LATENCY
					? half->points[k].occupied_ns
					: (double)half->duration_ns - (double)half->delay_ns;
		}
	}
	if (!(visits > 0) || kind == CAUSAL_SAMPLED)
		return;
	duration__text(round__uint64(time / visits), text);
	fprintf(writer->to, kind == CAUSAL_THROUGHPUT ? ": now once in %s" : ": now %s", text);
}

/* Lists curves of one shape that are not drawn: "Not sure yet: a, b and 3 more". */
static void put_undrawn(const struct writer *writer, uint32_t point, enum causal_shape shape,
			const char *begin)
{
	char list[CAUSAL_LABEL_SIZE] = "", name[CAUSAL_LABEL_SIZE], text[CAUSAL_LABEL_SIZE + 64];
	size_t n = 0;

	for (size_t i = 0; i < writer->effects->curves.n; i++) {
		const struct causal_curve *curve = &writer->effects->curves.data[i];
		size_t used = strlen(list);

		if (curve->point != point || curve->shape != shape || n++ >= MAX_NAMES ||
		    used + 256 > sizeof(list))
			continue;
		causal_label__curve(writer->effects->profile, curve, name, sizeof(name));
		snprintf(list + used, sizeof(list) - used, "%s%.160s", used ? ", " : "", name);
		used = strlen(list);
		if (shape == CAUSAL_UNSURE)
			snprintf(list + used, sizeof(list) - used, " (%.0f..%.0f%%)",
				 format__whole_percent(curve->best_low),
				 format__whole_percent(curve->best_high));
	}
	if (!n)
		return;
	if (n > MAX_NAMES) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof(list) - used, " and %zu more (--all)", n - MAX_NAMES);
	}
	snprintf(text, sizeof(text), "%s: %s", begin, list);
	format__wrapped(writer->to, text, "  ", 0, writer->width);
}

/* Adds the names of what is refused for the reason of @first to @list, and how many there are. */
static size_t list_refused(const struct causal_effects *effects, const struct causal_refusal *first,
			   char *list, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < effects->refusals.n; i++) {
		const struct causal_refusal *refusal = &effects->refusals.data[i];
		char name[CAUSAL_LABEL_SIZE];

		if (refusal->kind != first->kind || n++ >= MAX_NAMES)
			continue;
		causal_label__refusal(effects->profile, refusal, name, sizeof(name));
		format__append(list, size, "%s%.120s", n > 1 ? ", " : "", name);
	}
	if (n > MAX_NAMES)
		format__append(list, size, " and %zu more", n - MAX_NAMES);
	return n;
}

/* Prints "Refused: f at request, g at request" and the reason, once for those that share it. */
static void put_refusals(const struct writer *writer)
{
	const struct causal_effects *effects = writer->effects;

	for (size_t i = 0; i < effects->refusals.n; i++) {
		const struct causal_refusal *first = &effects->refusals.data[i];
		char text[2 * CAUSAL_LABEL_SIZE] = "Refused: ";
		bool shown = false;
		size_t n;

		for (size_t k = 0; k < i && !shown; k++)
			shown = effects->refusals.data[k].kind == first->kind;
		if (shown)
			continue;
		n = list_refused(effects, first, text, sizeof(text));
		format__append(text, sizeof(text), n > 1 ? ". Of the first: %s" : ": %s",
			       first->text);
		put_wrapped(writer, text, "  ");
	}
	if (effects->refusals.n)
		fputc('\n', writer->to);
}

static int put_point(const struct writer *writer, uint32_t index)
{
	const struct scale scale = scale_for(writer, index);
	char text[CAUSAL_LABEL_SIZE];
	size_t drawn = 0, left = 0;
	int err = 0;

	causal_label__point(&writer->effects->profile->points.data[index], text, sizeof(text));
	begin_color(writer, COLOR_BOLD);
	format__safe(writer->to, text);
	end_color(writer, COLOR_BOLD);
	put_current_rate(writer, index);
	fputs("\n\n", writer->to);
	for (size_t i = 0; i < writer->effects->curves.n && !err; i++) {
		const struct causal_curve *curve = &writer->effects->curves.data[i];

		if (curve->point != index || !is_drawn(writer, curve))
			continue;
		if (writer->options->max_curves && drawn >= writer->options->max_curves)
			left++;
		else
			err = put_curve(writer, curve, &scale, ++drawn);
	}
	if (left)
		fprintf(writer->to, "%zu more with an effect (--max 0 shows all).\n", left);
	if (writer->options->all)
		return err;
	put_undrawn(writer, index, CAUSAL_UNSURE, "Not sure yet");
	put_undrawn(writer, index, CAUSAL_NO_EFFECT, "What does not matter (within 2%)");
	fputc('\n', writer->to);
	return err;
}

static bool has_curves(const struct causal_effects *effects, uint32_t point)
{
	for (size_t i = 0; i < effects->curves.n; i++)
		if (effects->curves.data[i].point == point)
			return true;
	return false;
}

int causal_text__print(const struct causal_effects *effects,
		       const struct causal_text_options *options, FILE *to)
{
	const struct writer writer = {
		.effects = effects,
		.options = options,
		.to = to,
		.width = options->width > MIN_WIDTH ? options->width : DEFAULT_WIDTH,
	};
	int err = 0;

	put_header(&writer);
	causal_verdict__sentences(effects, put_sentence, (void *)&writer);
	fputc('\n', to);
	/* Progress points by kind: throughput, latency, sampled, whole runs. */
	for (int kind = 0; kind <= CAUSAL_END_TO_END; kind++)
		for (uint32_t i = 0; i < effects->profile->points.n && !err; i++)
			if ((int)effects->profile->points.data[i].kind == kind &&
			    has_curves(effects, i))
				err = put_point(&writer, i);
	put_refusals(&writer);
	for (size_t i = 0; i < effects->problems.n; i++) {
		fputs("! ", to);
		put_wrapped(&writer, effects->problems.data[i].text, "  ");
	}
	return err;
}
