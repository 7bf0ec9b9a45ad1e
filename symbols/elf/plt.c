// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "symbols/elf/elf_symbols.h"

/*
 * A stub jumps through a GOT slot, and the relocation of that slot names the function. Decoding
 * the slot from the code of the stub works for all layouts of PLT sections (.plt, .plt.sec,
 * .plt.got; lazy or not). Lazy x86 stubs without such a jump push the index of their relocation
 * instead.
 */
struct plt {
	const struct elf_file *file;
	const struct symtab *functions;
	struct map64 slots;   /* address of a GOT slot -> const char * */
	struct map64 numbers; /* index in .rela.plt -> const char * */
	struct symtab *stubs;
};

struct plt_machine {
	uint16_t machine;
	uint32_t jump_slot;
	uint32_t glob_dat;
	uint32_t irelative;
	/*
	 * Whether the @size bytes at @code, linked at @address, are a stub. Sets
	 * *@slot, the address of its GOT slot, or *@number, the index of its relocation.
	 */
	bool (*decode)(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot,
		       uint64_t *number);
};

static bool plt_decode_x86(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot,
			   uint64_t *number)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	int32_t value;
	size_t at = 0;

	if (size >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (size - at >= 5 && code[at] == 0x68) { /* push $number */
		memcpy(&value, code + at + 1, sizeof(value));
		*number = (uint32_t)value;
		return true;
	}
	if (size - at >= 1 && code[at] == 0xf2) /* bnd */
		at++;
	if (size - at < 6 || code[at] != 0xff || code[at + 1] != 0x25) /* jmp *slot(%rip) */
		return false;
	memcpy(&value, code + at + 2, sizeof(value));
	*slot = address + at + 6 + (uint64_t)(int64_t)value;
	return true;
}

/* [bti c;] adrp x16, page; ldr x17, [x16, #offset]; add ...; br x17 */
static bool plt_decode_arm64(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot,
			     uint64_t *number)
{
	uint32_t insn[2];
	int64_t page;

	if (size >= 4 && !memcmp(code, "\x5f\x24\x03\xd5", 4)) {
		code += 4;
		size -= 4;
		address += 4;
	}
	if (size < sizeof(insn))
		return false;
	memcpy(insn, code, sizeof(insn));
	if ((insn[0] & 0x9f00001f) != 0x90000010 || (insn[1] & 0xffc003ff) != 0xf9400211)
		return false;
	page = (int64_t)((insn[0] >> 5 & 0x7ffff) << 2 | (insn[0] >> 29 & 3));
	page = (int64_t)((uint64_t)page << 43) >> 43;
	*slot = (address & ~0xfffULL) + ((uint64_t)page << 12) +
		((uint64_t)(insn[1] >> 10 & 0xfff) << 3);
	return true;
}

static const struct plt_machine machines[] = {
	{EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE, plt_decode_x86},
	{EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE,
	 plt_decode_arm64},
};

static const struct plt_machine *find_machine(const struct elf_file *file)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(file->elf, &header))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].machine == header.e_machine)
			return &machines[i];
	return NULL;
}

/* The name of the function that @rela stores in its slot, or NULL. */
static const char *plt_target(const struct plt *plt, const struct plt_machine *machine,
			      const GElf_Rela *rela, Elf_Data *symbols, size_t names)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(rela->r_info);
	const char *name;
	GElf_Sym sym;

	if (type == machine->irelative) {
		const struct symbol *symbol =
			symtab__find(plt->functions, (uint64_t)rela->r_addend);

		return symbol ? symbol->raw : NULL;
	}
	if (type != machine->jump_slot && type != machine->glob_dat)
		return NULL;
	if (!symbols || !gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &sym))
		return NULL;
	name = elf_strptr(plt->file->elf, names, sym.st_name);
	return name && *name ? name : NULL;
}

/* @numbered: the section is .rela.plt, whose indices lazy stubs push. */
static int plt_read_relocations(struct plt *plt, const struct plt_machine *machine,
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
			plt_target(plt, machine, &rela, symbol_data, symbol_header.sh_link);

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
static int plt_read_stubs(struct plt *plt, const struct plt_machine *machine, Elf_Scn *section,
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

		if (machine->decode((const uint8_t *)data->d_buf + at, data->d_size - at, address,
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

static int plt_read_section(struct plt *plt, const struct plt_machine *machine, Elf_Scn *section,
			    const char *name, bool relocations)
{
	GElf_Shdr header;

	if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
		return 0;
	if (relocations && header.sh_type == SHT_RELA && (header.sh_flags & SHF_ALLOC))
		return plt_read_relocations(plt, machine, section, &header,
					    !strcmp(name, ".rela.plt"));
	if (!relocations && (header.sh_flags & SHF_EXECINSTR) && !strncmp(name, ".plt", 4))
		return plt_read_stubs(plt, machine, section, &header, name);
	return 0;
}

/* Relocations first, then the stubs that use them. */
static int plt_read(struct plt *plt, const struct plt_machine *machine)
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
			if (name && plt_read_section(plt, machine, section, name, !pass))
				return -ENOMEM;
		}
	}
	return 0;
}

int plt__add(struct symtab *stubs, const struct elf_file *file, const struct symtab *functions)
{
	struct plt plt = {.file = file, .functions = functions, .stubs = stubs};
	const struct plt_machine *machine = find_machine(file);
	int err;

	if (!machine)
		return 0;
	err = plt_read(&plt, machine);
	map64__free(&plt.slots);
	map64__free(&plt.numbers);
	return err;
}
