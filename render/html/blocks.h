/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks of data in the report page, docs/page.md: named, compressed, and in base64, so that
 * nothing of a recording can be taken for markup.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/hash.h"

/* Writes block @name of the @n bytes at @data. Returns 0 or -ENOMEM; errors of @to stay in it. */
int block__write(FILE *to, const char *name, const void *data, size_t n);

#define TABLE_COLUMNS 12

/*
 * A table of columns of numbers, below 2^56. Zeroed: empty. Columns that got no numbers are written
 * as zeros; all others have the same number of rows.
 */
struct table {
	struct buffer columns[TABLE_COLUMNS]; /* varints */
	size_t rows;			      /* of column 0 */
};

static inline void table__put(struct table *table, size_t column, uint64_t value)
{
	table->rows += !column;
	buffer__varint(&table->columns[column], value);
}

static inline void table__put_signed(struct table *table, size_t column, int64_t value)
{
	table->rows += !column;
	buffer__svarint(&table->columns[column], value);
}

/* Writes block @name of the first @n columns, and empties the table. Returns 0 or -ENOMEM. */
int table__write(struct table *table, size_t n, const char *name, FILE *to);
void table__free(struct table *table);

/*
 * Numbers that are likely one of the last two that came with the same key: such a number becomes 0
 * or 1, another one its value + 2. Zeroed: nothing was seen.
 */
struct recent_pair {
	uint32_t later; /* value + 1; 0: none */
	uint32_t earlier;
};

struct recent {
	ARRAY(struct recent_pair) pairs; /* by key */
};

/* What stands for @value, which comes with @key; or -ENOMEM. */
int64_t recent__code(struct recent *recent, uint32_t key, uint32_t value);

/* Strings of a recording, each once. */
struct page_strings {
	struct intern texts;
};

/* The number of @text, bytes that are not UTF-8 replaced: 0 for "". Or -ENOMEM. */
int64_t page_strings__id(struct page_strings *strings, const char *text);
int page_strings__write(const struct page_strings *strings, const char *name, FILE *to);
void page_strings__free(struct page_strings *strings);
