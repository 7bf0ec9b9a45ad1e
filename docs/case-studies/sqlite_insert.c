// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that insert rows, each into its own in-memory database, independently of each
 * other. After Coz's benchmark of SQLite (SOSP'15, section 4.2.3).
 *
 * usage: sqlite_insert [--threads N] [--seconds S] [--no-memstatus] [--no-journal] [--prepared]
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dwell.h"

static atomic_bool stop;
static atomic_ulong inserted;
static const char *journal = "MEMORY";
static bool prepared; /* BEGIN and COMMIT, too */

static void check(int code, sqlite3 *db)
{
	if (code == SQLITE_OK || code == SQLITE_DONE)
		return;
	fprintf(stderr, "sqlite_insert: %s\n", sqlite3_errmsg(db));
	exit(1);
}

static void run_once(sqlite3 *db, sqlite3_stmt *statement)
{
	check(sqlite3_step(statement), db);
	check(sqlite3_reset(statement), db);
}

static void insert(sqlite3 *db, sqlite3_stmt *statement, int row)
{
	sqlite3_bind_int(statement, 1, row);
	sqlite3_bind_int(statement, 2, 2 * row);
	sqlite3_bind_int(statement, 3, 3 * row);
	sqlite3_bind_text(statement, 4, "a row", 5, SQLITE_STATIC);
	run_once(db, statement);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *text)
{
	sqlite3_stmt *statement;

	check(sqlite3_prepare_v2(db, text, -1, &statement, NULL), db);
	return statement;
}

static void *insert_rows(void *arg)
{
	sqlite3_stmt *begin, *add, *commit;
	char pragma[64];
	sqlite3 *db;

	(void)arg;
	check(sqlite3_open(":memory:", &db), db);
	snprintf(pragma, sizeof(pragma), "PRAGMA journal_mode=%s", journal);
	check(sqlite3_exec(db, pragma, NULL, NULL, NULL), db);
	check(sqlite3_exec(db,
			   "CREATE TABLE t(id INTEGER PRIMARY KEY, x INTEGER, y INTEGER, z TEXT)",
			   NULL, NULL, NULL),
	      db);
	begin = prepare(db, "BEGIN TRANSACTION");
	add = prepare(db, "INSERT OR REPLACE INTO t VALUES(?1, ?2, ?3, ?4)");
	commit = prepare(db, "COMMIT TRANSACTION");
	for (int row = 0; !atomic_load_explicit(&stop, memory_order_relaxed);
	     row = (row + 1) % 100000) {
		if (prepared)
			run_once(db, begin);
		else
			check(sqlite3_exec(db, "BEGIN TRANSACTION", NULL, NULL, NULL), db);
		insert(db, add, row);
		if (prepared)
			run_once(db, commit);
		else
			check(sqlite3_exec(db, "COMMIT TRANSACTION", NULL, NULL, NULL), db);
		atomic_fetch_add_explicit(&inserted, 1, memory_order_relaxed);
		DWELL_PROGRESS_NAMED("insert");
	}
	sqlite3_finalize(begin);
	sqlite3_finalize(add);
	sqlite3_finalize(commit);
	sqlite3_close(db);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = 4;
	double seconds = 5;
	pthread_t thread[64];
	struct timespec pause;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--no-memstatus"))
			sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
		else if (!strcmp(argv[i], "--no-journal"))
			journal = "OFF";
		else if (!strcmp(argv[i], "--prepared"))
			prepared = true;
		else if (!strcmp(argv[i], "--threads") && i + 1 < argc)
			n = atoi(argv[++i]);
		else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
			seconds = atof(argv[++i]);
		else {
			fprintf(stderr, "sqlite_insert: what is '%s'?\n", argv[i]);
			return 2;
		}
	}
	pause = (struct timespec){(time_t)seconds,
				  (long)((seconds - (double)(time_t)seconds) * 1e9)};
	for (int i = 0; i < n && i < 64; i++)
		pthread_create(&thread[i], NULL, insert_rows, NULL);
	nanosleep(&pause, NULL);
	atomic_store(&stop, true);
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(thread[i], NULL);
	printf("inserts per second: %.0f\n", (double)inserted / seconds);
	return 0;
}
