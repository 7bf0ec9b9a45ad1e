// SPDX-License-Identifier: BSD-2-Clause
/* Assigning numbers: strings, stacks, DSOs and objects. */
#include <errno.h>
#include <string.h>

#include "recording/writer.h"

static bool is_full(const struct intern_table *table)
{
	return table->keys.n >= WRITER_NUMBERS || table->keys.bytes_used >= WRITER_NUMBER_BYTES;
}

/* Reserves room for the number first, so that a key is never without one. */
static int64_t find_or_add_key(struct intern_table *table, const void *key, size_t size,
			       bool *fresh)
{
	if (table->last == UINT32_MAX || array__reserve(&table->numbers, 1))
		return -ENOMEM;
	return intern__id(&table->keys, key, size, fresh);
}

uint32_t intern_table__number(struct intern_table *table, const void *key, size_t size, bool *fresh)
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

int intern_table__add(struct intern_table *table, const void *key, size_t size, uint32_t number)
{
	bool fresh;

	if (number > table->last)
		table->last = number;
	if (is_full(table))
		return 0;
	if (find_or_add_key(table, key, size, &fresh) < 0)
		return -ENOMEM;
	if (fresh)
		table->numbers.data[table->numbers.n++] = number;
	return 0;
}

void intern_table__free(struct intern_table *table)
{
	intern__free(&table->keys);
	array__free(&table->numbers);
}

int writer__make_key(struct recording_writer *writer, const struct record *record)
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
	encoder__reset(&writer->key);
	return encoder__put(&writer->key, &key);
}

/* Encodes a record that defines a number. */
static void put_definition(struct recording_writer *writer, const struct record *record)
{
	int err = encoder__put(&writer->encoder, record);

	if (err)
		writer__fail(writer, err);
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
	record.string.number =
		intern_table__number(&writer->strings, text, record.string.size, &fresh);
	if (!record.string.number)
		writer__fail(writer, -ENOMEM);
	else if (fresh)
		put_definition(writer, &record);
	return record.string.number;
}

/* The number of @record, which is encoded if it is new. @number points into @record. */
static uint32_t intern_record(struct recording_writer *writer, struct intern_table *table,
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
	*number = intern_table__number(table, writer->key.raw.data, writer->key.raw.n, &fresh);
	if (!*number)
		writer__fail(writer, -ENOMEM);
	else if (fresh)
		put_definition(writer, record);
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

uint32_t recording_writer__dso(struct recording_writer *writer, const struct record_dso *dso)
{
	struct record record = {.type = RECORD_DSO, .dso = *dso};

	return intern_record(writer, &writer->dsos, &record, &record.dso.number);
}

uint32_t recording_writer__object(struct recording_writer *writer,
				  const struct record_object *object)
{
	struct record record = {.type = RECORD_OBJECT, .object = *object};

	return intern_record(writer, &writer->objects, &record, &record.object.number);
}

/* The entry of a hash; a new one gets the next number. NULL on errors. */
static uint64_t *find_stack_hash(struct recording_writer *writer, uint64_t hash)
{
	uint64_t *entry;

	if (writer->error)
		return NULL;
	entry = aging_map__get(&writer->stacks, hash);
	if (entry)
		return entry;
	if (writer->last_stack < UINT32_MAX)
		entry = aging_map__put(&writer->stacks, hash, writer->last_stack + 1);
	if (entry)
		writer->last_stack++;
	else
		writer__fail(writer, -ENOMEM);
	return entry;
}

uint32_t recording_writer__stack_by_hash(struct recording_writer *writer, uint64_t hash)
{
	uint64_t *entry = hash ? find_stack_hash(writer, hash) : NULL;

	return entry ? (uint32_t)*entry : 0;
}

void recording_writer__stack_frames(struct recording_writer *writer, uint64_t hash,
				    const struct record_stack *stack)
{
	struct record record = stack_to_record(stack);
	uint64_t *entry = hash ? find_stack_hash(writer, hash) : NULL;

	if (!entry || *entry & STACK_WRITTEN)
		return;
	record.stack.number = (uint32_t)*entry;
	*entry |= STACK_WRITTEN;
	put_definition(writer, &record);
}

size_t recording_writer__stacks(const struct recording_writer *writer)
{
	return aging_map__young(&writer->stacks);
}

void recording_writer__forget_stacks(struct recording_writer *writer)
{
	aging_map__age(&writer->stacks);
}
