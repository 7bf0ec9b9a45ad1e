/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of a JIT compiler, from /tmp/perf-PID.map: lines "START SIZE NAME" with hexadecimal
 * numbers. Compilers append to the file and reuse memory, so a later line wins over the lines
 * that it overlaps.
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
 * Reads the map that process @pid wrote. @root is the root directory of its mount namespace, or
 * NULL. /tmp is writable by all, so, as in perf, a map must be owned by root or by @owner, the
 * uid of the process (-1: unknown; then that of the process that has the pid now, or dwell's
 * own). Returns 0, -ENOENT, -EPERM (another user's), -ELOOP (a symbolic link) or another -errno.
 */
int jitmap__read(struct jitmap *jitmap, const char *root, uint32_t pid, int64_t owner);

/* The name of the function at @address, or NULL. Valid until jitmap__free(). */
const char *jitmap__find(const struct jitmap *jitmap, uint64_t address);

/* The same of the map that is open at @fd. 0 or -errno. */
int jitmap__read_fd(struct jitmap *jitmap, int fd);

void jitmap__free(struct jitmap *jitmap);
