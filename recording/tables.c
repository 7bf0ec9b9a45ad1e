// SPDX-License-Identifier: BSD-2-Clause
/* What the writer gives numbers to: strings, stacks, DSOs and objects. */
#include <errno.h>
#include <string.h>

#include "recording/writer.h"

/* Sees that the key has room for its number, so that both come or neither. */
static int64_t table__id(struct table *table, const void *key, size_t size, bool *fresh)
{
	if (table->last == UINT32_MAX || array__reserve(&table->numbers, 1))
		return -ENOMEM;
	return intern__id(&table->keys, key, size, fresh);
}

uint32_t table__number(struct table *table, const void *key, size_t size, bool *fresh)
{
	int64_t id = table__id(table, key, size, fresh);

	if (id < 0)
		return 0;
	if (*fresh)
		table->numbers.data[table->numbers.n++] = ++table->last;
	return table->numbers.data[id];
}

int table__enter(struct table *table, const void *key, size_t size, uint32_t number)
{
	bool fresh;

	if (table__id(table, key, size, &fresh) < 0)
		return -ENOMEM;
	if (fresh)
		table->numbers.data[table->numbers.n++] = number;
	if (number > table->last)
		table->last = number;
	return 0;
}

void table__free(struct table *table)
{
	intern__free(&table->keys);
	array__free(&table->numbers);
}

int writer__make_key(struct recording_writer *writer, const struct record *record)
{
	struct record key = *record;

	switch (record->type) {
	case RECORD_STACK:
		key.stack.number = 0;
		break;
	case RECORD_DSO:
		key.dso.number = 0;
		break;
	case RECORD_OBJECT:
		key.object.number = 0;
		break;
	default:
		return -EINVAL;
	}
	encoder__reset(&writer->key);
	return encoder__put(&writer->key, &key);
}

/* Puts a record that gives out a number. */
static void writer__define(struct recording_writer *writer, const struct record *record)
{
	int err = encoder__put(&writer->encoder, record);

	if (err)
		writer__fail(writer, err);
	else
		writer->records++;
	if (writer->encoder.raw.n >= CHUNK_RAW_TARGET)
		recording_writer__flush(writer);
}

uint32_t recording_writer__string(struct recording_writer *writer, const char *text)
{
	struct record record = {.type = RECORD_STRING, .string = {.bytes = text}};
	bool fresh = false;

	if (!text || !*text || writer->error)
		return 0;
	record.string.size = strnlen(text, RECORD_STRING_MAX);
	record.string.number = table__number(&writer->strings, text, record.string.size, &fresh);
	if (!record.string.number)
		writer__fail(writer, -ENOMEM);
	else if (fresh)
		writer__define(writer, &record);
	return record.string.number;
}

/* The number of what @record describes, put before if it is new. @number is within @record. */
static uint32_t writer__intern(struct recording_writer *writer, struct table *table,
			       struct record *record, uint32_t *number)
{
	bool fresh = false;
	int err;

	if (writer->error)
		return 0;
	err = writer__make_key(writer, record);
	if (err) {
		writer__fail(writer, err);
		return 0;
	}
	*number = table__number(table, writer->key.raw.data, writer->key.raw.n, &fresh);
	if (!*number)
		writer__fail(writer, -ENOMEM);
	else if (fresh)
		writer__define(writer, record);
	return *number;
}

/* A record of @stack, cut to what a recording holds. */
static struct record stack__record(const struct record_stack *stack)
{
	struct record record = {.type = RECORD_STACK, .stack = *stack};

	if (record.stack.depth > RECORD_FRAMES_MAX) {
		record.stack.depth = RECORD_FRAMES_MAX;
		record.stack.end = STACK_TOO_DEEP;
	}
	return record;
}

uint32_t recording_writer__stack(struct recording_writer *writer, const struct record_stack *stack)
{
	struct record record = stack__record(stack);

	return writer__intern(writer, &writer->stacks, &record, &record.stack.number);
}

uint32_t recording_writer__dso(struct recording_writer *writer, const struct record_dso *dso)
{
	struct record record = {.type = RECORD_DSO, .dso = *dso};

	return writer__intern(writer, &writer->dsos, &record, &record.dso.number);
}

uint32_t recording_writer__object(struct recording_writer *writer,
				  const struct record_object *object)
{
	struct record record = {.type = RECORD_OBJECT, .object = *object};

	return writer__intern(writer, &writer->objects, &record, &record.object.number);
}

/* The entry of a hash, with a number given out now or before; NULL on errors. */
static uint64_t *writer__stack_hash(struct recording_writer *writer, uint64_t hash)
{
	uint64_t *entry;

	if (writer->error)
		return NULL;
	entry = map64__get(&writer->hashes, hash);
	if (entry)
		return entry;
	if (writer->stacks.last < UINT32_MAX)
		entry = map64__put(&writer->hashes, hash, writer->stacks.last + 1);
	if (entry)
		writer->stacks.last++;
	else
		writer__fail(writer, -ENOMEM);
	return entry;
}

uint32_t recording_writer__stack_by_hash(struct recording_writer *writer, uint64_t hash)
{
	uint64_t *entry = hash ? writer__stack_hash(writer, hash) : NULL;

	return entry ? (uint32_t)*entry : 0;
}

void recording_writer__stack_frames(struct recording_writer *writer, uint64_t hash,
				    const struct record_stack *stack)
{
	struct record record = stack__record(stack);
	uint64_t *entry = hash ? writer__stack_hash(writer, hash) : NULL;

	if (!entry || *entry & STACK_WRITTEN)
		return;
	record.stack.number = (uint32_t)*entry;
	*entry |= STACK_WRITTEN;
	writer__define(writer, &record);
}
