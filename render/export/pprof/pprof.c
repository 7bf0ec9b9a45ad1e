// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/pprof/pprof.h"

#include <errno.h>
#include <stdlib.h>

#include "recording/wait_class.h"
#include "render/export/pprof/gzip_stream.h"
#include "render/export/pprof/profile_tables.h"
#include "render/export/protobuf.h"

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,

	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,

	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
	LABEL_NUM_UNIT = 4,

	MAPPING_ID = 1,
	MAPPING_MEMORY_START = 2,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,

	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,

	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,

	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
};

/* Values of a sample. Some readers show the last one, whatever is said to be the default. */
enum { VALUE_OFF_CPU, VALUE_RUN_QUEUE, VALUE_CPU, VALUE_COUNT };

static const char *const value_names[VALUE_COUNT] = {"off_cpu", "run_queue", "cpu"};

struct pprof {
	struct profile_tables tables;
	struct protobuf message; /* the one that is being made */
	struct gzip_stream *gzip;
	bool failed; /* no memory for a string */
};

/* @id is of a string, or an error. */
static uint64_t checked(struct pprof *pprof, int64_t id)
{
	pprof->failed |= id < 0;
	return id < 0 ? 0 : (uint64_t)id;
}

static uint64_t word_id(struct pprof *pprof, const char *word)
{
	return checked(pprof, profile_word(&pprof->tables, word));
}

/* Writes what was made. */
static void flush(struct pprof *pprof)
{
	pprof->failed |= pprof->message.out.failed;
	gzip_stream__put(pprof->gzip, pprof->message.out.data, pprof->message.out.n);
	pprof->message.out.n = 0;
}

static void put_value_type(struct pprof *pprof, uint32_t field, const char *type)
{
	struct protobuf *message = &pprof->message;
	size_t mark = protobuf__begin(message, field);

	protobuf__varint(message, VALUE_TYPE_TYPE, word_id(pprof, type));
	protobuf__varint(message, VALUE_TYPE_UNIT, word_id(pprof, "nanoseconds"));
	protobuf__end(message, mark);
}

static size_t value_of(enum wait_class class)
{
	if (class == CLASS_CPU)
		return VALUE_CPU;
	return class == CLASS_SCHED ? VALUE_RUN_QUEUE : VALUE_OFF_CPU;
}

/* The value to show first: time on the CPU, if there is any. */
static const char *default_value(const struct profile_tables *tables)
{
	uint64_t ns[VALUE_COUNT] = {};

	for (size_t i = 0; i < tables->samples.n; i++)
		ns[value_of(profile_sample(tables, i).labels.class)] += tables->ns.data[i];
	for (size_t value = 0; value < VALUE_COUNT && !ns[VALUE_CPU]; value++)
		if (ns[value])
			return value_names[value];
	return value_names[VALUE_CPU];
}

static void put_head(struct pprof *pprof)
{
	const struct model *model = pprof->tables.model;
	const char *command = model__meta(model, "command");
	struct protobuf *message = &pprof->message;

	for (size_t i = 0; i < VALUE_COUNT; i++)
		put_value_type(pprof, PROFILE_SAMPLE_TYPE, value_names[i]);
	protobuf__varint(message, PROFILE_DEFAULT_SAMPLE_TYPE,
			 word_id(pprof, default_value(&pprof->tables)));
	protobuf__varint(message, PROFILE_TIME_NANOS, profile_start(model));
	protobuf__varint(message, PROFILE_DURATION_NANOS, model->end - model->start);
	put_value_type(pprof, PROFILE_PERIOD_TYPE, value_names[VALUE_CPU]);
	protobuf__varint(message, PROFILE_PERIOD, model->period_ns);
	protobuf__varint(message, PROFILE_COMMENT,
			 checked(pprof, profile_string(&pprof->tables, command ? command : "")));
	flush(pprof);
}

static void put_label(struct pprof *pprof, const char *key, uint64_t text)
{
	size_t mark = protobuf__begin(&pprof->message, SAMPLE_LABEL);

	protobuf__varint(&pprof->message, LABEL_KEY, word_id(pprof, key));
	protobuf__varint(&pprof->message, LABEL_STR, text);
	protobuf__end(&pprof->message, mark);
}

static void put_number(struct pprof *pprof, const char *key, uint64_t number)
{
	size_t mark = protobuf__begin(&pprof->message, SAMPLE_LABEL);

	protobuf__varint(&pprof->message, LABEL_KEY, word_id(pprof, key));
	protobuf__varint(&pprof->message, LABEL_NUM, number);
	protobuf__varint(&pprof->message, LABEL_NUM_UNIT, word_id(pprof, key));
	protobuf__end(&pprof->message, mark);
}

static void put_labels(struct pprof *pprof, const struct profile_labels *labels)
{
	const struct model *model = pprof->tables.model;
	const struct model_thread *thread = &model->threads.data[labels->thread];
	int64_t process = profile_process__name(&pprof->tables, labels->thread);

	put_label(pprof, "thread", labels->comm);
	put_number(pprof, "tid", thread->tid);
	put_label(pprof, "process", checked(pprof, process));
	put_number(pprof, "pid", thread->tgid);
	put_label(pprof, "class", word_id(pprof, wait_class__name(labels->class)));
	put_label(pprof, "kind", word_id(pprof, kind__name(labels->kind)));
	if (labels->object)
		put_label(pprof, "object", labels->object);
	if (labels->waker)
		put_label(pprof, "waker", labels->waker);
	if (labels->idle)
		put_label(pprof, "idle", word_id(pprof, idle_reason__name(labels->idle)));
}

static void put_sample(struct pprof *pprof, size_t index)
{
	struct profile_sample sample = profile_sample(&pprof->tables, index);
	struct protobuf *message = &pprof->message;
	size_t sample_mark = protobuf__begin(message, PROFILE_SAMPLE);
	size_t mark = protobuf__begin(message, SAMPLE_LOCATION_ID);
	const uint32_t *locations;
	size_t n, value = value_of(sample.labels.class);

	locations = profile_stack(&pprof->tables, sample.stack, &n);
	for (size_t i = 0; i < n; i++)
		buffer__varint(&message->out, locations[i]);
	protobuf__end(message, mark);
	mark = protobuf__begin(message, SAMPLE_VALUE);
	for (size_t i = 0; i < VALUE_COUNT; i++)
		buffer__varint(&message->out, i == value ? pprof->tables.ns.data[index] : 0);
	protobuf__end(message, mark);
	put_labels(pprof, &sample.labels);
	protobuf__end(message, sample_mark);
	flush(pprof);
}

/* Marked as having all names, so that pprof does not look for the files. */
static void put_mapping(struct pprof *pprof, size_t index)
{
	const struct profile_mapping *mapping = &pprof->tables.mappings.data[index];
	struct protobuf *message = &pprof->message;
	size_t mark = protobuf__begin(message, PROFILE_MAPPING);

	protobuf__varint(message, MAPPING_ID, index);
	protobuf__varint(message, MAPPING_MEMORY_START, mapping->start);
	protobuf__varint(message, MAPPING_MEMORY_LIMIT, mapping->limit);
	protobuf__varint(message, MAPPING_FILENAME, mapping->file);
	protobuf__varint(message, MAPPING_BUILD_ID, mapping->build_id);
	for (uint32_t has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINE_FRAMES; has++)
		protobuf__varint(message, has, 1);
	protobuf__end(message, mark);
	flush(pprof);
}

static void put_location(struct pprof *pprof, size_t index)
{
	const struct profile_location *location = &pprof->tables.locations.data[index];
	struct protobuf *message = &pprof->message;
	size_t mark = protobuf__begin(message, PROFILE_LOCATION);

	protobuf__varint(message, LOCATION_ID, index);
	protobuf__varint(message, LOCATION_MAPPING_ID, location->mapping);
	protobuf__varint(message, LOCATION_ADDRESS, location->address);
	for (uint32_t i = 0; i < location->n_lines; i++) {
		const struct profile_line *line = &pprof->tables.lines.data[location->first + i];
		size_t line_mark = protobuf__begin(message, LOCATION_LINE);

		protobuf__varint(message, LINE_FUNCTION_ID, line->function);
		protobuf__varint(message, LINE_LINE, line->line);
		protobuf__end(message, line_mark);
	}
	protobuf__end(message, mark);
	flush(pprof);
}

static void put_function(struct pprof *pprof, size_t index)
{
	const struct profile_function *function = &pprof->tables.functions.data[index];
	struct protobuf *message = &pprof->message;
	size_t mark = protobuf__begin(message, PROFILE_FUNCTION);

	protobuf__varint(message, FUNCTION_ID, index);
	protobuf__varint(message, FUNCTION_NAME, function->name);
	protobuf__varint(message, FUNCTION_SYSTEM_NAME, function->name);
	protobuf__varint(message, FUNCTION_FILENAME, function->file);
	protobuf__end(message, mark);
	flush(pprof);
}

static void put_profile(struct pprof *pprof)
{
	const struct profile_tables *tables = &pprof->tables;

	put_head(pprof);
	for (size_t i = 0; i < tables->samples.n; i++)
		put_sample(pprof, i);
	for (size_t i = 1; i < tables->mappings.n; i++)
		put_mapping(pprof, i);
	for (size_t i = 1; i < tables->locations.n; i++)
		put_location(pprof, i);
	for (size_t i = 1; i < tables->functions.n; i++)
		put_function(pprof, i);
	for (size_t i = 0; i < tables->strings.n; i++) {
		size_t n;
		const char *text = intern__bytes(&tables->strings, (uint32_t)i, &n);

		protobuf__bytes(&pprof->message, PROFILE_STRING_TABLE, text, n);
		flush(pprof);
	}
}

int pprof__write(const struct export *export, FILE *to)
{
	_cleanup_free_ struct gzip_stream *gzip = malloc(sizeof(*gzip));
	struct pprof pprof = {.gzip = gzip};
	int err = gzip ? profile_tables__fill(&pprof.tables, export) : -ENOMEM;

	err = err ? err : gzip_stream__begin(gzip, to);
	if (!err) {
		put_profile(&pprof);
		gzip_stream__end(gzip);
	}
	profile_tables__free(&pprof.tables);
	buffer__free(&pprof.message.out);
	return !err && pprof.failed ? -ENOMEM : err;
}
