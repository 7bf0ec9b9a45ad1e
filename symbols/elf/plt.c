// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "arch/processor.h"
#include "base/hash.h"
#include "symbols/elf/elf_symbols.h"

/*
 * A stub jumps through a GOT slot, and the relocation of that slot names the function. Decoding
 * the slot from the code of the stub works for all layouts of PLT sections (.plt, .plt.sec,
 * .plt.got; lazy or not). Lazy stubs without such a jump push the index of their relocation
 * instead (x86-64).
 */
struct plt {
	const struct elf_file *file;
	const struct symtab *functions;
	struct map64 slots;   /* address of a GOT slot -> const char * */
	struct map64 numbers; /* index in .rela.plt -> const char * */
	struct symtab *stubs;
};

static const struct processor_plt *find_format(const struct elf_file *file)
{
	const struct processor *processor = NULL;
	GElf_Ehdr header;

	if (gelf_getehdr(file->elf, &header))
		processor = processor__find(header.e_machine);
	return processor ? &processor->plt : NULL;
}

/* The name of the function that @rela stores in its slot, or NULL. */
static const char *plt_target(const struct plt *plt, const struct processor_plt *format,
			      const GElf_Rela *rela, Elf_Data *symbols, size_t names)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(rela->r_info);
	const char *name;
	GElf_Sym sym;

	if (type == format->irelative) {
		const struct symbol *symbol =
			symtab__find(plt->functions, (uint64_t)rela->r_addend);

		return symbol ? symbol->raw : NULL;
	}
	if (type != format->jump_slot && type != format->glob_dat)
		return NULL;
	if (!symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &sym))
		return NULL;
	name = elf_strptr(plt->file->elf, names, sym.st_name);
	return name && *name ? name : NULL;
}

/* @numbered: the section is .rela.plt, whose indices lazy stubs push. */
static int plt_read_relocations(struct plt *plt, const struct processor_plt *format,
				Elf_Scn *section, const GElf_Shdr *header, bool numbered)
{
	Elf_Scn *symbols = elf_getscn(plt->file->elf, header->sh_link);
	Elf_Data *symbol_data = symbols ? elf_getdata(symbols, NULL) : NULL;
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr symbol_header = {};
	GElf_Rela rela;

	if (symbols && !gelf_getshdr(symbols, &symbol_header))
		symbol_data = NULL;
	for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
		const char *name =
			plt_target(plt, format, &rela, symbol_data, symbol_header.sh_link);

		if (!name)
			continue;
		if (!map64__put(&plt->slots, rela.r_offset, (uintptr_t)name))
			return -ENOMEM;
		if (numbered && !map64__put(&plt->numbers, (uint64_t)i, (uintptr_t)name))
			return -ENOMEM;
	}
	return 0;
}

/* What is no stub is the code that all lazy ones jump to: it has the name of its section, @table.
 */
static int plt_read_stubs(struct plt *plt, const struct processor_plt *format, Elf_Scn *section,
			  const GElf_Shdr *header, const char *table)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	/* Stubs of .plt.got are 8 bytes, or 16 when they start with an endbr64. */
	size_t step = header->sh_entsize == 8 ? 8 : 16;

	for (size_t at = 0; data && data->d_buf && at < data->d_size; at += step) {
		uint64_t address = header->sh_addr + at;
		const uint64_t *name = NULL;
		uint64_t number = UINT64_MAX;
		uint64_t slot = 0;
		struct symbol symbol = {
			.start = address,
			.size = step,
			.raw = table,
			.function = true,
			.plt = true,
		};

		if (format->decode((const uint8_t *)data->d_buf + at, data->d_size - at, address,
				   &slot, &number)) {
			name = number != UINT64_MAX ? map64__get(&plt->numbers, number)
						    : map64__get(&plt->slots, slot);
			if (!name)
				continue;
			symbol.raw = (const char *)(uintptr_t)*name;
		}
		if (symtab__add(plt->stubs, &symbol))
			return -ENOMEM;
	}
	return 0;
}

static int plt_read_section(struct plt *plt, const struct processor_plt *format, Elf_Scn *section,
			    const char *name, bool relocations)
{
	GElf_Shdr header;

	if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
		return 0;
	if (relocations && header.sh_type == SHT_RELA && (header.sh_flags & SHF_ALLOC))
		return plt_read_relocations(plt, format, section, &header,
					    !strcmp(name, ".rela.plt"));
	if (!relocations && (header.sh_flags & SHF_EXECINSTR) && !strncmp(name, ".plt", 4))
		return plt_read_stubs(plt, format, section, &header, name);
	return 0;
}

/* Relocations first, then the stubs that use them. */
static int plt_read(struct plt *plt, const struct processor_plt *format)
{
	size_t names;

	if (elf_getshdrstrndx(plt->file->elf, &names))
		return 0;
	for (int pass = 0; pass < 2; pass++) {
		Elf_Scn *section = NULL;

		while ((section = elf_nextscn(plt->file->elf, section))) {
			GElf_Shdr header;
			const char *name;

			if (!gelf_getshdr(section, &header))
				continue;
			name = elf_strptr(plt->file->elf, names, header.sh_name);
			if (name && plt_read_section(plt, format, section, name, !pass))
				return -ENOMEM;
		}
	}
	return 0;
}

int plt__add(struct symtab *stubs, const struct elf_file *file, const struct symtab *functions)
{
	struct plt plt = {.file = file, .functions = functions, .stubs = stubs};
	const struct processor_plt *format = find_format(file);
	int err;

	if (!format)
		return 0;
	err = plt_read(&plt, format);
	map64__free(&plt.slots);
	map64__free(&plt.numbers);
	return err;
}
