/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of an SQLite database, written with prepared statements. For sqlite*.c. */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "base/buffer.h"

enum sqlite_table {
	TABLE_META,
	TABLE_PROCESSES,
	TABLE_THREADS,
	TABLE_THREAD_NAMES,
	TABLE_FRAMES,
	TABLE_STACKS,
	TABLE_OBJECTS,
	TABLE_SAMPLES,
	TABLE_WAKES,
	TABLE_INTERVALS,
	TABLE_REQUESTS,
	TABLE_REQUEST_PARTS,
	TABLE_BLOCK_REQUESTS,
	TABLE_COUNT,
};

struct sqlite_rows {
	sqlite3 *db;
	sqlite3_stmt *inserts[TABLE_COUNT];
	struct buffer text;
	sqlite3_stmt *row; /* the one that is being made */
	int column;
	int failed; /* the first code of SQLite that is an error; 0: none */
};

/*
 * Creates the database in the empty file at @fd, which stays the caller's, with its tables. The
 * caller has zeroed @rows, and frees it in any case. The functions below that return nothing do
 * nothing after an error, which sqlite_rows__error() returns.
 */
void sqlite_rows__create(struct sqlite_rows *rows, int fd);

/* A row: begin, one call for each column in their order, end. */
void sqlite_row__begin(struct sqlite_rows *rows, enum sqlite_table table);
void sqlite_row__number(struct sqlite_rows *rows, int64_t value);
void sqlite_row__id(struct sqlite_rows *rows, uint64_t id);	   /* 0: NULL */
void sqlite_row__text(struct sqlite_rows *rows, const char *text); /* escaped; NULL: NULL */
void sqlite_row__end(struct sqlite_rows *rows);

/* Executes statements that return nothing. */
void sqlite_rows__execute(struct sqlite_rows *rows, const char *statements);

/* 0, or -errno of the first error, with a message that names @path. */
int sqlite_rows__error(struct sqlite_rows *rows, const char *path);

/* Closes the database. What was not committed is lost. */
void sqlite_rows__free(struct sqlite_rows *rows);
