/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that a just-in-time compiler wrote into /tmp/perf-PID.map:
 * "START SIZE NAME" a line, in hexadecimal. Compilers append, and reuse memory:
 * a later line wins over those it overlaps.
 */
#pragma once

#include <stdint.h>

#include "symbols/ranges.h"

struct jitmap_entry {
	uint64_t start;
	uint64_t end;
	const char *name;
};

struct jitmap {
	char *text;
	struct jitmap_entry *data;
	size_t n;
	size_t capacity;
	struct ranges ranges; /* disjoint; value: index in data */
};

/*
 * Reads the map that process @pid wrote. @root is the prefix of its file
 * system, or NULL. Returns 0, -ENOENT when there is none, or another -errno.
 */
int jitmap__read(struct jitmap *jitmap, const char *root, uint32_t pid);

/* NULL when there is none. */
const char *jitmap__find(const struct jitmap *jitmap, uint64_t address);

void jitmap__free(struct jitmap *jitmap);
