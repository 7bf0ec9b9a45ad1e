// SPDX-License-Identifier: BSD-2-Clause
#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void buffer__put(struct buffer *buffer, const void *data, size_t size)
{
	if (array__reserve(buffer, size)) {
		buffer->failed = true;
		return;
	}
	memcpy(buffer->data + buffer->n, data, size);
	buffer->n += size;
}

void buffer__varint(struct buffer *buffer, uint64_t value)
{
	uint8_t bytes[10];
	size_t n = 0;

	do {
		bytes[n++] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
		value >>= 7;
	} while (value);
	buffer__put(buffer, bytes, n);
}

void buffer__svarint(struct buffer *buffer, int64_t value)
{
	buffer__varint(buffer, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

void buffer__free(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){};
}

const void *cursor__bytes(struct cursor *cursor, size_t size)
{
	const uint8_t *at = cursor->at;

	if (size > cursor__left(cursor)) {
		cursor->bad = true;
		cursor->at = cursor->end;
		return NULL;
	}
	cursor->at += size;
	return at;
}

uint64_t cursor__varint(struct cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (cursor->at == cursor->end)
			break;
		byte = *cursor->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	cursor->bad = true;
	cursor->at = cursor->end;
	return 0;
}
