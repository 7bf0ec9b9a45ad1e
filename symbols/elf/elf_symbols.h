/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of an ELF file: from its symbol tables and, for the stubs
 * through which it calls other files, from its relocations.
 */
#pragma once

#include "symbols/elf/elf_file.h"
#include "symbols/symtab.h"

/* What elf_symbols__add() found. */
struct elf_symbols_found {
	bool symtab; /* a .symtab with functions */
	bool dynsym;
};

/*
 * Adds the functions of every symbol table of @file, at the addresses they are
 * linked at. Names are those in @file, which has to stay. 0 or -ENOMEM.
 */
int elf_symbols__add(struct symtab *symtab, const struct elf_file *file,
		     struct elf_symbols_found *found);

/*
 * Adds the PLT stubs of @file to @stubs; @functions, sealed, names the targets
 * that have no symbol of their own (ifuncs). x86-64 and aarch64. 0 or -ENOMEM.
 */
int plt__add(struct symtab *stubs, const struct elf_file *file, const struct symtab *functions);
