/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwind tables of files, for the kernel side: built when a file is first mapped, one for all
 * processes, dropped when no process has mapped it for a while or the memory is needed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/unwind/unwind_table.h"

/* The vdso, among the DSO numbers. */
#define UNWIND_TABLES_VDSO UINT32_MAX

struct unwind_tables;

/* A file, as its mappings need it. */
struct file_table {
	uint32_t number; /* of its table, see abi/unwind.h; UNWIND_TABLE_MISSING: there is none */
	uint32_t n_rows;
	const struct unwind_row *rows; /* NULL: there is none */
	struct unwind_segment *segments;
	size_t n_segments;
};

struct unwind_tables_stats {
	uint64_t built;
	uint64_t dropped;
	uint64_t refused; /* mapped files that had no table, for some time at least: others used up
			     the room */
	uint64_t bytes;	  /* of all tables there are */
	uint64_t max_bytes; /* most there were at a time */
	uint64_t build_ns;  /* spent building */
};

/*
 * @tables and @files are maps of the kernel side, by descriptor, and stay the
 * caller's. @max_bytes bounds the memory of all tables together. Returns 0 or
 * -ENOMEM.
 */
int unwind_tables__new(int tables, int files, size_t max_bytes, struct unwind_tables **out);

/*
 * Finds file @dso, and builds its table from the file open at @fd (-1: there is
 * none) if it has none; @fd stays the caller's and open for as long as the tables are.
 * Returns the file's index, or 0 without memory.
 */
uint32_t unwind_tables__find(struct unwind_tables *tables, uint32_t dso, int fd);

/* What is known of file @index. Valid until the next unwind_tables__find(). */
const struct file_table *unwind_tables__at(const struct unwind_tables *tables, uint32_t index);

/* The index of file @dso; 0: it is not known. */
uint32_t unwind_tables__index(const struct unwind_tables *tables, uint32_t dso);

/*
 * Builds what there was no room for and is still mapped, if there is room now.
 * True: some files have a table that had none.
 */
bool unwind_tables__retry(struct unwind_tables *tables);

/* A mapping of file @index comes, or goes. A table without any may be dropped. 0: no file. */
void unwind_tables__hold(struct unwind_tables *tables, uint32_t index);
void unwind_tables__release(struct unwind_tables *tables, uint32_t index);

/* Drops the tables of files that no process has mapped for a while; to be called often. */
void unwind_tables__drop_idle(struct unwind_tables *tables);

/* Makes all changes since the last call known to the kernel side. */
void unwind_tables__publish(struct unwind_tables *tables);

void unwind_tables__stats(const struct unwind_tables *tables, struct unwind_tables_stats *stats);

void unwind_tables__free(struct unwind_tables *tables);
