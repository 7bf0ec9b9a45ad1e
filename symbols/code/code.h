/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mapping between code and source, within a scope of source files that the user can change: the
 * line and function that an address is attributed to, and the address ranges of a line or
 * function, which `dwell causal` speeds up virtually. Coz, SOSP'15, sections 3.1 and 3.4.2.
 *
 * Addresses are linked (virtual) addresses in one ELF file. DWARF is read per unit, on demand.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "symbols/code/code_types.h"

struct code;

/*
 * Opens the ELF file open at @fd, which stays the caller's; @path is its path in the process's
 * view. Debug information is searched for as gdb does (debug_file.h), without debuginfod;
 * @debug_root NULL is /usr/lib/debug. Without debug information, functions are those of the
 * symbol tables. Strings of @scope must outlive the result. Returns 0, -ENOEXEC (not an ELF
 * file) or -ENOMEM.
 */
int code__new(int fd, const char *path, const char *debug_root, const struct code_scope *scope,
	      struct code **out);

/* Attributes @address (for a return address pass the address - 1). Always fills @place. */
void code__place(struct code *code, uint64_t address, struct code_place *place);

/*
 * The code that code__place() attributes to @file:@line, in all units. @file may be the last
 * components of a path ("db/env.cc", "env.cc"). Returns 0, -ENOENT (no such code), -ENODATA (no
 * debug information), -ENOTUNIQ (several files with code in scope match; code__suggest() lists
 * them) or -ENOMEM. *@place (may be NULL) is set to the full path and line; with -ENOENT to the
 * file, if it is known, and whether it is in scope: files out of scope have no code.
 */
int code__line(struct code *code, const char *file, uint32_t line, struct code_ranges *ranges,
	       struct code_place *place);

/*
 * All code of the function @name: its body (hot and cold parts) and all its inlined copies, with
 * what is inlined into them. @name is compared with the demangled name without parameters
 * ("rocksdb::DBImpl::Get"), the complete demangled name, the linkage name, and the last
 * components of the name ("Get", "DBImpl::Get"; then all matches must be one function, its
 * overloads or instances of its template), in this order. Static functions with the same name
 * are all included. The scope does not matter. Returns 0, -ENOENT, -ENOTUNIQ or -ENOMEM. *@full
 * (may be NULL) is set to the full name, owned by @code.
 */
int code__function(struct code *code, const char *name, struct code_ranges *ranges,
		   const char **full);

/*
 * The code in the unit of @address that has no frame in scope: samples there are attributed to
 * the callers. Empty if the unit was reported before. 0 or -ENOMEM.
 */
int code__out_of_scope(struct code *code, uint64_t address, struct code_ranges *ranges);

/*
 * Addresses for breakpoints on @file:@line or, with @line 0, on the function named @file, as
 * ranges of length 1. For a line: the first instruction marked is_stmt in each copy of the code
 * (function or inlined call). For a function: its entry (before the prologue) and the entries of
 * its inlined copies. The scope does not matter. Errors as of code__line() and code__function().
 */
int code__entries(struct code *code, const char *file, uint32_t line, struct code_ranges *entries);

/* The same for the function @name, without its inlined copies. */
int code__function_entries(struct code *code, const char *name, struct code_ranges *entries);

/*
 * The same for all functions of the symbol tables whose name matches @pattern (fnmatch): the
 * demangled name without parameters and template arguments, or the symbol. -ENOENT: none does.
 */
int code__matching_entries(struct code *code, const char *pattern, struct code_ranges *entries);

/* The file offset of linked address @address. 0, or -ENOENT if no PT_LOAD segment has it. */
int code__offset(const struct code *code, uint64_t address, uint64_t *offset);

/*
 * Suggestions for a mistyped @text (FILE:LINE or a function), nearest first: the nearest lines
 * with code in that file, or one in each matching file; else files with similar names; or
 * functions with similar names (only those with the same last component, if there are any).
 * Returns their number, at most @max and 32. Strings are owned by @code.
 */
size_t code__suggest(struct code *code, const char *text, const char **names, size_t max);

/* Why lines are missing (stripped, no debug file, ...), with a hint; or NULL. @code's. */
const char *code__diagnostic(struct code *code);

void code__free(struct code *code);
DEFINE_CLEANUP(struct code *, code__free)
#define _cleanup_code_ _cleanup_(code__freep)
