/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwind tables of files, for the kernel side. A file's table is built when the file is first
 * mapped, shared by all processes, and dropped when no process has mapped the file for a while, or
 * its memory is needed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/unwind/unwind_table.h"

/* The DSO number of the vdso. */
#define UNWIND_TABLES_VDSO UINT32_MAX

struct unwind_tables;

/*
 * Who maps a file: a process that is recorded, or one that only woke a recorded thread. Tables that
 * only the latter map are dropped when a recorded process needs the memory.
 */
enum table_user { TABLE_WAKER, TABLE_RECORDED };

/* A file, as its mappings need it. */
struct file_table {
	uint32_t number; /* see abi/unwind.h; UNWIND_TABLE_MISSING: there is none */
	uint32_t n_rows;
	const struct unwind_row *rows; /* NULL: there is none */
	struct unwind_segment *segments;
	size_t n_segments;
};

struct unwind_tables_stats {
	uint64_t built;
	uint64_t dropped;
	uint64_t refused; /* mapped files that, at least for some time, had no table: no room */
	uint64_t refused_recorded; /* of these, mapped by recorded processes */
	uint64_t bytes;		   /* of all tables */
	uint64_t max_bytes;	   /* maximum of bytes so far */
	uint64_t build_ns;	   /* time spent building */
};

/*
 * @tables and @files are descriptors of the kernel side's maps, and stay the caller's. @max_bytes
 * bounds the memory of all tables. Returns 0 or -ENOMEM.
 */
int unwind_tables__new(int tables, int files, size_t max_bytes, struct unwind_tables **out);

/*
 * Finds file @dso, and builds its table from the file open at @fd (-1: there is none) if it has
 * none and there is room for one that @user maps; @fd stays the caller's and open for as long as
 * the tables are. Returns the file's index, or 0 without memory.
 */
uint32_t unwind_tables__find(struct unwind_tables *tables, uint32_t dso, int fd,
			     enum table_user user);

/* The table of file @index. Valid until the next unwind_tables__find(). */
const struct file_table *unwind_tables__at(const struct unwind_tables *tables, uint32_t index);

/* The index of file @dso; 0: unknown. */
uint32_t unwind_tables__index(const struct unwind_tables *tables, uint32_t dso);

/*
 * Builds what there was no room for and is still mapped, if there is room now. True: some files
 * have a table that had none, or none any more though they are mapped.
 */
bool unwind_tables__retry(struct unwind_tables *tables);

/* A mapping of file @index by @user comes, or goes. A table without any may be dropped. 0: no file.
 */
void unwind_tables__hold(struct unwind_tables *tables, uint32_t index, enum table_user user);
void unwind_tables__release(struct unwind_tables *tables, uint32_t index, enum table_user user);

/* Drops the tables of files that no process has mapped for a while; to be called often. */
void unwind_tables__drop_idle(struct unwind_tables *tables);

/* Passes all changes since the last call to the kernel side. */
void unwind_tables__publish(struct unwind_tables *tables);

void unwind_tables__stats(const struct unwind_tables *tables, struct unwind_tables_stats *stats);

void unwind_tables__free(struct unwind_tables *tables);
