/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables, indices and views of `dwell export --format sqlite`. For sqlite*.c. */
#pragma once

/* PRAGMA user_version: raised when a table or column changes its meaning, or is removed. */
#define SQLITE_SCHEMA_VERSION 1

/* Before rows are written; each ends with a semicolon. */
extern const char sqlite_tables[];

/* After all rows were written. */
extern const char sqlite_indices[];
extern const char sqlite_views[];
