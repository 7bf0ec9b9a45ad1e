// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/firefox/firefox.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "base/version.h"
#include "recording/wait_class.h"
#include "render/fields.h"
#include "render/export/firefox/firefox_tables.h"

/* What is printed of each row. */
enum firefox_column {
	COLUMN_LENGTH, /* nothing: rows are counted */
	COLUMN_STACK,
	COLUMN_TIME,
	COLUMN_WEIGHT,
	COLUMN_CPU,
	COLUMN_NAME,
	COLUMN_END,
	COLUMN_PHASE,
	COLUMN_CATEGORY,
	COLUMN_DATA,
};

struct firefox_writer {
	const struct export *export;
	const struct model *model;
	FILE *to;
	struct export_waits waits;
	struct firefox_tables tables;
	struct buffer text;
	enum firefox_column column; /* of the thread that is written */
	uint64_t rows;
	uint64_t last_time;   /* of a row of the column */
	uint32_t *first_span; /* by thread: 1 + number of its first request, 0: none */
	uint32_t *next_span;  /* by request: 1 + number of the thread's next one */
};

/* ns as the ms of the format, exactly. */
static void put_ms(struct firefox_writer *writer, int64_t ns)
{
	uint64_t abs = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	const char *sign = ns < 0 ? "-" : "";

	if (abs % 1000000)
		fprintf(writer->to, "%s%" PRIu64 ".%06" PRIu64, sign, abs / 1000000, abs % 1000000);
	else
		fprintf(writer->to, "%s%" PRIu64, sign, abs / 1000000);
}

static void put_time(struct firefox_writer *writer, uint64_t time)
{
	put_ms(writer, (int64_t)(time - writer->model->start));
}

static void put_string(struct firefox_writer *writer, const char *text)
{
	fprintf(writer->to, "%" PRIu32, firefox_tables__string(&writer->tables, text));
}

static bool is_left_out(const struct firefox_writer *writer, const struct weighted_sample *sample)
{
	return sample->idle && !writer->export->idle;
}

static int visit_stacks(void *context, const struct weighted_sample *sample)
{
	struct firefox_writer *writer = context;
	const struct model_interval *interval = sample->interval;
	const struct model_thread *thread = &writer->model->threads.data[sample->thread];

	if (is_left_out(writer, sample))
		return 0;
	firefox_tables__add(&writer->tables, &writer->waits, sample);
	if (interval && interval->wake)
		firefox_tables__add_waker(&writer->tables, &thread->wakes.data[interval->wake - 1]);
	return writer->tables.failed ? -ENOMEM : 0;
}

static void next_row(struct firefox_writer *writer)
{
	if (writer->rows++ && writer->column != COLUMN_LENGTH)
		fputc(',', writer->to);
}

/* One row of the table of samples. */
static void put_sample(struct firefox_writer *writer, const struct weighted_sample *sample,
		       bool is_end)
{
	uint64_t time;
	int64_t stack;

	next_row(writer);
	switch (writer->column) {
	case COLUMN_STACK:
		stack = firefox_tables__stack(&writer->tables, &writer->waits, sample);
		if (stack < 0)
			fputs("null", writer->to);
		else
			fprintf(writer->to, "%" PRId64, stack);
		break;
	case COLUMN_TIME:
		/* A tick that was due shortly before the thread ran again is in a wait. */
		time = is_end ? sample->until : sample->from;
		if (writer->rows == 1 || time > writer->last_time)
			writer->last_time = time;
		put_time(writer, writer->last_time);
		break;
	case COLUMN_WEIGHT:
		put_ms(writer, is_end ? 0 : (int64_t)sample->ns);
		break;
	case COLUMN_CPU:
		/* In us. */
		fprintf(writer->to, "%" PRIu64,
			sample->class == CLASS_CPU ? (sample->ns + 500) / 1000 : 0);
		break;
	default:
		break;
	}
}

/*
 * The viewer draws what a thread does at a time as the sample that is nearest: so time off the CPU
 * that is longer than the sampling period has a second sample at its end, without a weight.
 */
static int visit_sample(void *context, const struct weighted_sample *sample)
{
	struct firefox_writer *writer = context;

	if (is_left_out(writer, sample))
		return 0;
	put_sample(writer, sample, false);
	if (sample->until - sample->from > writer->model->period_ns)
		put_sample(writer, sample, true);
	return writer->tables.failed ? -ENOMEM : ferror(writer->to) ? -EIO : 0;
}

static void put_wait_data(struct firefox_writer *writer, const struct weighted_sample *sample)
{
	const struct model *model = writer->model;
	const struct model_interval *interval = sample->interval;
	uint64_t wake_time = interval->t_out + interval->blocked_ns;
	struct wait_cause cause = export_waits__cause(&writer->waits, sample->thread, interval);
	char object[1024];

	object__text(model, sample->object, object, sizeof(object));
	fprintf(writer->to, "{\"type\":\"Wait\",\"class\":\"%s\",\"idle\":\"%s\"",
		wait_class__name(sample->class), idle_reason__name(sample->idle));
	if (*object) {
		fputs(",\"object\":", writer->to);
		put_string(writer, object);
	}
	fputs(",\"waker\":", writer->to);
	put_string(writer,
		   export_waits__cause_text(&writer->waits, cause, wake_time, &writer->text));
	fputs(",\"ns\":", writer->to);
	put_ms(writer, (int64_t)sample->ns);
	fputs(",\"runq\":", writer->to);
	put_ms(writer, (int64_t)interval->runq_ns);
	if (interval->wake) {
		const struct model_wake *wake =
			&model->threads.data[sample->thread].wakes.data[interval->wake - 1];
		int64_t stack = firefox_tables__waker(&writer->tables, wake);

		if (stack >= 0 && wake->waker) {
			fprintf(writer->to,
				",\"cause\":{\"tid\":%u,\"stack\":%" PRId64 ",\"time\":",
				model->threads.data[wake->waker].tid, stack);
			put_time(writer, wake->time);
			fputc('}', writer->to);
		}
	}
	fputc('}', writer->to);
}

/* One row of the table of markers, for the blocked part of an interval. */
static int visit_wait(void *context, const struct weighted_sample *sample)
{
	struct firefox_writer *writer = context;

	if (!export_waits__is_blocked(sample) || is_left_out(writer, sample))
		return 0;
	next_row(writer);
	switch (writer->column) {
	case COLUMN_NAME:
		put_string(writer, kind__name(export_waits__kind(&writer->waits, sample)));
		break;
	case COLUMN_TIME:
		put_time(writer, sample->from);
		break;
	case COLUMN_END:
		put_time(writer, sample->until);
		break;
	case COLUMN_PHASE:
		fputc('1', writer->to); /* an interval */
		break;
	case COLUMN_CATEGORY:
		fprintf(writer->to, "%d", firefox_category__of(sample));
		break;
	case COLUMN_DATA:
		put_wait_data(writer, sample);
		break;
	default:
		break;
	}
	return writer->tables.failed ? -ENOMEM : ferror(writer->to) ? -EIO : 0;
}

static void put_request(struct firefox_writer *writer, const struct model_span *span)
{
	next_row(writer);
	switch (writer->column) {
	case COLUMN_NAME:
		put_string(writer, model__string(writer->model, span->name));
		break;
	case COLUMN_TIME:
		put_time(writer, span->arrived);
		break;
	case COLUMN_END:
		put_time(writer, span->ended);
		break;
	case COLUMN_PHASE:
		fputc('1', writer->to);
		break;
	case COLUMN_CATEGORY:
		fprintf(writer->to, "%d", FIREFOX_OTHER);
		break;
	case COLUMN_DATA:
		fputs("{\"type\":\"Request\",\"queue\":", writer->to);
		put_ms(writer, (int64_t)(span->begun - span->arrived));
		if (span->n_parts)
			fprintf(writer->to, ",\"tag\":\"%" PRIu64 "\"", span->id);
		fputc('}', writer->to);
		break;
	default:
		break;
	}
}

/* A run from which time was stolen. */
static void put_stolen(struct firefox_writer *writer, const struct model_run *run)
{
	next_row(writer);
	switch (writer->column) {
	case COLUMN_NAME:
		put_string(writer, "stolen");
		break;
	case COLUMN_TIME:
		put_time(writer, run->from);
		break;
	case COLUMN_END:
		put_time(writer, run->until);
		break;
	case COLUMN_PHASE:
		fputc('1', writer->to);
		break;
	case COLUMN_CATEGORY:
		fprintf(writer->to, "%d", FIREFOX_OTHER);
		break;
	case COLUMN_DATA:
		fputs("{\"type\":\"Stolen\",\"ns\":", writer->to);
		put_ms(writer, (int64_t)run->stolen_ns);
		fputc('}', writer->to);
		break;
	default:
		break;
	}
}

/* Rows of @thread's table, each as @column of it. */
static int write_rows(struct firefox_writer *writer, uint32_t thread, bool markers,
		      enum firefox_column column)
{
	const struct model *model = writer->model;
	struct model_run run;
	size_t at = 0;
	int err;

	writer->column = column;
	writer->rows = 0;
	err = weighted_samples__visit_thread(model, writer->export->filter, thread,
					     markers ? visit_wait : visit_sample, writer);
	for (uint32_t i = markers && !err ? writer->first_span[thread] : 0; i;
	     i = writer->next_span[i - 1])
		put_request(writer, &model->spans.data[i - 1]);
	while (markers && !err && export__stolen_run(writer->export, thread, &at, &run))
		put_stolen(writer, &run);
	return err;
}

static int write_table(struct firefox_writer *writer, uint32_t thread, bool markers)
{
	static const struct {
		const char *name;
		enum firefox_column column;
	} samples[] = {{"stack", COLUMN_STACK},
		       {"time", COLUMN_TIME},
		       {"weight", COLUMN_WEIGHT},
		       {"threadCPUDelta", COLUMN_CPU}},
	  marks[] = {{"name", COLUMN_NAME},	    {"startTime", COLUMN_TIME},
		     {"endTime", COLUMN_END},	    {"phase", COLUMN_PHASE},
		     {"category", COLUMN_CATEGORY}, {"data", COLUMN_DATA}};
	size_t n = markers ? ARRAY_SIZE(marks) : ARRAY_SIZE(samples);
	int err = write_rows(writer, thread, markers, COLUMN_LENGTH);

	fprintf(writer->to, ",\n\"%s\":{\"length\":%" PRIu64 "%s", markers ? "markers" : "samples",
		writer->rows, markers ? "" : ",\"weightType\":\"tracing-ms\"");
	for (size_t i = 0; i < n && !err; i++) {
		fprintf(writer->to, ",\"%s\":[", markers ? marks[i].name : samples[i].name);
		err = write_rows(writer, thread, markers,
				 markers ? marks[i].column : samples[i].column);
		fputc(']', writer->to);
	}
	fputc('}', writer->to);
	return err;
}

static void put_life(struct firefox_writer *writer, const char *begin, uint64_t from,
		     const char *end, uint64_t until, bool ended)
{
	fprintf(writer->to, ",\"%s\":", begin);
	put_time(writer, from);
	fprintf(writer->to, ",\"%s\":", end);
	if (ended)
		put_time(writer, until);
	else
		fputs("null", writer->to);
}

static int write_thread(struct firefox_writer *writer, uint32_t index)
{
	const struct model *model = writer->model;
	const struct model_thread *thread = &model->threads.data[index];
	const struct model_process *process = &model->processes.data[thread->process];
	FILE *to = writer->to;
	int err;

	fputs("{\"name\":", to);
	json__put_string(to, export_thread__name(model, index));
	fputs(",\"processName\":", to);
	json__put_string(to, export_thread__name(model, process->leader));
	/* Pids of the format are text: a second process with the same pid has another one. */
	fprintf(to, ",\"processType\":\"default\",\"pid\":\"%u", thread->tgid);
	if (process->previous)
		fprintf(to, ".%u", thread->process);
	fprintf(to,
		"\",\"tid\":%u,\"isMainThread\":%s,\"showMarkersInTimeline\":true"
		",\"pausedRanges\":[]",
		thread->tid, thread->tid == thread->tgid ? "true" : "false");
	put_life(writer, "processStartupTime", process->created, "processShutdownTime",
		 process->ended, process->ended != MODEL_FOREVER);
	put_life(writer, "registerTime", thread->created, "unregisterTime", thread->ended,
		 thread->exited);
	err = write_table(writer, index, false);
	err = err ? err : write_table(writer, index, true);
	fputc('}', to);
	return err;
}

static int write_threads(struct firefox_writer *writer)
{
	const struct model *model = writer->model;
	bool first = true;
	int err = 0;

	fputs(",\n\"libs\":[],\"pages\":[],\"threads\":[", writer->to);
	for (uint32_t i = 1; i < model->threads.n && !err; i++) {
		if (!sample_filter__thread(writer->export->filter, &model->threads.data[i]))
			continue;
		fputs(first ? "\n" : ",\n", writer->to);
		first = false;
		err = write_thread(writer, i);
	}
	fputs("],\n", writer->to);
	return err;
}

static void write_categories(FILE *to)
{
	fputs(",\"categories\":[", to);
	for (int i = 0; i < FIREFOX_CATEGORY_COUNT; i++) {
		const struct firefox_category_info *info = firefox_category__info(i);

		fprintf(to, "%s{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			i ? "," : "", info->name, info->color);
	}
	fputc(']', to);
}

static const char marker_schema[] =
	",\n\"markerSchema\":["
	"{\"name\":\"Wait\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
	"\"tooltipLabel\":\"{marker.name}\","
	"\"tableLabel\":\"{marker.name} {marker.data.object}, woken by {marker.data.waker}\","
	"\"chartLabel\":\"{marker.name} {marker.data.object}\",\"isStackBased\":true,"
	"\"description\":\"Time in which the thread was blocked. The stack is that of who ended "
	"it.\","
	"\"fields\":["
	"{\"key\":\"class\",\"label\":\"Class\",\"format\":\"string\"},"
	"{\"key\":\"object\",\"label\":\"Object\",\"format\":\"unique-string\"},"
	"{\"key\":\"waker\",\"label\":\"Ended by\",\"format\":\"unique-string\"},"
	"{\"key\":\"idle\",\"label\":\"Wait for work\",\"format\":\"string\"},"
	"{\"key\":\"ns\",\"label\":\"Stands for\",\"format\":\"duration\"},"
	"{\"key\":\"runq\",\"label\":\"Then waited for a CPU\",\"format\":\"duration\"}]},"
	"{\"name\":\"Stolen\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"]"
	","
	"\"chartLabel\":\"{marker.data.ns} stolen\",\"tableLabel\":\"{marker.data.ns} stolen\","
	"\"description\":\"A run, of which a hypervisor or interrupts took a part.\","
	"\"fields\":[{\"key\":\"ns\",\"label\":\"Stolen\",\"format\":\"duration\"}]},"
	"{\"name\":\"Request\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-"
	"overview\"],"
	"\"chartLabel\":\"{marker.name} {marker.data.tag}\","
	"\"tableLabel\":\"{marker.name} {marker.data.tag}\",\"fields\":["
	"{\"key\":\"tag\",\"label\":\"Number\",\"format\":\"string\"},"
	"{\"key\":\"queue\",\"label\":\"Queued\",\"format\":\"duration\"}]}]";

static void put_meta(struct firefox_writer *writer, const char *key, const char *meta)
{
	const char *value = model__meta(writer->model, meta);

	if (!value)
		return;
	fprintf(writer->to, ",\"%s\":", key);
	json__put_string(writer->to, value);
}

static void write_meta(struct firefox_writer *writer)
{
	const struct model *model = writer->model;
	FILE *to = writer->to;
	char program[NAME_MAX + 1];

	export__program(model, program, sizeof(program));
	fprintf(to,
		"{\"meta\":{\"version\":31,\"preprocessedProfileVersion\":%d,\"processType\":0"
		",\"stackwalk\":1,\"debug\":false,\"platform\":\"Linux\",\"toolkit\":\"\""
		",\"symbolicated\":true,\"usesOnlyOneStackType\":true"
		",\"sourceCodeIsNotOnSearchfox\":true,\"importedFrom\":\"dwell %s\""
		",\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"µs\"}"
		",\"product\":",
		FIREFOX_PROFILE_VERSION, dwell_version);
	json__put_string(to, program);
	put_meta(writer, "arguments", "command");
	put_meta(writer, "oscpu", "kernel");
	put_meta(writer, "abi", "machine");
	fputs(",\"interval\":", to);
	put_ms(writer, (int64_t)model->period_ns);
	fputs(",\"startTime\":", to);
	put_ms(writer, (int64_t)model__meta_number(model, "start_realtime", 0));
	fprintf(to,
		",\"startTimeAsClockMonotonicNanosecondsSinceBoot\":%" PRIu64
		",\"profilingStartTime\":0,\"profilingEndTime\":",
		model->start);
	put_time(writer, model->end);
	write_categories(to);
	fputs(marker_schema, to);
	fputc('}', to);
}

/* Lists the requests of each thread, in their order. */
static int find_requests(struct firefox_writer *writer)
{
	const struct model *model = writer->model;

	writer->first_span = calloc(model->threads.n + 1, sizeof(*writer->first_span));
	writer->next_span = calloc(model->spans.n + 1, sizeof(*writer->next_span));
	if (!writer->first_span || !writer->next_span)
		return -ENOMEM;
	for (size_t i = writer->export->filter->classes ? 0 : model->spans.n; i--;) {
		uint32_t *first = &writer->first_span[model->spans.data[i].thread];

		writer->next_span[i] = *first;
		*first = (uint32_t)i + 1;
	}
	return 0;
}

int firefox__write(const struct export *export, FILE *to)
{
	struct firefox_writer writer = {
		.export = export,
		.model = export->model,
		.to = to,
		.tables = {.model = export->model},
	};
	int err = export_waits__begin(&writer.waits, export);

	err = err ? err : find_requests(&writer);
	/* First of all the stacks: what a stack is called depends on their number. */
	err = err ? err
		  : weighted_samples__visit(export->model, export->filter, visit_stacks, &writer);
	if (!err) {
		write_meta(&writer);
		err = write_threads(&writer);
	}
	if (!err) {
		firefox_tables__write(&writer.tables, to);
		fputs("}\n", to);
		err = writer.tables.failed || writer.text.failed ? -ENOMEM : 0;
	}
	firefox_tables__free(&writer.tables);
	export_waits__free(&writer.waits);
	buffer__free(&writer.text);
	free(writer.first_span);
	free(writer.next_span);
	return err;
}
