// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/elf/elf_symbols.h"

#include <string.h>

/*
 * Gets the header of section @index if it is executable; other symbols are not functions. In debug
 * files, executable sections have headers but no bytes.
 */
static bool is_code_section(const struct elf_file *file, size_t index, GElf_Shdr *header)
{
	Elf_Scn *section = elf_getscn(file->elf, index);

	return section && gelf_getshdr(section, header) && (header->sh_flags & SHF_EXECINSTR);
}

/* Labels of compilers and assemblers: .L12, and the mapping symbols $x and $d on Arm. */
static bool is_local_label(const char *name)
{
	return name[0] == '$' || !strncmp(name, ".L", 2);
}

/* Adds one symbol of a table, if it is of the kind that is wanted. 0 or -ENOMEM. */
typedef int (*add_function)(struct symtab *symtab, const struct elf_file *file, const GElf_Sym *sym,
			    size_t section, const char *name);

static int add_symbol(struct symtab *symtab, const struct elf_file *file, const GElf_Sym *sym,
		      size_t section, const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info);
	struct symbol symbol = {
		.start = sym->st_value,
		.size = sym->st_size,
		.raw = name,
		.function = type != STT_NOTYPE,
		.global = GELF_ST_BIND(sym->st_info) != STB_LOCAL,
	};
	GElf_Shdr header;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
		return 0;
	if (!name || !*name || (type == STT_NOTYPE && is_local_label(name)))
		return 0;
	if (!is_code_section(file, section, &header))
		return 0;
	symbol.limit = header.sh_addr + header.sh_size;
	if (symbol.start < header.sh_addr || symbol.start >= symbol.limit)
		return 0;
	return symtab__add(symtab, &symbol);
}

static int add_variable(struct symtab *symtab, const struct elf_file *file, const GElf_Sym *sym,
			size_t section, const char *name)
{
	struct symbol symbol = {
		.start = sym->st_value,
		.size = sym->st_size,
		.raw = name,
		.function = true,
		.global = GELF_ST_BIND(sym->st_info) != STB_LOCAL,
	};
	GElf_Shdr header;

	if (GELF_ST_TYPE(sym->st_info) != STT_OBJECT || !sym->st_size || !name || !*name)
		return 0;
	if (!gelf_getshdr(elf_getscn(file->elf, section), &header) ||
	    !(header.sh_flags & SHF_ALLOC) || header.sh_flags & SHF_EXECINSTR)
		return 0;
	return symtab__add(symtab, &symbol);
}

/* The SHT_SYMTAB_SHNDX table of symbol table @index, or NULL. */
static Elf_Data *section_numbers(const struct elf_file *file, size_t index)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
		    header.sh_link == index)
			return elf_getdata(section, NULL);
	return NULL;
}

static int add_table(struct symtab *symtab, const struct elf_file *file, Elf_Scn *section,
		     const GElf_Shdr *header, add_function add)
{
	Elf_Data *numbers = section_numbers(file, elf_ndxscn(section));
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym sym;

	for (int i = 0; data && i < INT32_MAX; i++) {
		Elf32_Word number = 0;
		int err;

		if (!gelf_getsymshndx(data, numbers, i, &sym, &number))
			break;
		if (sym.st_shndx != SHN_XINDEX)
			number = sym.st_shndx;
		if (sym.st_shndx == SHN_UNDEF ||
		    (sym.st_shndx >= SHN_LORESERVE && sym.st_shndx != SHN_XINDEX))
			continue;
		err = add(symtab, file, &sym, number,
			  elf_strptr(file->elf, header->sh_link, sym.st_name));
		if (err)
			return err;
	}
	return 0;
}

int elf_symbols__add(struct symtab *symtab, const struct elf_file *file,
		     struct elf_symbols_found *found)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(file->elf, section))) {
		size_t before = symtab->n;
		int err;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		err = add_table(symtab, file, section, &header, add_symbol);
		if (err)
			return err;
		if (symtab->n == before)
			continue;
		if (header.sh_type == SHT_SYMTAB)
			found->symtab = true;
		else
			found->dynsym = true;
	}
	return 0;
}

int elf_symbols__add_variables(struct symtab *symtab, const struct elf_file *file)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int err = 0;

	while (!err && (section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			err = add_table(symtab, file, section, &header, add_variable);
	return err;
}
