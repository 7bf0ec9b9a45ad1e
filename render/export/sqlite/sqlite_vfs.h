/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open file as an SQLite database: SQLite itself opens files by their path, where other users
 * may put another file meanwhile.
 */
#pragma once

#include <sqlite3.h>

/*
 * Opens the empty file at @fd, which stays the caller's, as a database for one connection that
 * keeps no journal. Returns a code of SQLite, as sqlite3_open_v2() does; *@db is to be closed in
 * any case.
 */
int sqlite_vfs__open(int fd, sqlite3 **db);

/* errno of the last access to the file of @db that failed; 0: none, or @db is NULL. */
int sqlite_vfs__errno(sqlite3 *db);
