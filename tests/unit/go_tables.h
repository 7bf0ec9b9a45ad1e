/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of Go programs (.gopclntab), as the linkers of every version write them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"

#define GO_TEXT 0x401000 /* address of .text */

/* A function: its stack is @depth deep from instruction 4 on, but for the last 2 bytes. */
static const struct {
	const char *name;
	uint32_t size;
	uint32_t depth;
} go_functions[] = {
	{"main.main", 0x40, 24},	   {"main.leaf", 0x10, 0}, {"runtime.mcall", 0x20, 8},
	{"runtime.systemstack", 0x20, 0},  {"time.now", 0x30, 32}, {"runtime.sigreturn", 0x10, 0},
	{"main.(*T).huge", 0x40, 1 << 20},
};

enum go_version { GO_1_2, GO_1_16, GO_1_18, GO_1_20, VERSIONS };

static inline void put32(struct buffer *b, uint64_t value)
{
	uint32_t low = (uint32_t)value;

	buffer__put(b, &low, sizeof(low));
}

static inline void put64(struct buffer *b, uint64_t value)
{
	buffer__put(b, &value, sizeof(value));
}

static inline void put_at(struct buffer *b, size_t at, uint64_t value, size_t size)
{
	memcpy(b->data + at, &value, size);
}

/* Go's own varints are LEB128, and its zigzag is the recording format's, too. */
static inline void put_change(struct buffer *b, int64_t change, uint64_t length)
{
	buffer__varint(b, ((uint64_t)change << 1) ^ (uint64_t)(change >> 63));
	buffer__varint(b, length);
}

static inline uint32_t put_depths(struct buffer *b, size_t base, uint32_t size, uint32_t depth)
{
	uint32_t at = (uint32_t)(b->n - base);

	if (depth) {
		put_change(b, 1, 4); /* from -1 to 0 */
		put_change(b, (int64_t)depth, size - 6);
		put_change(b, -(int64_t)depth, 2);
	} else {
		put_change(b, 1, size);
	}
	buffer__varint(b, 0);
	return at;
}

/* The table of @version; with @relocated, as if the loader had put the text's address in. */
static inline struct buffer make_go_table(enum go_version version, bool relocated)
{
	static const uint32_t magics[VERSIONS] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
	bool offsets = version >= GO_1_18;
	size_t words = version == GO_1_2 ? 1 : version == GO_1_16 ? 7 : 8;
	size_t names[ARRAY_SIZE(go_functions)], depths[ARRAY_SIZE(go_functions)],
		entry = offsets ? 4 : 8;
	size_t name_base = 0, depth_base = 0, base = 0, index;
	struct buffer b = {};
	uint64_t address = offsets ? 0 : GO_TEXT;

	put32(&b, magics[version]);
	buffer__put(&b, "\0\0\1\10", 4);
	for (size_t i = 0; i < words; i++)
		put64(&b, i ? 0 : ARRAY_SIZE(go_functions));
	if (offsets)
		put_at(&b, 8 + 2 * 8, relocated ? GO_TEXT : 0, 8);
	index = b.n;
	for (size_t i = 0; version == GO_1_2 && i < ARRAY_SIZE(go_functions) * 2 + 1; i++)
		put64(&b, 0);
	if (version != GO_1_2)
		name_base = b.n;
	buffer__put(&b, "", 1); /* no name is at 0 */
	for (size_t i = 0; i < ARRAY_SIZE(go_functions); i++) {
		names[i] = b.n - name_base;
		buffer__put(&b, go_functions[i].name, strlen(go_functions[i].name) + 1);
	}
	if (version != GO_1_2)
		depth_base = b.n;
	buffer__put(&b, "", 1);
	for (size_t i = 0; i < ARRAY_SIZE(go_functions); i++)
		depths[i] = put_depths(&b, depth_base, go_functions[i].size, go_functions[i].depth);
	if (version != GO_1_2) {
		base = index = b.n;
		for (size_t i = 0; i < ARRAY_SIZE(go_functions) * 2 + 1; i++)
			buffer__put(&b, &(uint64_t){0}, entry);
		put_at(&b, 8 + (offsets ? 3 : 2) * 8, name_base, 8);
		put_at(&b, 8 + (offsets ? 6 : 5) * 8, depth_base, 8);
		put_at(&b, 8 + (offsets ? 7 : 6) * 8, base, 8);
	}
	for (size_t i = 0; i < ARRAY_SIZE(go_functions); i++) {
		put_at(&b, index + 2 * i * entry, address, entry);
		put_at(&b, index + (2 * i + 1) * entry, b.n - base, entry);
		buffer__put(&b, &address, entry);
		put32(&b, names[i]);
		put64(&b, 0); /* arguments, and where deferred calls return to */
		put32(&b, depths[i]);
		address += go_functions[i].size;
	}
	put_at(&b, index + 2 * ARRAY_SIZE(go_functions) * entry, address, entry);
	return b;
}
