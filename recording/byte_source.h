/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bytes that a reader reads: a file, or memory (for tests), in which it finds chunks after
 * damage. A file is not mapped, so that truncation while it is read is an early end of file and not
 * a SIGBUS.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct byte_source {
	int fd; /* -1: memory */
	const uint8_t *memory;
	uint64_t size; /* bytes, when it was opened */
};

/* Reads @size bytes at @offset, or fewer at the end. Returns their count or -errno. */
int64_t byte_source__read(const struct byte_source *source, uint64_t offset, void *to, size_t size);

/*
 * Searches for a chunk header or trailer with a valid checksum, from offset @from on. Returns
 * 1 (at *@found), 0 when there is none, or -errno.
 */
int byte_source__find_marker(const struct byte_source *source, uint64_t from, uint64_t *found);
