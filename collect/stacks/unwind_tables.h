/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The unwind tables of files, for the kernel side. A file's table is built when a recorded process
 * first maps the file, or a walk of a waker's stack needs it; it is shared by all processes, and
 * dropped when no process has mapped the file for a while, or its memory is needed. A process
 * without privileges builds it meanwhile (privsep/parser.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/unwind_rows.h"
#include "privsep/privsep.h"

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
	/* See abi/unwind.h. UNWIND_TABLE_MISSING: there is none; _PENDING: it may come */
	uint32_t number;
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
	uint64_t build_ns;	   /* time spent building, by the process that does */
};

/*
 * @tables and @files are descriptors of the kernel side's maps, and stay the caller's, as @privsep
 * does. @max_bytes bounds the memory of all tables; a file gets a quarter of it at most, the files
 * that one process was the first to map half of it, or 16 and 32 MiB if that is more. Returns 0 or
 * a negative errno.
 */
int unwind_tables__new(int tables, int files, size_t max_bytes, struct privsep *privsep,
		       struct unwind_tables **out);

/* A file to build a table from. */
struct table_source {
	uint32_t dso;
	int fd; /* may be O_PATH; -1: it could not be opened. Open for as long as the tables are */
	const char *name;	    /* for messages */
	struct unwind_file_key key; /* inode 0: unknown */
	uint32_t pid;		    /* who maps it; 0: dwell itself */
};

/*
 * Finds file @source->dso. Begins to build its table if it has none, @user is TABLE_RECORDED, and
 * there is room for it. Returns the file's index, or 0 without memory.
 * @source->fd stays the caller's, and open until unwind_tables__close().
 */
uint32_t unwind_tables__find(struct unwind_tables *tables, const struct table_source *source,
			     enum table_user user);

/* A walk needs the table of file @index, or @user is now TABLE_RECORDED: begins to build it. */
void unwind_tables__need(struct unwind_tables *tables, uint32_t index, enum table_user user);

/* Whether the table of file @index is being built. */
bool unwind_tables__is_pending(const struct unwind_tables *tables, uint32_t index);

/* Waits until all tables are built, or @until (CLOCK_MONOTONIC, ns). */
void unwind_tables__wait(struct unwind_tables *tables, uint64_t until);

/* Polls readable when a table is there; -1: none is being built. It changes. */
int unwind_tables__fd(const struct unwind_tables *tables);

/* The table of file @index. Valid until the next unwind_tables__find(). */
const struct file_table *unwind_tables__at(const struct unwind_tables *tables, uint32_t index);

/* The index of file @dso; 0: unknown. */
uint32_t unwind_tables__index(const struct unwind_tables *tables, uint32_t dso);

/* Whether any process maps file @dso, or its table is being built. */
bool unwind_tables__is_mapped(const struct unwind_tables *tables, uint32_t dso);

/*
 * The descriptor of file @dso, whose table is not being built, is closed: until it is found again,
 * no table can be built.
 */
void unwind_tables__close(struct unwind_tables *tables, uint32_t dso);

/* Forgets file @dso, which no process maps, and its descriptor. */
void unwind_tables__forget(struct unwind_tables *tables, uint32_t dso);

/*
 * Takes tables that are built. Begins to build what there was no room for and is still mapped, if
 * there is room now. True: the numbers of some files that are mapped have changed.
 */
bool unwind_tables__update(struct unwind_tables *tables);

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
