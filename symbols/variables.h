/* SPDX-License-Identifier: BSD-2-Clause */
/* The global and static variables of a program or library, by address. */
#pragma once

#include "base/cleanup.h"
#include "symbols/dwarf/dwarf_info.h"
#include "symbols/elf/elf_file.h"
#include "symbols/strings.h"

struct variables;

/*
 * Variables of @program, with names from its symbol tables and those of @debug (may be NULL), and
 * members from @info (may be NULL). Everything must outlive the result. 0 or -ENOMEM.
 */
int variables__new(const struct elf_file *program, const struct elf_file *debug,
		   struct dwarf_info *info, struct strings *strings, struct variables **out);
void variables__free(struct variables *variables);

/*
 * What is at @address, as of symbolizer__variable(): "settings.lock", "locks[3]", "settings+0x28",
 * or "FILE+0xADDRESS" where the program has no name. NULL: outside of its data, or no memory.
 */
const char *variables__name(struct variables *variables, uint64_t address);

DEFINE_CLEANUP(struct variables *, variables__free)
#define _cleanup_variables_ _cleanup_(variables__freep)
