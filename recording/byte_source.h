/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes a reader reads: a file or memory. A file is read, not mapped, so
 * that one that is cut while it is read is an early end and not a SIGBUS.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct source {
	int fd; /* -1: memory */
	const uint8_t *memory;
	uint64_t size; /* when it was opened */
};

/* Up to @size bytes at @offset; fewer only at the end. Returns their count or -errno. */
int64_t source__read(const struct source *source, uint64_t offset, void *to, size_t size);

/*
 * Where the next chunk header or trailer with a right checksum begins, at
 * @from or later. Returns 1, 0 when there is none, -errno.
 */
int source__find_marker(const struct source *source, uint64_t from, uint64_t *found);
