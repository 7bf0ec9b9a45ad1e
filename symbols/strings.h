/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strings given out to callers: each kept once, at an address that stays until
 * all are freed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct strings_block;

struct strings {
	struct strings_block *blocks; /* the one being filled first */
	const char **slots;
	size_t capacity; /* a power of two, or 0 */
	size_t n;
};

/* The kept copy of @text, or NULL when out of memory. */
const char *strings__keep(struct strings *strings, const char *text);

void strings__free(struct strings *strings);
