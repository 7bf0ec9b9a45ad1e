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
 * system, or NULL. /tmp is open to all: as perf does, a map is only accepted if it belongs to
 * root or to the user of the process, @owner (-1: unknown, then of the process that has the pid
 * now, or of dwell itself if there is none). Returns 0, -ENOENT when there is none, -EPERM when
 * it is another user's, -ELOOP when it is a symbolic link, or another -errno.
 */
int jitmap__read(struct jitmap *jitmap, const char *root, uint32_t pid, int64_t owner);

/* NULL when there is none. */
const char *jitmap__find(const struct jitmap *jitmap, uint64_t address);

void jitmap__free(struct jitmap *jitmap);
