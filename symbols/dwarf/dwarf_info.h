/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source lines and inlined functions of one ELF file, from DWARF 2 to 5. At first only the unit
 * DIEs are read. The functions and line table of a unit, and the inlined calls of a function,
 * are read when an address in it is resolved.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "symbols/dwarf/dwarf_unit.h"
#include "symbols/elf/elf_file.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"

/* The members are for code_*.c; others use the functions below. */
struct dwarf_info {
	struct dwarf_context context;
	ARRAY(struct dwarf_unit) units;
	struct ranges ranges; /* of the units; value: see dwarf_info__value() */
};

/*
 * Converts between an index of units and the value in ranges. C++ compilers emit inline functions
 * and template instances in every unit that uses them; linkers keep the code of the first unit,
 * but relocate the ranges of others to it, too. ranges__find() prefers the greatest of equal
 * ranges, so values descend to make it find the first unit.
 */
static inline uint32_t dwarf_info__value(uint32_t unit)
{
	return ~unit;
}

/*
 * @dwarf was opened from @file. Both and @strings are the caller's and must outlive the result.
 * 0 or -ENOMEM.
 */
int dwarf_info__new(Dwarf *dwarf, const struct elf_file *file, struct strings *strings,
		    struct dwarf_info **out);

/*
 * As symbolizer__resolve(), for a linked address. The outermost frame gets the name @symbol if it
 * is not NULL. Returns 0 if DWARF has neither a function nor a line there.
 */
size_t dwarf_info__resolve(struct dwarf_info *info, uint64_t address, const char *symbol,
			   struct symbol_frame *frames, size_t max);

void dwarf_info__free(struct dwarf_info *info);
DEFINE_CLEANUP(struct dwarf_info *, dwarf_info__free)
#define _cleanup_dwarf_info_ _cleanup_(dwarf_info__freep)
