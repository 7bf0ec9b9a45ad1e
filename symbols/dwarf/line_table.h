/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of a line number table. libdw has them too, but keeps every row of
 * every table asked, and sorts code that the linker dropped, whose addresses
 * start at 0, among what is really there.
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
	bool ends; /* the sequence: there is no code at the address */
};

/* What the rows of a table are checked against. */
struct line_limits {
	const struct ranges
		*text;	      /* sequences that start elsewhere were dropped; empty: anywhere */
	uint64_t *budget;     /* rows that may still be read */
	uint64_t *path_bytes; /* that may still be kept: few bytes can make long paths */
};

/*
 * Hands the rows of @header to @take, in sequences within which addresses do
 * not fall, the last row of each one that ends it. Stops at what is damaged.
 * 0, or what @take returned when that was not 0.
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
	ARRAY(const char *) paths;     /* of the files, NULL: not asked yet */
	ARRAY(struct line_span) spans; /* by address, disjoint */
};

/*
 * Reads the head of the table at @offset, no rows. @directory (or NULL) has to
 * outlive the table, as have @limits' numbers and @strings, which gets the
 * paths. 0, -EBADMSG or -ENOMEM.
 */
int line_table__open(struct line_table *table, const struct line_sections *sections,
		     uint64_t offset, const char *directory, const struct line_limits *limits,
		     struct strings *strings);

/* As line_table__open(), and the spans; what cannot be read is not there. 0 or -ENOMEM. */
int line_table__read(struct line_table *table, const struct line_sections *sections,
		     uint64_t offset, const char *directory, const struct line_limits *limits,
		     struct strings *strings);

/* The path of file number @file, or NULL. */
const char *line_table__path(struct line_table *table, uint64_t file);

/* The index of the first span that ends behind @address; their number when none does. */
size_t line_table__behind(const struct line_table *table, uint64_t address);

/* What is known of @address, or NULL. */
const struct line_span *line_table__find(const struct line_table *table, uint64_t address);

void line_table__free(struct line_table *table);
