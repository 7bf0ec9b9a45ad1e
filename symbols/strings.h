/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interned strings: one copy of each, at an address that is valid until all are freed. Equal
 * strings have equal addresses.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct strings_block;

struct strings_slot {
	const char *text; /* NULL: free */
	uint64_t hash;
};

struct strings {
	struct strings_block *blocks; /* the one being filled first */
	struct strings_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t n;
};

/* The copy of @text, or NULL when out of memory. */
const char *strings__intern(struct strings *strings, const char *text);

void strings__free(struct strings *strings);
