/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The header of a line number program (.debug_line, DWARF 2 to 5), which lists the source files of
 * a unit.
 */
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "symbols/elf/elf_file.h"

struct line_section {
	const uint8_t *data;
	size_t size;
};

/* Contents of sections; valid while the file is open. */
struct line_sections {
	struct line_section line;
	struct line_section line_str;
	struct line_section str;
};

/* Strings point into the section. */
struct line_file {
	const char *directory; /* NULL: that of the unit */
	const char *name;      /* NULL: the number is unused */
};

struct line_header {
	uint64_t size; /* of the header in bytes */
	uint16_t version;
	uint8_t min_instruction;
	bool is_statement; /* default_is_stmt */
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	const uint8_t *opcode_arguments; /* standard_opcode_lengths, from opcode 1 on */
	struct cursor program;
	ARRAY(const char *) directories;
	ARRAY(struct line_file) files; /* by the numbers in rows and DW_AT_call_file */
};

/* Gets the sections of @file, decompressed; empty if missing. */
void line_sections__read(const struct elf_file *file, struct line_sections *sections);

/*
 * Reads the header at @offset of .debug_line into @header, whose arrays are reused. 0, -EBADMSG
 * (malformed) or -ENOMEM.
 */
int line_header__read(const struct line_sections *sections, uint64_t offset,
		      struct line_header *header);

/*
 * The normalized path of @file in a unit compiled in @directory (or NULL). False: it is empty, or
 * too long.
 */
bool line_file__path(const struct line_file *file, const char *directory, char *path, size_t size);

void line_header__free(struct line_header *header);
