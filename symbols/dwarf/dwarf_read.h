/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads little-endian integers and LEB128 numbers, as DWARF has them. Past the end every value is
 * 0 and the cursor is bad.
 */
#pragma once

#include <string.h>

#include "base/buffer.h"

#define DWARF_READ(type)                                                                           \
	static inline type dwarf_read__##type(struct cursor *c)                                    \
	{                                                                                          \
		type value = 0;                                                                    \
                                                                                                   \
		if (cursor__left(c) < sizeof(value)) {                                             \
			c->at = c->end;                                                            \
			c->bad = true;                                                             \
			return 0;                                                                  \
		}                                                                                  \
		memcpy(&value, c->at, sizeof(value));                                              \
		c->at += sizeof(value);                                                            \
		return value;                                                                      \
	}

DWARF_READ(uint8_t)
DWARF_READ(uint16_t)
DWARF_READ(uint32_t)
DWARF_READ(uint64_t)
DWARF_READ(int16_t)
DWARF_READ(int32_t)
#undef DWARF_READ

/* Drops bits beyond the 64th. *@shift is the number of bits read, *@last the last byte. */
static inline uint64_t dwarf_read__leb(struct cursor *c, unsigned int *shift, uint8_t *last)
{
	uint64_t value = 0;
	uint8_t byte;

	*shift = 0;
	do {
		byte = dwarf_read__uint8_t(c);
		if (*shift < 64) {
			value |= (uint64_t)(byte & 0x7f) << *shift;
			*shift += 7;
		}
	} while (byte & 0x80);
	*last = byte;
	return value;
}

static inline uint64_t dwarf_read__uleb(struct cursor *c)
{
	unsigned int shift;
	uint8_t last;

	if (c->at < c->end && *c->at < 0x80)
		return *c->at++;
	return dwarf_read__leb(c, &shift, &last);
}

static inline int64_t dwarf_read__sleb(struct cursor *c)
{
	unsigned int shift;
	uint8_t last;
	uint64_t value = dwarf_read__leb(c, &shift, &last);

	if (shift < 64 && last & 0x40)
		value |= ~0ULL << shift;
	return (int64_t)value;
}

/* Skips @size bytes and returns a pointer to them, or NULL if there are fewer. */
static inline const uint8_t *dwarf_read__skip(struct cursor *c, uint64_t size)
{
	const uint8_t *start = c->at;

	if (size > cursor__left(c)) {
		c->at = c->end;
		c->bad = true;
		return NULL;
	}
	c->at += size;
	return start;
}
