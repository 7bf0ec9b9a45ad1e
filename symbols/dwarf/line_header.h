/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The head of a line number table (.debug_line, DWARF 2 to 5): which source
 * files a unit mentions, told without reading its rows.
 */
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "symbols/elf/elf_file.h"

struct line_section {
	const uint8_t *data;
	size_t size;
};

/* Views of what libelf holds, as long as the file is open. */
struct line_sections {
	struct line_section line;
	struct line_section line_str;
	struct line_section str;
};

/* Strings are the section's. */
struct line_file {
	const char *directory; /* NULL: that of the unit */
	const char *name;      /* NULL: no such file */
};

struct line_header {
	uint64_t size; /* of the head in bytes */
	uint16_t version;
	uint8_t min_instruction;
	bool is_statement; /* at the start of a sequence */
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	const uint8_t *opcode_arguments; /* of opcode 1 and so on */
	struct cursor program;
	ARRAY(const char *) directories;
	ARRAY(struct line_file) files; /* numbered as the rows and DW_AT_call_file have it */
};

/* Sections of @file, unpacked; empty ones where it has none. */
void line_sections__read(const struct elf_file *file, struct line_sections *sections);

/*
 * Reads the head at @offset of .debug_line into @header, whose arrays are used
 * again. 0, -EBADMSG or -ENOMEM.
 */
int line_header__read(const struct line_sections *sections, uint64_t offset,
		      struct line_header *header);

/* The path of @file in a unit compiled in @directory (or NULL), made plain; false: too long. */
bool line_file__path(const struct line_file *file, const char *directory, char *path, size_t size);

void line_header__free(struct line_header *header);
