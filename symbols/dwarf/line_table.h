/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The line table of a unit. Not read with libdw, because that keeps all rows of every table in
 * memory, and mixes the rows of code that the linker dropped, with addresses from 0 on, with
 * those of real code.
 */
#pragma once

#include "symbols/dwarf/line_header.h"
#include "symbols/ranges.h"
#include "symbols/strings.h"

struct line_row {
	uint64_t address;
	uint32_t file;
	uint32_t line; /* 0: none */
	bool is_statement;
	bool ends; /* end_sequence: there is no code at the address */
};

/* Limits for reading a table. */
struct line_limits {
	const struct ranges
		*text;	     /* executable code: other sequences are skipped; empty: all are read */
	uint64_t *rows_left; /* how many more rows may be read */
	uint64_t *path_bytes_left; /* how many more bytes of paths may be kept */
};

/*
 * Runs the program of @header and calls @take for each row. Rows come in sequences with ascending
 * addresses, each terminated by a row with @ends. Stops at malformed instructions. 0, or the
 * first value other than 0 that @take returns.
 */
int line_header__rows(const struct line_header *header, const struct line_limits *limits,
		      int (*take)(void *context, const struct line_row *row), void *context);

struct line_span {
	uint64_t start;
	uint64_t end; /* not included */
	const char *file;
	uint32_t line;
};

struct line_table {
	struct line_header header;
	struct line_limits limits;
	struct strings *strings;
	const char *directory;	       /* of the unit, or NULL */
	ARRAY(const char *) paths;     /* of the files; NULL: not made yet */
	ARRAY(struct line_span) spans; /* by address, disjoint */
};

/*
 * Reads the header of the table at @offset, without rows. @directory (or NULL), what @limits points
 * to, and @strings, which will hold the paths, must outlive the table. 0, -EBADMSG or -ENOMEM.
 */
int line_table__open(struct line_table *table, const struct line_sections *sections,
		     uint64_t offset, const char *directory, const struct line_limits *limits,
		     struct strings *strings);

/* As line_table__open(), with the spans. Malformed parts are left out. 0 or -ENOMEM. */
int line_table__read(struct line_table *table, const struct line_sections *sections,
		     uint64_t offset, const char *directory, const struct line_limits *limits,
		     struct strings *strings);

/* The path of file number @file, or NULL. */
const char *line_table__path(struct line_table *table, uint64_t file);

/* The index of the first span that ends after @address; spans.n if there is none. */
size_t line_table__first_ending_after(const struct line_table *table, uint64_t address);

/* The span that contains @address, or NULL. */
const struct line_span *line_table__find(const struct line_table *table, uint64_t address);

void line_table__free(struct line_table *table);
