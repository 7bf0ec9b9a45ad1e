/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growing bytes to write to (struct buffer), and a position in bytes to read from
 * (struct cursor), with the integers of the recording format: unsigned LEB128
 * ("varint"), zigzag-coded first when signed ("svarint").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *data;
	size_t n;
	size_t capacity;
	bool failed; /* out of memory: what was put since is missing */
};

void buffer__put(struct buffer *buffer, const void *data, size_t size);
void buffer__varint(struct buffer *buffer, uint64_t value);
void buffer__svarint(struct buffer *buffer, int64_t value);
void buffer__free(struct buffer *buffer);

/*
 * Reads cannot run past the end: from there on every value is 0 and @bad is set,
 * so a caller may check @bad once, after a whole record.
 */
struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

/* Skips @size bytes and returns a pointer to them, or NULL if there are fewer. */
const void *cursor__bytes(struct cursor *cursor, size_t size);
uint64_t cursor__varint(struct cursor *cursor);

static inline size_t cursor__left(const struct cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}
