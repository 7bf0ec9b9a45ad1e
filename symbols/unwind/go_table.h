/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * .gopclntab: the table of Go programs for their own tracebacks (formats of Go 1.2 to 1.26, as in
 * debug/gosym). It has functions by address, their names, and the stack depth, the distance from
 * the stack pointer to the return address, of each instruction. Stripping does not remove it.
 */
#pragma once

#include <stdint.h>

#include "symbols/unwind/cfi.h"

struct go_function {
	uint32_t start; /* linked address */
	uint32_t end;	/* not included */
	uint32_t stack; /* offset of the stack depths in the table; 0: unknown */
	const char *name;
};

struct go_table {
	const uint8_t *data; /* the caller's, followed by a NUL */
	size_t size;
	ARRAY(struct go_function) functions; /* by start */
};

/*
 * Reads the section, @size bytes at @data; @text is the address of .text. Malformed functions are
 * skipped. Returns 0, -ENOENT (unknown format) or -ENOMEM; @table must be freed in any case.
 */
int go_table__read(const uint8_t *data, size_t size, uint64_t text, struct go_table *table);

/* Appends the rows of all functions, and an empty row after the last. 0 or -ENOMEM. */
int go_table__rows(const struct go_table *table, struct cfi_rows *rows);

void go_table__free(struct go_table *table);
