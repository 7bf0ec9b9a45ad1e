// SPDX-License-Identifier: BSD-2-Clause
#include "privsep/names_wire.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void names_wire__put_source(struct buffer *buffer, const struct symbol_source *source)
{
	buffer__varint(buffer, source->kind);
	wire__put_string(buffer, source->path);
	buffer__varint(buffer, source->root != NULL);
	wire__put_string(buffer, source->root);
	wire__put_string(buffer, source->build_id);
	buffer__varint(buffer, source->fd >= 0);
	buffer__varint(buffer, source->pid);
	buffer__varint(buffer, source->resolved);
}

void names_wire__source(struct cursor *cursor, struct names_source *source)
{
	struct symbol_source *to = &source->source;
	bool has_root;

	to->kind = wire__number(cursor, SYMBOL_SOURCE_JIT);
	wire__string(cursor, source->path, sizeof(source->path));
	has_root = wire__number(cursor, 1);
	wire__string(cursor, source->root, sizeof(source->root));
	wire__string(cursor, source->build_id, sizeof(source->build_id));
	to->path = source->path;
	to->root = has_root ? source->root : NULL;
	to->build_id = source->build_id;
	to->fd = wire__number(cursor, 1) ? 0 : -1;
	to->pid = (uint32_t)wire__number(cursor, UINT32_MAX);
	to->resolved = wire__number(cursor, 1);
	to->owner = -1; /* the caller checks it */
}

void names_wire__put_addresses(struct buffer *buffer, const struct unnamed_address *addresses,
			       size_t n)
{
	uint64_t last = 0;

	buffer__varint(buffer, n);
	for (size_t i = 0; i < n; i++) {
		buffer__varint(buffer, addresses[i].data);
		buffer__svarint(buffer, (int64_t)(addresses[i].address - last));
		last = addresses[i].address;
	}
}

size_t names_wire__addresses(struct cursor *cursor, struct unnamed_address *addresses)
{
	size_t n = wire__number(cursor, NAMES_BATCH_ADDRESSES);
	uint64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		addresses[i].data = wire__number(cursor, 1);
		last += (uint64_t)wire__signed(cursor);
		addresses[i].address = last;
	}
	return n;
}

void names_writer__string(struct names_writer *writer, const char *text)
{
	const uint64_t key = (uint64_t)(uintptr_t)text, *known = map64__get(&writer->numbers, key);
	size_t size;

	if (!text || known) {
		buffer__varint(&writer->bytes, text ? 2 + *known : 0);
		return;
	}
	if (!map64__put(&writer->numbers, key, writer->numbers.n))
		writer->bytes.failed = true;
	size = strnlen(text, NAMES_MAX_STRING);
	buffer__varint(&writer->bytes, 1);
	buffer__varint(&writer->bytes, size);
	buffer__put(&writer->bytes, text, size);
}

void names_writer__frames(struct names_writer *writer, const struct symbol_frame *frames, size_t n)
{
	buffer__varint(&writer->bytes, n);
	for (size_t i = 0; i < n; i++) {
		const struct symbol_frame *frame = &frames[i];

		names_writer__string(writer, frame->name && *frame->name ? frame->name : NULL);
		names_writer__string(writer, frame->file);
		buffer__varint(&writer->bytes, frame->line);
		buffer__varint(&writer->bytes, frame->inlined);
	}
}

void names_writer__free(struct names_writer *writer)
{
	buffer__free(&writer->bytes);
	map64__free(&writer->numbers);
}

static const char *read_new(struct names_reader *reader)
{
	struct cursor *cursor = &reader->cursor;
	size_t size = wire__number(cursor, NAMES_MAX_STRING);
	const void *bytes = cursor__bytes(cursor, size);
	_cleanup_free_ char *text = NULL;
	const char *kept;

	if (!bytes || cursor->bad || memchr(bytes, '\0', size)) {
		cursor->bad = true;
		return NULL;
	}
	text = strndup(bytes, size);
	kept = text ? strings__intern(reader->strings, text) : NULL;
	if (!kept || array__push(&reader->known, kept))
		cursor->bad = true;
	reader->string_bytes += size;
	return kept;
}

const char *names_reader__string(struct names_reader *reader)
{
	uint64_t number = wire__number(&reader->cursor, 1 + reader->known.n);

	if (number == 1)
		return read_new(reader);
	return number ? reader->known.data[number - 2] : NULL;
}

size_t names_reader__frames(struct names_reader *reader,
			    struct symbol_frame frames[NAMES_MAX_FRAMES])
{
	struct cursor *cursor = &reader->cursor;
	size_t n = wire__number(cursor, NAMES_MAX_FRAMES);

	for (size_t i = 0; i < n && !cursor->bad; i++) {
		const char *name = names_reader__string(reader);

		frames[i].name = name ? name : "";
		frames[i].file = names_reader__string(reader);
		frames[i].line = (uint32_t)wire__number(cursor, UINT32_MAX);
		frames[i].inlined = wire__number(cursor, 1);
	}
	if (!n)
		cursor->bad = true;
	return cursor->bad ? 0 : n;
}

void names_reader__free(struct names_reader *reader)
{
	array__free(&reader->known);
}
