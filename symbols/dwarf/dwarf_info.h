/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source lines and inlined functions of one ELF file, from DWARF 2 to 5. Only
 * the head of each unit is read at first; a unit's functions, its line table
 * and a function's inlined calls when an address in it is asked.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "symbols/dwarf/dwarf_unit.h"
#include "symbols/elf/elf_file.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"

/* For code_*.c; others use the functions below. */
struct dwarf_info {
	struct dwarf_context context;
	ARRAY(struct dwarf_unit) units;
	struct ranges ranges; /* value: of the unit, see dwarf_info__value() */
};

/*
 * Of units that have the same code, which C++ compilers give to each that uses an
 * inline function or template, linkers take that of the first. But the ranges of
 * the others can be made to point to it, too. Of equal ranges the one with the
 * greatest value is found, so the values go down: an index makes a value, and back.
 */
static inline uint32_t dwarf_info__value(uint32_t unit)
{
	return ~unit;
}

/*
 * @dwarf, which was read from @file, and @file stay the caller's and have to
 * outlive the result, as has @strings. 0 or -ENOMEM.
 */
int dwarf_info__new(Dwarf *dwarf, const struct elf_file *file, struct strings *strings,
		    struct dwarf_info **out);

/*
 * As symbolizer__resolve(), for the linked address @address. The outermost
 * frame is named @symbol when that is not NULL. Returns 0 when DWARF knows
 * neither a function nor a line there.
 */
size_t dwarf_info__resolve(struct dwarf_info *info, uint64_t address, const char *symbol,
			   struct symbol_frame *frames, size_t max);

void dwarf_info__free(struct dwarf_info *info);
DEFINE_CLEANUP(struct dwarf_info *, dwarf_info__free)
#define _cleanup_dwarf_info_ _cleanup_(dwarf_info__freep)
