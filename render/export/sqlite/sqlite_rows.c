// SPDX-License-Identifier: BSD-2-Clause
#include "render/export/sqlite/sqlite_rows.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "render/export/export_waits.h"
#include "render/export/sqlite/sqlite_schema.h"
#include "render/export/sqlite/sqlite_vfs.h"

/* Columns of all tables, as in sqlite_schema.c. */
static const struct {
	const char *name;
	int columns;
} tables[TABLE_COUNT] = {
	[TABLE_META] = {"meta", 2},
	[TABLE_PROCESSES] = {"processes", 6},
	[TABLE_THREADS] = {"threads", 21},
	[TABLE_THREAD_NAMES] = {"thread_names", 3},
	[TABLE_FRAMES] = {"frames", 7},
	[TABLE_STACKS] = {"stacks", 3},
	[TABLE_OBJECTS] = {"objects", 3},
	[TABLE_SAMPLES] = {"samples", 7},
	[TABLE_WAKES] = {"wakes", 6},
	[TABLE_INTERVALS] = {"intervals", 23},
	[TABLE_REQUESTS] = {"requests", 9},
	[TABLE_REQUEST_PARTS] = {"request_parts", 5},
	[TABLE_BLOCK_REQUESTS] = {"block_requests", 9},
};

static void check(struct sqlite_rows *rows, int code)
{
	if (!rows->failed && code != SQLITE_OK && code != SQLITE_DONE)
		rows->failed = code;
}

static void prepare_insert(struct sqlite_rows *rows, enum sqlite_table table)
{
	char text[128];
	int n;

	if (rows->failed)
		return;
	n = snprintf(text, sizeof(text), "INSERT INTO %s VALUES (?", tables[table].name);
	for (int i = 1; i < tables[table].columns; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ",?");
	snprintf(text + n, sizeof(text) - (size_t)n, ")");
	check(rows, sqlite3_prepare_v2(rows->db, text, -1, &rows->inserts[table], NULL));
}

void sqlite_rows__create(struct sqlite_rows *rows, int fd)
{
	check(rows, sqlite_vfs__open(fd, &rows->db));
	/* An incomplete file is removed: nothing needs to be restored after an error or a crash. */
	sqlite_rows__execute(rows, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
				   "PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 8192;"
				   "BEGIN;");
	sqlite_rows__execute(rows, sqlite_tables);
	for (int i = 0; i < TABLE_COUNT; i++)
		prepare_insert(rows, i);
}

void sqlite_row__begin(struct sqlite_rows *rows, enum sqlite_table table)
{
	rows->row = rows->inserts[table];
	rows->column = 0;
}

void sqlite_row__number(struct sqlite_rows *rows, int64_t value)
{
	if (!rows->failed)
		check(rows, sqlite3_bind_int64(rows->row, ++rows->column, value));
}

void sqlite_row__id(struct sqlite_rows *rows, uint64_t id)
{
	if (rows->failed)
		return;
	if (id)
		sqlite_row__number(rows, (int64_t)id);
	else
		check(rows, sqlite3_bind_null(rows->row, ++rows->column));
}

void sqlite_row__text(struct sqlite_rows *rows, const char *text)
{
	if (rows->failed)
		return;
	if (!text) {
		sqlite_row__id(rows, 0);
		return;
	}
	text = export_text(&rows->text, text);
	check(rows, rows->text.failed ? SQLITE_NOMEM
				      : sqlite3_bind_text(rows->row, ++rows->column, text, -1,
							  SQLITE_TRANSIENT));
}

void sqlite_row__end(struct sqlite_rows *rows)
{
	if (rows->failed)
		return;
	check(rows, sqlite3_step(rows->row));
	sqlite3_reset(rows->row);
}

void sqlite_rows__execute(struct sqlite_rows *rows, const char *statements)
{
	if (!rows->failed)
		check(rows, sqlite3_exec(rows->db, statements, NULL, NULL, NULL));
}

int sqlite_rows__error(struct sqlite_rows *rows, const char *path)
{
	int system = sqlite_vfs__errno(rows->db);

	if (!system && rows->db)
		system = sqlite3_system_errno(rows->db);

	switch (rows->failed & 0xff) {
	case SQLITE_OK:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return error__errno(-ENOSPC, "cannot write '%s'", path);
	case SQLITE_CANTOPEN:
		return error__errno(system ? -system : -EACCES, "cannot create '%s'", path);
	case SQLITE_IOERR:
		return error__errno(system ? -system : -EIO, "cannot write '%s'", path);
	default:
		return error__set(-EIO, "cannot write '%s': %s", path,
				  sqlite3_errstr(rows->failed));
	}
}

void sqlite_rows__free(struct sqlite_rows *rows)
{
	for (int i = 0; i < TABLE_COUNT; i++)
		sqlite3_finalize(rows->inserts[i]);
	sqlite3_close(rows->db);
	buffer__free(&rows->text);
}
