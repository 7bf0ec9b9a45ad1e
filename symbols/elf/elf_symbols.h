/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of an ELF file, from its symbol tables, and its PLT stubs, from its relocations.
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
 * Adds the functions in all symbol tables of @file, by linked address. Names point into @file,
 * which must outlive @symtab. 0 or -ENOMEM.
 */
int elf_symbols__add(struct symtab *symtab, const struct elf_file *file,
		     struct elf_symbols_found *found);

/* The same with its variables (not the thread-local ones) instead of its functions. */
int elf_symbols__add_variables(struct symtab *symtab, const struct elf_file *file);

/*
 * Adds the PLT stubs of @file to @stubs. @functions, sealed, has the names of targets without
 * symbol in the relocation (ifuncs). x86-64 and aarch64. 0 or -ENOMEM.
 */
int plt__add(struct symtab *stubs, const struct elf_file *file, const struct symtab *functions);
