// SPDX-License-Identifier: BSD-2-Clause
/*
 * Any bytes, as an ELF file and as the .eh_frame or .gopclntab of an ELF file: no crash, an
 * end, and rows that keep the promises of unwind_table.h.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/processor.h"
#include "symbols/unwind/unwind_table.h"

#define TEXT_SIZE 0x100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct file {
	Elf64_Ehdr header;
	Elf64_Phdr text;
	Elf64_Shdr sections[3];
	char names[24];
	uint8_t frames[];
};

static void check(const struct unwind_table *table)
{
	for (size_t i = 1; i < table->n_rows; i++) {
		const struct unwind_row *a = &table->rows[i - 1], *b = &table->rows[i];

		if (b->pc <= a->pc || (b->cfa == a->cfa && b->fp == a->fp && b->rule == a->rule))
			abort();
		if (unwind_rows__find(table->rows, table->n_rows, b->pc) != b ||
		    unwind_rows__find(table->rows, table->n_rows, b->pc - 1) != a)
			abort();
	}
}

static void build(const void *image, size_t size)
{
	struct unwind_table *table;

	if (unwind_table__build_memory(image, size, &table))
		return;
	check(table);
	unwind_table__free(table);
}

/* The first byte says which section the others are. */
static void build_section(const uint8_t *data, size_t size)
{
	struct file *file = calloc(1, sizeof(*file) + size);

	if (!file)
		return;
	memcpy(file->header.e_ident, ELFMAG, SELFMAG);
	file->header.e_ident[EI_CLASS] = ELFCLASS64;
	file->header.e_ident[EI_DATA] = ELFDATA2LSB;
	file->header.e_type = ET_DYN;
	file->header.e_machine = processor__own()->elf;
	file->header.e_phoff = offsetof(struct file, text);
	file->header.e_phentsize = sizeof(file->text);
	file->header.e_phnum = 1;
	file->header.e_shoff = offsetof(struct file, sections);
	file->header.e_shentsize = sizeof(file->sections[0]);
	file->header.e_shnum = 3;
	file->header.e_shstrndx = 1;
	file->text = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_X, .p_filesz = TEXT_SIZE};
	file->sections[1].sh_type = SHT_STRTAB;
	file->sections[1].sh_offset = offsetof(struct file, names);
	file->sections[1].sh_size = sizeof(file->names);
	file->sections[2].sh_type = SHT_PROGBITS;
	file->sections[2].sh_offset = offsetof(struct file, frames);
	file->sections[2].sh_size = size - 1;
	if (*data & 2)
		file->sections[2].sh_flags = SHF_COMPRESSED;
	strcpy(file->names, *data & 4 ? ".gopclntab" : *data & 1 ? ".debug_frame" : ".eh_frame");
	memcpy(file->frames, data + 1, size - 1);
	build(file, sizeof(*file) + size - 1);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	build(data, size);
	if (size)
		build_section(data, size);
	return 0;
}
