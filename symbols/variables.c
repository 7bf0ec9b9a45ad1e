// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/variables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/dwarf/dwarf_variables.h"
#include "symbols/elf/elf_symbols.h"

struct variables {
	const struct elf_file *program;
	struct symtab symtab;
	struct strings *strings;
	struct dwarf_variables *dwarf; /* NULL: there is none */
};

int variables__new(const struct elf_file *program, const struct elf_file *debug,
		   struct dwarf_info *info, struct strings *strings, struct variables **out)
{
	_cleanup_variables_ struct variables *variables = calloc(1, sizeof(*variables));
	int err;

	if (!variables)
		return -ENOMEM;
	variables->program = program;
	variables->strings = strings;
	err = elf_symbols__add_variables(&variables->symtab, program);
	if (!err && debug)
		err = elf_symbols__add_variables(&variables->symtab, debug);
	err = err ? err : symtab__seal(&variables->symtab);
	if (!err && info)
		err = dwarf_variables__new(info, &variables->dwarf);
	if (err)
		return err;
	*out = TAKE_PTR(variables);
	return 0;
}

void variables__free(struct variables *variables)
{
	if (!variables)
		return;
	dwarf_variables__free(variables->dwarf);
	symtab__free(&variables->symtab);
	free(variables);
}

/* Whether linked address @vaddr is in a segment for data. */
static bool is_data(const struct elf_file *file, uint64_t vaddr)
{
	GElf_Phdr segment;

	for (size_t next = 0; elf_file__next_load(file, &next, &segment);)
		if (segment.p_flags & PF_W && vaddr >= segment.p_vaddr &&
		    vaddr - segment.p_vaddr < segment.p_memsz)
			return true;
	return false;
}

/* The linked address: as far from that of the code as in memory. */
static bool linked_address(const struct elf_file *file, uint64_t address, uint64_t *vaddr)
{
	GElf_Phdr segment;

	for (size_t next = 0; elf_file__next_load(file, &next, &segment);) {
		*vaddr = address + (segment.p_vaddr - segment.p_offset);
		if (segment.p_flags & PF_X && is_data(file, *vaddr))
			return true;
	}
	return false;
}

static const char *name_unknown(const struct variables *variables, uint64_t vaddr)
{
	const char *name = strrchr(variables->program->path, '/');
	char text[512];

	snprintf(text, sizeof(text), "%s+0x%" PRIx64, name ? name + 1 : variables->program->path,
		 vaddr);
	return strings__intern(variables->strings, text);
}

const char *variables__name(struct variables *variables, uint64_t address)
{
	char text[512], member[256] = "";
	struct symbol *symbol;
	const char *name;
	uint64_t vaddr, offset;

	if (!linked_address(variables->program, address, &vaddr))
		return NULL;
	symbol = symtab__find(&variables->symtab, vaddr);
	if (!symbol)
		return name_unknown(variables, vaddr);
	name = symbol__name(symbol, variables->strings);
	if (!name)
		return NULL;
	offset = vaddr - symbol->start;
	if (!variables->dwarf || !dwarf_variables__member(variables->dwarf, symbol->start, offset,
							  member, sizeof(member))) {
		*member = '\0';
		if (offset)
			snprintf(member, sizeof(member), "+0x%" PRIx64, offset);
	}
	snprintf(text, sizeof(text), "%s%s", name, member);
	return strings__intern(variables->strings, text);
}
