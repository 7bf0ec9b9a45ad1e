// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/dwarf/line_header.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf/dwarf_read.h"
#include "symbols/dwarf/source_path.h"

/* Columns of a DWARF 5 directory or file table; compilers write three or four. */
#define MAX_COLUMNS 16

struct column {
	uint64_t content;
	uint64_t form;
};

/* State for reading a table of directories or files. */
struct entry_reader {
	const struct line_sections *sections;
	struct cursor *cursor;
	bool wide; /* 64-bit DWARF */
	size_t n_columns;
	struct column columns[MAX_COLUMNS];
};

static struct line_section read_section(const struct elf_file *file, const char *name,
					const char *packed)
{
	Elf_Scn *section = elf_file__section(file, name, NULL);
	Elf_Data *data;
	GElf_Shdr header;

	/* Neither changes a section that libdw has decompressed already. */
	if (section && gelf_getshdr(section, &header) && (header.sh_flags & SHF_COMPRESSED)) {
		elf_compress(section, 0, 0);
	} else if (!section) {
		section = elf_file__section(file, packed, NULL);
		if (section)
			elf_compress_gnu(section, 0, 0);
	}
	data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || !data->d_buf)
		return (struct line_section){};
	return (struct line_section){.data = data->d_buf, .size = data->d_size};
}

void line_sections__read(const struct elf_file *file, struct line_sections *sections)
{
	const char *ident = elf_getident(file->elf, NULL);

	*sections = (struct line_sections){};
	if (!ident || ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
										   : ELFDATA2MSB))
		return;
	sections->line = read_section(file, ".debug_line", ".zdebug_line");
	sections->line_str = read_section(file, ".debug_line_str", ".zdebug_line_str");
	sections->str = read_section(file, ".debug_str", ".zdebug_str");
}

/* The string at @offset; NULL if it is not terminated or longer than PATH_MAX. */
static const char *section_string(const struct line_section *section, uint64_t offset)
{
	size_t most;

	if (offset >= section->size)
		return NULL;
	most = section->size - offset < PATH_MAX ? section->size - offset : PATH_MAX;
	if (!memchr(section->data + offset, '\0', most))
		return NULL;
	return (const char *)section->data + offset;
}

static const char *read_string(struct cursor *cursor)
{
	const struct line_section rest = {cursor->at, cursor__left(cursor)};
	const char *text = section_string(&rest, 0);

	if (text)
		cursor->at += strlen(text) + 1;
	else
		cursor->bad = true;
	return text;
}

static uint64_t read_offset(struct cursor *cursor, bool wide)
{
	return wide ? dwarf_read__uint64_t(cursor) : dwarf_read__uint32_t(cursor);
}

/* DWARF 2 to 4: directory 0 is that of the unit, others and files are numbered from 1. */
static int read_old_tables(struct cursor *cursor, struct line_header *header)
{
	if (array__push(&header->directories, NULL) ||
	    array__push(&header->files, (struct line_file){}))
		return -ENOMEM;
	while (!cursor->bad) {
		const char *name = read_string(cursor);

		if (!name || !*name)
			break;
		if (array__push(&header->directories, name))
			return -ENOMEM;
	}
	while (!cursor->bad) {
		struct line_file file = {.name = read_string(cursor)};
		uint64_t directory;

		if (!file.name || !*file.name)
			break;
		directory = dwarf_read__uleb(cursor);
		dwarf_read__uleb(cursor); /* time */
		dwarf_read__uleb(cursor); /* size */
		if (directory < header->directories.n)
			file.directory = header->directories.data[directory];
		if (array__push(&header->files, file))
			return -ENOMEM;
	}
	return cursor->bad ? -EBADMSG : 0;
}

static int read_columns(struct entry_reader *reader)
{
	reader->n_columns = dwarf_read__uint8_t(reader->cursor);
	if (reader->n_columns > MAX_COLUMNS)
		return -EBADMSG;
	for (size_t i = 0; i < reader->n_columns; i++) {
		reader->columns[i].content = dwarf_read__uleb(reader->cursor);
		reader->columns[i].form = dwarf_read__uleb(reader->cursor);
	}
	return reader->cursor->bad ? -EBADMSG : 0;
}

/* Reads a value: a string to *@text or a number to *@number. Each takes at least one byte. */
static int read_value(const struct entry_reader *reader, uint64_t form, const char **text,
		      uint64_t *number)
{
	struct cursor *cursor = reader->cursor;

	switch (form) {
	case DW_FORM_string:
		*text = read_string(cursor);
		break;
	case DW_FORM_line_strp:
		*text = section_string(&reader->sections->line_str,
				       read_offset(cursor, reader->wide));
		break;
	case DW_FORM_strp:
		*text = section_string(&reader->sections->str, read_offset(cursor, reader->wide));
		break;
	case DW_FORM_udata:
		*number = dwarf_read__uleb(cursor);
		break;
	case DW_FORM_data1:
		*number = dwarf_read__uint8_t(cursor);
		break;
	case DW_FORM_data2:
		*number = dwarf_read__uint16_t(cursor);
		break;
	case DW_FORM_data4:
		*number = dwarf_read__uint32_t(cursor);
		break;
	case DW_FORM_data8:
		*number = dwarf_read__uint64_t(cursor);
		break;
	case DW_FORM_data16:
		dwarf_read__skip(cursor, 16);
		break;
	case DW_FORM_block:
		dwarf_read__skip(cursor, dwarf_read__uleb(cursor));
		break;
	default:
		return -EBADMSG;
	}
	return cursor->bad ? -EBADMSG : 0;
}

static int read_entry(const struct entry_reader *reader, const char **name, uint64_t *directory)
{
	*name = NULL;
	*directory = 0;
	for (size_t i = 0; i < reader->n_columns; i++) {
		const struct column *column = &reader->columns[i];
		const char *text = NULL;
		uint64_t number = 0;

		if (read_value(reader, column->form, &text, &number))
			return -EBADMSG;
		if (column->content == DW_LNCT_path)
			*name = text;
		else if (column->content == DW_LNCT_directory_index)
			*directory = number;
	}
	return 0;
}

/* DWARF 5: both are numbered from 0, and directory 0 is that of the unit. */
static int read_tables(struct entry_reader *reader, struct line_header *header)
{
	const char *name;
	uint64_t directory;
	uint64_t n;

	if (read_columns(reader))
		return -EBADMSG;
	n = dwarf_read__uleb(reader->cursor);
	for (uint64_t i = 0; i < n; i++) {
		if (!reader->n_columns || read_entry(reader, &name, &directory))
			return -EBADMSG;
		if (array__push(&header->directories, name))
			return -ENOMEM;
	}
	if (read_columns(reader))
		return -EBADMSG;
	n = dwarf_read__uleb(reader->cursor);
	for (uint64_t i = 0; i < n; i++) {
		struct line_file file = {};

		if (!reader->n_columns || read_entry(reader, &file.name, &directory))
			return -EBADMSG;
		if (directory < header->directories.n)
			file.directory = header->directories.data[directory];
		if (array__push(&header->files, file))
			return -ENOMEM;
	}
	return reader->cursor->bad ? -EBADMSG : 0;
}

/* Reads length, version and the fields of DWARF 5. @cursor then ends at the end of the table. */
static int read_start(struct cursor *cursor, struct line_header *header, bool *wide)
{
	uint64_t length = dwarf_read__uint32_t(cursor);

	*wide = length == UINT32_MAX;
	if (*wide)
		length = dwarf_read__uint64_t(cursor);
	if (length > cursor__left(cursor))
		return -EBADMSG;
	cursor->end = cursor->at + length;
	header->version = dwarf_read__uint16_t(cursor);
	if (header->version >= 5)
		dwarf_read__skip(cursor, 2); /* sizes of an address and a segment selector */
	return cursor->bad || header->version < 2 || header->version > 5 ? -EBADMSG : 0;
}

/* Reads the parameters of the line number program, and its start. */
static int read_packing(struct cursor *cursor, struct line_header *header, bool wide)
{
	uint64_t length = read_offset(cursor, wide);

	if (length > cursor__left(cursor))
		return -EBADMSG;
	header->program = (struct cursor){.at = cursor->at + length, .end = cursor->end};
	header->min_instruction = dwarf_read__uint8_t(cursor);
	/* maximum_operations_per_instruction: only for VLIW machines. */
	if (header->version >= 4)
		dwarf_read__uint8_t(cursor);
	header->is_statement = dwarf_read__uint8_t(cursor);
	header->line_base = (int8_t)dwarf_read__uint8_t(cursor);
	header->line_range = dwarf_read__uint8_t(cursor);
	header->opcode_base = dwarf_read__uint8_t(cursor);
	if (!header->line_range || !header->opcode_base)
		return -EBADMSG;
	header->opcode_arguments = dwarf_read__skip(cursor, header->opcode_base - 1);
	return cursor->bad ? -EBADMSG : 0;
}

int line_header__read(const struct line_sections *sections, uint64_t offset,
		      struct line_header *header)
{
	struct entry_reader reader = {.sections = sections};
	struct cursor cursor;
	int err;

	header->directories.n = 0;
	header->files.n = 0;
	if (offset >= sections->line.size)
		return -EBADMSG;
	cursor = (struct cursor){.at = sections->line.data + offset,
				 .end = sections->line.data + sections->line.size};
	err = read_start(&cursor, header, &reader.wide);
	if (!err)
		err = read_packing(&cursor, header, reader.wide);
	if (err)
		return err;
	cursor.end = header->program.at;
	header->size = (uint64_t)(cursor.end - sections->line.data) - offset;
	reader.cursor = &cursor;
	if (header->version >= 5)
		return read_tables(&reader, header);
	return read_old_tables(&cursor, header);
}

bool line_file__path(const struct line_file *file, const char *directory, char *path, size_t size)
{
	return file->name &&
	       source_path__join(directory, file->directory, file->name, path, size) && *path;
}

void line_header__free(struct line_header *header)
{
	array__free(&header->directories);
	array__free(&header->files);
}
