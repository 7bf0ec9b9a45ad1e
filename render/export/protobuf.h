/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protocol buffers, written field by field: https://protobuf.dev/programming-guides/encoding
 *
 * Fields are numbered by their message's definition. A message within another is begun and ended;
 * its fields are those that are put in between. Without memory, the buffer has failed (see
 * base/buffer.h), which a caller may check once, at the end.
 */
#pragma once

#include "base/buffer.h"

struct protobuf {
	struct buffer out; /* what was put; to start over: out.n = 0; free with buffer__free() */
};

/* Fields of the types int32, int64, uint32, uint64, bool and enum. */
void protobuf__varint(struct protobuf *protobuf, uint32_t field, uint64_t value);

void protobuf__fixed64(struct protobuf *protobuf, uint32_t field, uint64_t value);
void protobuf__double(struct protobuf *protobuf, uint32_t field, double value);
void protobuf__bytes(struct protobuf *protobuf, uint32_t field, const void *data, size_t size);

/* Readers refuse @text that is not UTF-8. */
void protobuf__string(struct protobuf *protobuf, uint32_t field, const char *text);

/* A repeated field of varints, packed; nothing if @n is 0. */
void protobuf__packed(struct protobuf *protobuf, uint32_t field, const uint64_t *values, size_t n);

/* Begins a message; protobuf__end() is given the result. Messages end in the reverse order. */
size_t protobuf__begin(struct protobuf *protobuf, uint32_t field);
void protobuf__end(struct protobuf *protobuf, size_t mark);
