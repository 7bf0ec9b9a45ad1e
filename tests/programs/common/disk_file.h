/* SPDX-License-Identifier: BSD-2-Clause */
/* Files whose reads and writes reach the disk: they bypass the page cache (O_DIRECT). */
#pragma once

#include "tests/programs/common/program.h"

struct disk_file {
	int fd;
	size_t block; /* bytes of the smallest direct transfer that works, 512 or 4096 */
	uint64_t size;
	char path[512];
};

/* Memory of @size bytes, all 'd', aligned for direct transfers. The caller frees it. */
void *disk_buffer(size_t size);

/*
 * Creates DIR/dwell-PID-NAME with @size bytes (a multiple of 1 MiB), writes them to the disk,
 * and opens the file with O_DIRECT and @flags; without O_DIRECT on file systems that do not
 * support it: there the program measures the page cache.
 */
void disk_file__create(struct disk_file *file, const char *dir, const char *name, uint64_t size,
		       int flags);

/* Closes and deletes the file. */
void disk_file__remove(struct disk_file *file);
