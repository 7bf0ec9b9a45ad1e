// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/pprof/otlp.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "recording/wait_class.h"
#include "render/export/pprof/profile_tables.h"
#include "render/export/protobuf.h"

/* Field numbers of opentelemetry-proto 1.11.0. */
enum {
	DATA_RESOURCE_PROFILES = 1,
	DATA_DICTIONARY = 2,

	DICTIONARY_MAPPING_TABLE = 1,
	DICTIONARY_LOCATION_TABLE = 2,
	DICTIONARY_FUNCTION_TABLE = 3,
	DICTIONARY_LINK_TABLE = 4,
	DICTIONARY_STRING_TABLE = 5,
	DICTIONARY_ATTRIBUTE_TABLE = 6,
	DICTIONARY_STACK_TABLE = 7,

	RESOURCE_PROFILES_RESOURCE = 1,
	RESOURCE_PROFILES_SCOPE_PROFILES = 2,
	RESOURCE_ATTRIBUTES = 1,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	ANY_VALUE_STRING = 1,
	ANY_VALUE_INT = 3,

	SCOPE_PROFILES_SCOPE = 1,
	SCOPE_PROFILES_PROFILES = 2,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,

	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME_UNIX_NANO = 3,
	PROFILE_DURATION_NANO = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_PROFILE_ID = 7,

	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,

	SAMPLE_STACK_INDEX = 1,
	SAMPLE_ATTRIBUTE_INDICES = 2,
	SAMPLE_VALUES = 4,

	LINK_TRACE_ID = 1,
	LINK_SPAN_ID = 2,

	MAPPING_MEMORY_START = 1,
	MAPPING_MEMORY_LIMIT = 2,
	MAPPING_FILENAME = 4,
	MAPPING_ATTRIBUTE_INDICES = 5,

	STACK_LOCATION_INDICES = 1,

	LOCATION_MAPPING_INDEX = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,
	LOCATION_ATTRIBUTE_INDICES = 4,

	LINE_FUNCTION_INDEX = 1,
	LINE_LINE = 2,

	FUNCTION_NAME = 1,
	FUNCTION_SYSTEM_NAME = 2,
	FUNCTION_FILENAME = 3,

	ATTRIBUTE_KEY = 1,
	ATTRIBUTE_VALUE = 2,
};

enum profile_type { TYPE_CPU, TYPE_OFF_CPU, TYPE_RUN_QUEUE, TYPE_COUNT };

static const char *const type_names[TYPE_COUNT] = {"cpu", "off_cpu", "run_queue"};

/* Compared as bytes: it has no padding. */
struct otlp_attribute {
	uint32_t key;	  /* string */
	uint32_t is_text; /* the value is a string, not a number */
	uint64_t value;
};

struct otlp {
	struct profile_tables tables;
	struct intern attributes; /* struct otlp_attribute; 0 is the zero value */
	struct protobuf message;
	bool failed; /* no memory for a string or an attribute */
};

static enum profile_type type_of(enum wait_class class)
{
	if (class == CLASS_CPU)
		return TYPE_CPU;
	return class == CLASS_SCHED ? TYPE_RUN_QUEUE : TYPE_OFF_CPU;
}

/* @id is of a string, or an error. */
static uint32_t checked(struct otlp *otlp, int64_t id)
{
	otlp->failed |= id < 0;
	return id < 0 ? 0 : (uint32_t)id;
}

static uint32_t word_id(struct otlp *otlp, const char *word)
{
	return checked(otlp, profile_word(&otlp->tables, word));
}

static uint64_t attribute_id(struct otlp *otlp, const struct otlp_attribute *attribute)
{
	int64_t id = intern__id(&otlp->attributes, attribute, sizeof(*attribute), NULL);

	otlp->failed |= id < 0;
	return id < 0 ? 0 : (uint64_t)id;
}

/* Adds the index of an attribute to the packed field that is open. */
static void put_number(struct otlp *otlp, const char *key, uint64_t value)
{
	struct otlp_attribute attribute = {.key = word_id(otlp, key), .value = value};

	buffer__varint(&otlp->message.out, attribute_id(otlp, &attribute));
}

static void put_text(struct otlp *otlp, const char *key, uint32_t string)
{
	struct otlp_attribute attribute = {word_id(otlp, key), true, string};

	buffer__varint(&otlp->message.out, attribute_id(otlp, &attribute));
}

/* Names are those of the OpenTelemetry semantic conventions, where they have one. */
static void put_sample_attributes(struct otlp *otlp, const struct profile_labels *labels)
{
	const struct model *model = otlp->tables.model;
	const struct model_thread *thread = &model->threads.data[labels->thread];
	int64_t process = profile_process__name(&otlp->tables, labels->thread);
	size_t mark = protobuf__begin(&otlp->message, SAMPLE_ATTRIBUTE_INDICES);

	put_text(otlp, "thread.name", labels->comm);
	put_number(otlp, "thread.id", thread->tid);
	put_text(otlp, "process.executable.name", checked(otlp, process));
	put_number(otlp, "process.pid", thread->tgid);
	put_text(otlp, "dwell.class", word_id(otlp, wait_class__name(labels->class)));
	put_text(otlp, "dwell.kind", word_id(otlp, kind__name(labels->kind)));
	if (labels->object)
		put_text(otlp, "dwell.object", labels->object);
	if (labels->waker)
		put_text(otlp, "dwell.waker", labels->waker);
	if (labels->idle)
		put_text(otlp, "dwell.idle", word_id(otlp, idle_reason__name(labels->idle)));
	protobuf__end(&otlp->message, mark);
}

static void put_sample(struct otlp *otlp, const struct profile_sample *sample, uint64_t ns)
{
	struct protobuf *message = &otlp->message;
	size_t sample_mark = protobuf__begin(message, PROFILE_SAMPLES);
	size_t mark;

	protobuf__varint(message, SAMPLE_STACK_INDEX, sample->stack);
	put_sample_attributes(otlp, &sample->labels);
	mark = protobuf__begin(message, SAMPLE_VALUES);
	buffer__varint(&message->out, ns);
	protobuf__end(message, mark);
	protobuf__end(message, sample_mark);
}

static void put_value_type(struct otlp *otlp, uint32_t field, const char *type)
{
	size_t mark = protobuf__begin(&otlp->message, field);

	protobuf__varint(&otlp->message, VALUE_TYPE_TYPE, word_id(otlp, type));
	protobuf__varint(&otlp->message, VALUE_TYPE_UNIT, word_id(otlp, "nanoseconds"));
	protobuf__end(&otlp->message, mark);
}

/* The same whenever the recording is exported in the same way, so that receivers see duplicates. */
static void put_id(struct otlp *otlp, enum profile_type type)
{
	const struct profile_tables *tables = &otlp->tables;
	uint64_t id[2] = {profile_start(tables->model), type};

	for (size_t i = 0; i < tables->samples.n; i++)
		id[0] = hash__add(id[0], tables->ns.data[i]);
	id[1] = hash__add(id[0], id[1]);
	protobuf__bytes(&otlp->message, PROFILE_PROFILE_ID, id, sizeof(id));
}

static void put_profile(struct otlp *otlp, enum profile_type type)
{
	const struct model *model = otlp->tables.model;
	struct protobuf *message = &otlp->message;
	size_t start = message->out.n, n = 0;
	size_t mark = protobuf__begin(message, SCOPE_PROFILES_PROFILES);

	put_value_type(otlp, PROFILE_SAMPLE_TYPE, type_names[type]);
	for (size_t i = 0; i < otlp->tables.samples.n; i++) {
		struct profile_sample sample = profile_sample(&otlp->tables, i);

		if (type_of(sample.labels.class) != type)
			continue;
		put_sample(otlp, &sample, otlp->tables.ns.data[i]);
		n++;
	}
	if (!n) { /* as if it had not been begun */
		message->out.n = start;
		return;
	}
	protobuf__fixed64(message, PROFILE_TIME_UNIX_NANO, profile_start(model));
	protobuf__varint(message, PROFILE_DURATION_NANO, model->end - model->start);
	/* In trace mode, waits are not sampled. */
	if (type == TYPE_CPU || !model->trace) {
		put_value_type(otlp, PROFILE_PERIOD_TYPE, type_names[type]);
		protobuf__varint(message, PROFILE_PERIOD, model->period_ns);
	}
	put_id(otlp, type);
	protobuf__end(message, mark);
}

static void put_resource_attribute(struct otlp *otlp, const char *key, const char *value)
{
	size_t mark = protobuf__begin(&otlp->message, RESOURCE_ATTRIBUTES), value_mark;

	protobuf__string(&otlp->message, KEY_VALUE_KEY, key);
	value_mark = protobuf__begin(&otlp->message, KEY_VALUE_VALUE);
	protobuf__string(&otlp->message, ANY_VALUE_STRING,
			 export_text(&otlp->tables.text, value ? value : ""));
	protobuf__end(&otlp->message, value_mark);
	protobuf__end(&otlp->message, mark);
}

static void put_resource_profiles(struct otlp *otlp)
{
	const struct model *model = otlp->tables.model;
	struct protobuf *message = &otlp->message;
	size_t all = protobuf__begin(message, DATA_RESOURCE_PROFILES);
	size_t mark = protobuf__begin(message, RESOURCE_PROFILES_RESOURCE), scope;
	char program[NAME_MAX + 1];

	export__program(model, program, sizeof(program));
	put_resource_attribute(otlp, "service.name", program);
	put_resource_attribute(otlp, "host.name", model__meta(model, "hostname"));
	put_resource_attribute(otlp, "host.arch", model__meta(model, "machine"));
	put_resource_attribute(otlp, "os.type", "linux");
	put_resource_attribute(otlp, "os.version", model__meta(model, "kernel"));
	protobuf__end(message, mark);

	scope = protobuf__begin(message, RESOURCE_PROFILES_SCOPE_PROFILES);
	mark = protobuf__begin(message, SCOPE_PROFILES_SCOPE);
	protobuf__string(message, SCOPE_NAME, "dwell");
	protobuf__string(message, SCOPE_VERSION, dwell_version);
	protobuf__end(message, mark);
	for (size_t type = 0; type < TYPE_COUNT; type++)
		put_profile(otlp, type);
	protobuf__end(message, scope);
	protobuf__end(message, all);
}

/* Mappings and locations refer to attributes: they come before those. */
static void put_mapping(struct otlp *otlp, size_t index)
{
	const struct profile_mapping *mapping = &otlp->tables.mappings.data[index];
	struct protobuf *message = &otlp->message;
	size_t mark = protobuf__begin(message, DICTIONARY_MAPPING_TABLE), attributes;

	protobuf__varint(message, MAPPING_MEMORY_START, mapping->start);
	protobuf__varint(message, MAPPING_MEMORY_LIMIT, mapping->limit);
	protobuf__varint(message, MAPPING_FILENAME, mapping->file);
	if (mapping->build_id) {
		attributes = protobuf__begin(message, MAPPING_ATTRIBUTE_INDICES);
		put_text(otlp, "process.executable.build_id.gnu", mapping->build_id);
		protobuf__end(message, attributes);
	}
	protobuf__end(message, mark);
}

static void put_location(struct otlp *otlp, size_t index)
{
	const struct profile_location *location = &otlp->tables.locations.data[index];
	struct protobuf *message = &otlp->message;
	size_t mark = protobuf__begin(message, DICTIONARY_LOCATION_TABLE), part;

	protobuf__varint(message, LOCATION_MAPPING_INDEX, location->mapping);
	protobuf__varint(message, LOCATION_ADDRESS, location->address);
	for (uint32_t i = 0; i < location->n_lines; i++) {
		const struct profile_line *line = &otlp->tables.lines.data[location->first + i];

		part = protobuf__begin(message, LOCATION_LINES);
		protobuf__varint(message, LINE_FUNCTION_INDEX, line->function);
		protobuf__varint(message, LINE_LINE, line->line);
		protobuf__end(message, part);
	}
	part = protobuf__begin(message, LOCATION_ATTRIBUTE_INDICES);
	put_text(otlp, "profile.frame.type", word_id(otlp, location->kernel ? "kernel" : "native"));
	protobuf__end(message, part);
	protobuf__end(message, mark);
}

static void put_function(struct otlp *otlp, size_t index)
{
	const struct profile_function *function = &otlp->tables.functions.data[index];
	size_t mark = protobuf__begin(&otlp->message, DICTIONARY_FUNCTION_TABLE);

	protobuf__varint(&otlp->message, FUNCTION_NAME, function->name);
	protobuf__varint(&otlp->message, FUNCTION_SYSTEM_NAME, function->name);
	protobuf__varint(&otlp->message, FUNCTION_FILENAME, function->file);
	protobuf__end(&otlp->message, mark);
}

static void put_stack(struct otlp *otlp, uint32_t stack)
{
	struct protobuf *message = &otlp->message;
	size_t mark = protobuf__begin(message, DICTIONARY_STACK_TABLE), indices, n;
	const uint32_t *locations = profile_stack(&otlp->tables, stack, &n);

	if (n) {
		indices = protobuf__begin(message, STACK_LOCATION_INDICES);
		for (size_t i = 0; i < n; i++)
			buffer__varint(&message->out, locations[i]);
		protobuf__end(message, indices);
	}
	protobuf__end(message, mark);
}

static void put_attribute(struct otlp *otlp, uint32_t index)
{
	struct protobuf *message = &otlp->message;
	size_t mark = protobuf__begin(message, DICTIONARY_ATTRIBUTE_TABLE), value;
	struct otlp_attribute attribute;

	memcpy(&attribute, intern__bytes(&otlp->attributes, index, NULL), sizeof(attribute));
	protobuf__varint(message, ATTRIBUTE_KEY, attribute.key);
	value = protobuf__begin(message, ATTRIBUTE_VALUE);
	if (attribute.is_text)
		protobuf__string(
			message, ANY_VALUE_STRING,
			intern__bytes(&otlp->tables.strings, (uint32_t)attribute.value, NULL));
	else
		protobuf__varint(message, ANY_VALUE_INT, attribute.value);
	protobuf__end(message, value);
	protobuf__end(message, mark);
}

/* Element 0 of each table is the zero value; no link is one of zeros. */
static void put_zero_values(struct otlp *otlp)
{
	static const uint8_t zeros[16];
	size_t mark = protobuf__begin(&otlp->message, DICTIONARY_LINK_TABLE);

	protobuf__bytes(&otlp->message, LINK_TRACE_ID, zeros, 16);
	protobuf__bytes(&otlp->message, LINK_SPAN_ID, zeros, 8);
	protobuf__end(&otlp->message, mark);
	protobuf__bytes(&otlp->message, DICTIONARY_MAPPING_TABLE, "", 0);
	protobuf__bytes(&otlp->message, DICTIONARY_LOCATION_TABLE, "", 0);
	protobuf__bytes(&otlp->message, DICTIONARY_FUNCTION_TABLE, "", 0);
	protobuf__bytes(&otlp->message, DICTIONARY_ATTRIBUTE_TABLE, "", 0);
}

static void put_dictionary(struct otlp *otlp)
{
	const struct profile_tables *tables = &otlp->tables;
	size_t mark = protobuf__begin(&otlp->message, DATA_DICTIONARY);

	put_zero_values(otlp);
	for (size_t i = 1; i < tables->mappings.n; i++)
		put_mapping(otlp, i);
	for (size_t i = 1; i < tables->locations.n; i++)
		put_location(otlp, i);
	for (size_t i = 1; i < tables->functions.n; i++)
		put_function(otlp, i);
	for (size_t i = 0; i < tables->stacks.n; i++)
		put_stack(otlp, (uint32_t)i);
	for (size_t i = 1; i < otlp->attributes.n; i++)
		put_attribute(otlp, (uint32_t)i);
	for (size_t i = 0; i < tables->strings.n; i++) {
		size_t n;
		const char *text = intern__bytes(&tables->strings, (uint32_t)i, &n);

		protobuf__bytes(&otlp->message, DICTIONARY_STRING_TABLE, text, n);
	}
	protobuf__end(&otlp->message, mark);
}

int otlp__write(const struct export *export, FILE *to)
{
	const struct otlp_attribute zero = {};
	struct otlp otlp = {};
	struct buffer *out = &otlp.message.out;
	int err = profile_tables__fill(&otlp.tables, export);

	attribute_id(&otlp, &zero);
	for (int part = 0; part < 2 && !err; part++) {
		if (part)
			put_dictionary(&otlp);
		else
			put_resource_profiles(&otlp);
		err = out->failed || otlp.failed ? -ENOMEM : 0;
		if (!err)
			fwrite(out->data, 1, out->n, to);
		out->n = 0;
	}
	profile_tables__free(&otlp.tables);
	intern__free(&otlp.attributes);
	buffer__free(out);
	return err;
}
