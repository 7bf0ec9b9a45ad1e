/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source lines and inlined functions of one ELF file, from DWARF 2 to 5. Only
 * the head of each unit is read at first; a unit's functions, its line table
 * and a function's inlined calls when an address in it is asked.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/cleanup.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"

struct dwarf_info;

/*
 * @dwarf stays the caller's and has to outlive the result, as has @strings.
 * @size is that of the file in bytes; it bounds what is kept of it. 0 or -ENOMEM.
 */
int dwarf_info__new(Dwarf *dwarf, uint64_t size, struct strings *strings, struct dwarf_info **out);

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
