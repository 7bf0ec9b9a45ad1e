/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes being written (struct buffer) and bytes being read (struct cursor),
 * with the variable-length integers of the recording format: LEB128, and
 * zigzag for signed values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *data;
	size_t n;
	size_t capacity;
	bool failed; /* out of memory at some put: what follows is not to be trusted */
};

void buffer__put(struct buffer *buffer, const void *data, size_t size);
void buffer__varint(struct buffer *buffer, uint64_t value);
void buffer__svarint(struct buffer *buffer, int64_t value);
void buffer__free(struct buffer *buffer);

/*
 * A reader that cannot run over its end: past it, every value is 0 and
 * @bad is set. Callers check @bad once, behind a whole record.
 */
struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

/* @size bytes in place, or NULL. */
const void *cursor__bytes(struct cursor *cursor, size_t size);
uint64_t cursor__varint(struct cursor *cursor);
int64_t cursor__svarint(struct cursor *cursor);

static inline size_t cursor__left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}
