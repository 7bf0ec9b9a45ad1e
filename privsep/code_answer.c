// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/code_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/condition.h"
#include "privsep/wire.h"

#define MAX_SKIP 8

/* Flags of a place and of a function. */
#define HAS_FILE       1U
#define IS_IN_SCOPE    2U
#define SINGLE_STEPPED 1U
#define RETURN_PROBE   2U

void code_answer__put_text(struct buffer *buffer, const char *text)
{
	size_t length = strnlen(text, CODE_MAX_TEXT - 1);

	buffer__varint(buffer, length);
	buffer__put(buffer, text, length);
}

/* NULL with cursor->bad, or without memory. */
static const char *take_text(struct cursor *cursor, struct strings *strings)
{
	char text[CODE_MAX_TEXT];

	wire__string(cursor, text, sizeof(text));
	return cursor->bad ? NULL : strings__intern(strings, text);
}

/* At most as many as could be there, of @bytes each or more. */
static uint64_t take_count(struct cursor *cursor, size_t bytes)
{
	return wire__number(cursor, cursor__left(cursor) / bytes);
}

/* The result of decoding, of which @failed had no memory. */
static int finish(const struct cursor *cursor, bool failed)
{
	if (failed && !cursor->bad)
		return -ENOMEM;
	return cursor->bad || cursor__left(cursor) ? -EPROTO : 0;
}

void code_answer__put_place(struct buffer *buffer, const struct code_place *place)
{
	buffer__varint(buffer, (place->file ? HAS_FILE : 0) | (place->in_scope ? IS_IN_SCOPE : 0));
	if (place->file)
		code_answer__put_text(buffer, place->file);
	buffer__varint(buffer, place->line);
	code_answer__put_text(buffer, place->function ? place->function : "");
}

/* False: no memory. */
static bool take_place(struct cursor *cursor, struct strings *strings, struct code_place *place)
{
	uint64_t flags = wire__number(cursor, HAS_FILE | IS_IN_SCOPE);

	*place = (struct code_place){.function = "", .in_scope = flags & IS_IN_SCOPE};
	if (flags & HAS_FILE)
		place->file = take_text(cursor, strings);
	place->line = (uint32_t)wire__number(cursor, UINT32_MAX);
	place->function = take_text(cursor, strings);
	return cursor->bad || (place->function && (place->file || !(flags & HAS_FILE)));
}

int code_answer__places(struct cursor *cursor, struct strings *strings, struct code_place *places,
			size_t n)
{
	bool failed = false;

	for (size_t i = 0; i < n && !failed && !cursor->bad; i++)
		failed = !take_place(cursor, strings, &places[i]);
	return finish(cursor, failed);
}

void code_answer__put_ranges(struct buffer *buffer, const struct code_ranges *ranges,
			     const struct code_place *place)
{
	uint64_t last = 0, n = 0;

	for (size_t i = 0; i < ranges->ranges.n; i++)
		n += ranges->ranges.data[i].end > ranges->ranges.data[i].start;
	code_answer__put_place(buffer, place);
	buffer__varint(buffer, n);
	for (size_t i = 0; i < ranges->ranges.n; i++) {
		const struct code_range *range = &ranges->ranges.data[i];

		if (range->end == range->start)
			continue;
		buffer__varint(buffer, range->start - last);
		buffer__varint(buffer, range->end - range->start);
		last = range->end;
	}
}

int code_answer__ranges(struct cursor *cursor, struct strings *strings, struct code_ranges *ranges,
			struct code_place *place)
{
	bool failed = !take_place(cursor, strings, place);
	uint64_t n = take_count(cursor, 2), last = 0;

	for (uint64_t i = 0; i < n && !failed && !cursor->bad; i++) {
		struct code_range range;

		range.start = last + wire__number(cursor, UINT64_MAX - last);
		range.end = range.start + wire__number(cursor, UINT64_MAX - range.start);
		if ((i && range.start == last) || range.start == range.end)
			cursor->bad = true;
		last = range.end;
		failed = !cursor->bad && array__push(&ranges->ranges, range);
	}
	return finish(cursor, failed);
}

void code_answer__put_entries(struct buffer *buffer, const struct code_entries *entries)
{
	buffer__varint(buffer, entries->entries.n);
	for (size_t i = 0; i < entries->entries.n; i++) {
		const struct code_entry *entry = &entries->entries.data[i];

		buffer__varint(buffer, entry->address);
		buffer__varint(buffer, entry->offset);
		buffer__varint(buffer, entry->semaphore);
		buffer__varint(buffer, entry->skip);
		buffer__varint(buffer, entry->single_stepped);
	}
}

/* An offset of a byte of the file. */
static uint64_t take_offset(struct cursor *cursor, uint64_t size)
{
	if (!size)
		cursor->bad = true;
	return size ? wire__number(cursor, size - 1) : 0;
}

int code_answer__entries(struct cursor *cursor, uint64_t size, struct code_entries *entries)
{
	uint64_t n = take_count(cursor, 5);
	bool failed = false;

	for (uint64_t i = 0; i < n && !failed && !cursor->bad; i++) {
		struct code_entry entry = {.address = cursor__varint(cursor)};

		entry.offset = take_offset(cursor, size);
		entry.semaphore = take_offset(cursor, size);
		entry.skip = (uint32_t)wire__number(cursor, MAX_SKIP);
		entry.single_stepped = wire__number(cursor, 1);
		if (entry.skip >= size - entry.offset)
			cursor->bad = true;
		failed = !cursor->bad && array__push(&entries->entries, entry);
	}
	return finish(cursor, failed);
}

void code_answer__put_function(struct buffer *buffer, const struct found_function *function)
{
	code_answer__put_text(buffer, function->name);
	buffer__varint(buffer, (uint64_t)-function->err);
	buffer__varint(buffer, function->entry);
	buffer__varint(buffer, (function->single_stepped ? SINGLE_STEPPED : 0) |
				       (function->return_probe ? RETURN_PROBE : 0));
	buffer__varint(buffer, function->exits.n);
	for (size_t i = 0; i < function->exits.n; i++) {
		buffer__varint(buffer, function->exits.data[i].offset);
		buffer__varint(buffer, function->exits.data[i].condition);
	}
}

static bool take_exits(struct cursor *cursor, uint64_t size, struct found_function *function)
{
	uint64_t n = take_count(cursor, 2);

	if (n && function->return_probe)
		cursor->bad = true;
	for (uint64_t i = 0; i < n && !cursor->bad; i++) {
		struct function_exit exit = {.offset = take_offset(cursor, size)};

		exit.condition = (uint32_t)wire__number(cursor, CONDITION_LAST);
		if (exit.condition && exit.condition < CONDITION_FIRST)
			cursor->bad = true;
		if (!cursor->bad && array__push(&function->exits, exit))
			return false;
	}
	return true;
}

/* False: no memory. */
static bool take_function(struct cursor *cursor, struct strings *strings, uint64_t size,
			  struct found_function *function)
{
	uint64_t flags;

	function->name = take_text(cursor, strings);
	function->err = -(int)wire__number(cursor, 4095);
	function->entry = take_offset(cursor, size);
	flags = wire__number(cursor, SINGLE_STEPPED | RETURN_PROBE);
	function->single_stepped = flags & SINGLE_STEPPED;
	function->return_probe = flags & RETURN_PROBE;
	if (function->err && function->err != -ENOTSUP && function->err != -ENOENT)
		cursor->bad = true;
	return take_exits(cursor, size, function) && (cursor->bad || function->name);
}

int code_answer__functions(struct cursor *cursor, struct strings *strings, uint64_t size,
			   struct found_functions *found)
{
	uint64_t n = wire__number(cursor, CODE_MAX_FUNCTIONS);
	bool failed = false;

	for (uint64_t i = 0; i < n && !failed && !cursor->bad; i++) {
		struct found_function *function = array__add(&found->functions);

		failed = !function || !take_function(cursor, strings, size, function);
	}
	return finish(cursor, failed);
}

int code_answer__names(struct cursor *cursor, struct strings *strings, size_t max,
		       struct code_names *names)
{
	uint64_t n = wire__number(cursor, max < CODE_MAX_NAMES ? max : CODE_MAX_NAMES);
	bool failed = false;

	for (names->n = 0; names->n < n && !failed && !cursor->bad; names->n++) {
		names->names[names->n] = take_text(cursor, strings);
		failed = !names->names[names->n];
	}
	return finish(cursor, failed);
}

void found_functions__free(struct found_functions *found)
{
	for (size_t i = 0; i < found->functions.n; i++)
		array__free(&found->functions.data[i].exits);
	array__free(&found->functions);
}
