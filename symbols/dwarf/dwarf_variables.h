/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The global and static variables of one ELF file, from DWARF: which member or element of them an
 * address belongs to.
 */
#pragma once

#include "base/cleanup.h"
#include "symbols/dwarf/dwarf_info.h"

struct dwarf_variables;

/* Walks all units of @info, which must outlive the result. 0 or -ENOMEM. */
int dwarf_variables__new(struct dwarf_info *info, struct dwarf_variables **out);
void dwarf_variables__free(struct dwarf_variables *variables);

/*
 * Writes what is @offset bytes behind the start of the variable at linked address @start, as
 * ".lock" or "[3].mutex"; "" for the variable itself. Members with reserved names (__x, _X) belong
 * to an implementation, such as the C library's, and are left out with all that they contain.
 * False: it is not known.
 */
bool dwarf_variables__member(struct dwarf_variables *variables, uint64_t start, uint64_t offset,
			     char *text, size_t size);

DEFINE_CLEANUP(struct dwarf_variables *, dwarf_variables__free)
#define _cleanup_dwarf_variables_ _cleanup_(dwarf_variables__freep)
