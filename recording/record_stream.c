// SPDX-License-Identifier: BSD-2-Clause
#include "recording/record_stream.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aging_map.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "recording/codec.h"
#include "recording/format.h"

#define MAX_NUMBER_BYTES (512 << 10) /* as RECORD_STREAM_NUMBERS */

#define STACK_DEFINED (1ULL << 32)

/* The numbers of strings, DSOs or objects, by the bytes that identify them. */
struct intern_table {
	struct intern keys;
	ARRAY(uint32_t) numbers; /* of each key */
	uint32_t last;		 /* the highest number given out */
};

struct record_stream {
	struct record_sink sinks[RECORD_SINKS];
	size_t n_sinks;
	bool failed[RECORD_SINKS];
	size_t n_failed; /* sinks */
	int error;	 /* of the stream itself: out of memory */
	struct intern_table strings;
	struct intern_table dsos;
	struct intern_table objects;
	struct aging_map stacks; /* by the caller's hash: number | STACK_DEFINED */
	uint32_t last_stack;	 /* the highest stack number given out */
	struct encoder key;	 /* where keys are put together */
};

int record_stream__new(struct record_stream **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void record_stream__add_sink(struct record_stream *stream, const struct record_sink *sink)
{
	if (stream->n_sinks < RECORD_SINKS)
		stream->sinks[stream->n_sinks++] = *sink;
}

static bool is_full(const struct intern_table *table)
{
	return table->keys.n >= RECORD_STREAM_NUMBERS || table->keys.bytes_used >= MAX_NUMBER_BYTES;
}

/* Reserves room for the number first, so that a key is never without one. */
static int64_t find_or_add_key(struct intern_table *table, const void *key, size_t size,
			       bool *fresh)
{
	if (table->last == UINT32_MAX || array__reserve(&table->numbers, 1))
		return -ENOMEM;
	return intern__id(&table->keys, key, size, fresh);
}

/*
 * The number of a key, which is assigned now if it is new (*@fresh); 0 when out of memory.
 */
static uint32_t number_of(struct intern_table *table, const void *key, size_t size, bool *fresh)
{
	int64_t id;

	if (is_full(table) && intern__find(&table->keys, key, size) < 0) {
		intern__clear(&table->keys);
		table->numbers.n = 0;
	}
	id = find_or_add_key(table, key, size, fresh);
	if (id < 0)
		return 0;
	if (*fresh)
		table->numbers.data[table->numbers.n++] = ++table->last;
	return table->numbers.data[id];
}

static void free_table(struct intern_table *table)
{
	intern__free(&table->keys);
	array__free(&table->numbers);
}

/* Encodes the DSO or object @record without its number to stream->key. 0 or -errno. */
static int make_key(struct record_stream *stream, const struct record *record)
{
	struct record key = *record;

	switch (record->type) {
	case RECORD_DSO:
		key.dso.number = 0;
		break;
	case RECORD_OBJECT:
		key.object.number = 0;
		break;
	default:
		return -EINVAL;
	}
	encoder__reset(&stream->key);
	return encoder__put(&stream->key, &key);
}

static void fail(struct record_stream *stream)
{
	if (!stream->error)
		stream->error = -ENOMEM;
}

/* Passes @record to all sinks. 0 or the first error of one. */
static int deliver(struct record_stream *stream, const struct record *record)
{
	int first = 0;

	for (size_t i = 0; i < stream->n_sinks; i++) {
		int err = stream->sinks[i].put(stream->sinks[i].arg, record);

		stream->n_failed += err && !stream->failed[i];
		stream->failed[i] |= err != 0;
		first = first ? first : err;
	}
	return first;
}

/* Whether nobody takes records any more. */
static bool has_ended(const struct record_stream *stream)
{
	return stream->error || (stream->n_failed && stream->n_failed == stream->n_sinks);
}

uint32_t record_stream__string(struct record_stream *stream, const char *text)
{
	struct record record = {.type = RECORD_STRING, .string = {.bytes = text}};
	bool fresh = false;

	if (!text || !*text || has_ended(stream))
		return 0;
	record.string.size = strnlen(text, RECORD_STRING_MAX);
	record.string.number = number_of(&stream->strings, text, record.string.size, &fresh);
	if (!record.string.number)
		fail(stream);
	else if (fresh)
		(void)deliver(stream, &record);
	return record.string.number;
}

/* The number of @record, which is encoded if it is new. @number points into @record. */
static uint32_t intern_record(struct record_stream *stream, struct intern_table *table,
			      struct record *record, uint32_t *number)
{
	bool fresh = false;
	int err;

	if (has_ended(stream))
		return 0;
	err = make_key(stream, record);
	if (err) {
		fail(stream);
		return 0;
	}
	*number = number_of(table, stream->key.raw.data, stream->key.raw.n, &fresh);
	if (!*number)
		fail(stream);
	else if (fresh)
		(void)deliver(stream, record);
	return *number;
}

/* A record of @stack, truncated to RECORD_FRAMES_MAX. */
static struct record stack_to_record(const struct record_stack *stack)
{
	struct record record = {.type = RECORD_STACK, .stack = *stack};

	if (record.stack.depth > RECORD_FRAMES_MAX) {
		record.stack.depth = RECORD_FRAMES_MAX;
		record.stack.end = STACK_TOO_DEEP;
	}
	return record;
}

uint32_t record_stream__dso(struct record_stream *stream, const struct record_dso *dso)
{
	struct record record = {.type = RECORD_DSO, .dso = *dso};

	return intern_record(stream, &stream->dsos, &record, &record.dso.number);
}

uint32_t record_stream__object(struct record_stream *stream, const struct record_object *object)
{
	struct record record = {.type = RECORD_OBJECT, .object = *object};

	return intern_record(stream, &stream->objects, &record, &record.object.number);
}

/* The entry of a hash; a new one gets the next number. NULL on errors. */
static uint64_t *find_stack_hash(struct record_stream *stream, uint64_t hash)
{
	uint64_t *entry;

	if (has_ended(stream))
		return NULL;
	entry = aging_map__get(&stream->stacks, hash);
	if (entry)
		return entry;
	if (stream->last_stack < UINT32_MAX)
		entry = aging_map__put(&stream->stacks, hash, stream->last_stack + 1);
	if (entry)
		stream->last_stack++;
	else
		fail(stream);
	return entry;
}

uint32_t record_stream__stack_by_hash(struct record_stream *stream, uint64_t hash)
{
	uint64_t *entry = hash ? find_stack_hash(stream, hash) : NULL;

	return entry ? (uint32_t)*entry : 0;
}

void record_stream__stack_frames(struct record_stream *stream, uint64_t hash,
				 const struct record_stack *stack)
{
	struct record record = stack_to_record(stack);
	uint64_t *entry = hash ? find_stack_hash(stream, hash) : NULL;

	if (!entry || *entry & STACK_DEFINED)
		return;
	record.stack.number = (uint32_t)*entry;
	*entry |= STACK_DEFINED;
	(void)deliver(stream, &record);
}

size_t record_stream__stacks(const struct record_stream *stream)
{
	return aging_map__young(&stream->stacks);
}

void record_stream__forget_stacks(struct record_stream *stream)
{
	aging_map__age(&stream->stacks);
}

int record_stream__error(const struct record_stream *stream)
{
	return stream->error ? error__errno(stream->error, "cannot record") : 0;
}

int record_stream__put(struct record_stream *stream, const struct record *record)
{
	if (stream->error)
		return record_stream__error(stream);
	if (record->type >= RECORD_STRING && record->type <= RECORD_OBJECT)
		return error__set(-EINVAL, "a record of type %d cannot be put", record->type);
	return deliver(stream, record);
}

int record_stream__meta(struct record_stream *stream, const char *key, const char *fmt, ...)
{
	struct record record = {.type = RECORD_META};
	_cleanup_free_ char *value = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&value, fmt, args);
	va_end(args);
	if (n < 0) {
		value = NULL;
		fail(stream);
	}
	record.meta.key = record_stream__string(stream, key);
	record.meta.value = record_stream__string(stream, value);
	return record_stream__put(stream, &record);
}

void record_stream__free(struct record_stream *stream)
{
	if (!stream)
		return;
	free_table(&stream->strings);
	free_table(&stream->dsos);
	free_table(&stream->objects);
	aging_map__free(&stream->stacks);
	encoder__free(&stream->key);
	free(stream);
}
