// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/protobuf.h"

#include <string.h>

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
};

static void put_tag(struct protobuf *protobuf, uint32_t field, enum wire_type type)
{
	buffer__varint(&protobuf->out, (uint64_t)field << 3 | type);
}

void protobuf__varint(struct protobuf *protobuf, uint32_t field, uint64_t value)
{
	put_tag(protobuf, field, WIRE_VARINT);
	buffer__varint(&protobuf->out, value);
}

void protobuf__fixed64(struct protobuf *protobuf, uint32_t field, uint64_t value)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	put_tag(protobuf, field, WIRE_FIXED64);
	buffer__put(&protobuf->out, bytes, sizeof(bytes));
}

void protobuf__double(struct protobuf *protobuf, uint32_t field, double value)
{
	uint64_t bits;

	_Static_assert(sizeof(bits) == sizeof(value), "doubles have 64 bits");
	memcpy(&bits, &value, sizeof(bits));
	protobuf__fixed64(protobuf, field, bits);
}

void protobuf__bytes(struct protobuf *protobuf, uint32_t field, const void *data, size_t size)
{
	put_tag(protobuf, field, WIRE_BYTES);
	buffer__varint(&protobuf->out, size);
	if (size)
		buffer__put(&protobuf->out, data, size);
}

void protobuf__string(struct protobuf *protobuf, uint32_t field, const char *text)
{
	protobuf__bytes(protobuf, field, text, strlen(text));
}

void protobuf__packed(struct protobuf *protobuf, uint32_t field, const uint64_t *values, size_t n)
{
	size_t mark;

	if (!n)
		return;
	mark = protobuf__begin(protobuf, field);
	for (size_t i = 0; i < n; i++)
		buffer__varint(&protobuf->out, values[i]);
	protobuf__end(protobuf, mark);
}

/* A length of one byte is left room for: most messages are shorter than 128 bytes. */
size_t protobuf__begin(struct protobuf *protobuf, uint32_t field)
{
	put_tag(protobuf, field, WIRE_BYTES);
	buffer__put(&protobuf->out, "", 1);
	return protobuf->out.n;
}

void protobuf__end(struct protobuf *protobuf, size_t mark)
{
	struct buffer *out = &protobuf->out;
	uint8_t length[10] = {};
	size_t n = 0, size;

	if (out->failed)
		return;
	size = out->n - mark;
	for (size_t rest = size; rest || !n; rest >>= 7)
		length[n++] = (uint8_t)(rest & 0x7f) | (rest > 0x7f ? 0x80 : 0);
	/* Room for the rest of the length, whatever the bytes are. */
	buffer__put(out, length, n - 1);
	if (out->failed)
		return;
	memmove(out->data + mark + n - 1, out->data + mark, size);
	memcpy(out->data + mark - 1, length, n);
}
