/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code by source: which line or function the code at an address belongs to as
 * far as a person may change it (the scope), and where the code of a line or of
 * a function lies. What `dwell causal` speeds up virtually is such a piece of
 * code. Coz, SOSP'15, 3.1 and 3.4.2.
 *
 * Addresses are linked (virtual) addresses in one ELF file. DWARF is read per unit,
 * when an address in it is asked for, or a source file that it mentions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"

/*
 * Which source files are in scope: shell patterns (fnmatch, where * matches / too)
 * of which a file's path, as DWARF has it made absolute and without . and .., must match
 * one, unless one of @without matches. With no patterns at all: every file but those below
 * /usr/include, /usr/lib, /rustc and any .cargo/registry (headers of the system, and
 * others' sources). A function without source file is in scope when there are no
 * patterns. Strings stay the caller's.
 */
struct code_scope {
	const char *const *patterns;
	size_t n_patterns;
	const char *const *without;
	size_t n_without;
};

/*
 * What an address is attributed to: the innermost of its frames (inlined ones, then
 * the function itself) that is in scope. Its line is where that frame stands: the
 * address's own line, or that of the inlined call in it. When none is in scope, it is the
 * function itself, with @in_scope false. Strings are the code's.
 */
struct code_place {
	const char *file;     /* absolute and plain; NULL without debug information */
	uint32_t line;	      /* 0: unknown */
	const char *function; /* demangled; "" unknown. Of an inlined frame: the one inlined */
	bool in_scope;	      /* false: attribute to the caller of the function */
};

struct code_range {
	uint64_t start;
	uint64_t end; /* not included */
};

/* Sorted by start, not overlapping, adjacent ones merged, when a function below filled it. */
struct code_ranges {
	ARRAY(struct code_range) ranges;
};

struct code;

/*
 * The ELF file open at @fd (which stays the caller's), mapped from @path (as its
 * process saw it). Debug information is looked for as gdb does, by way of debug_file.h;
 * @debug_root NULL is /usr/lib/debug. Without any, functions are those of the symbol
 * tables. No servers are asked. Strings of @scope have to outlive the result.
 * Returns 0, -ENOEXEC when it is no ELF file, -ENOMEM.
 */
int code__new(int fd, const char *path, const char *debug_root, const struct code_scope *scope,
	      struct code **out);

/* Attributes @address (for a return address pass the address - 1). Always fills @place. */
void code__place(struct code *code, uint64_t address, struct code_place *place);

/*
 * The code that code__place() attributes to the line @file:@line, in all units that
 * have code of it. @file may be the end of a path from a / on ("db/env.cc", "env.cc").
 * 0; -ENOENT when there is none; -ENODATA when there is no debug information; -ENOMEM;
 * -ENOTUNIQ when several files with code in scope end so (code__suggest() lists them).
 * *@place (may be NULL) gets the line's full name; with -ENOENT the file, if it is known
 * at all, and whether that is in scope: what is not has no code attributed to it.
 */
int code__line(struct code *code, const char *file, uint32_t line, struct code_ranges *ranges,
	       struct code_place *place);

/*
 * All code of the function @name: its body (hot and cold parts), and everywhere it was
 * inlined, code inlined into it included. @name is compared with the demangled name
 * without its parameters ("rocksdb::DBImpl::Get"), then with the whole demangled name,
 * then with the linkage name, then with the last component or components ("Get",
 * "DBImpl::Get", when all that have these are one function, its overloads or instances of
 * its template). Static functions of one name are all meant. Not asked of the scope.
 * 0, -ENOENT, -ENOMEM or -ENOTUNIQ. *@full gets the name in full, the code's, may be NULL.
 */
int code__function(struct code *code, const char *name, struct code_ranges *ranges,
		   const char **full);

/*
 * The code of the unit of @address whose functions are out of scope, as far as they
 * are functions of their own (not inlined): samples there belong to their callers.
 * Nothing when the unit was asked for before. 0 or -ENOMEM.
 */
int code__out_of_scope(struct code *code, uint64_t address, struct code_ranges *ranges);

/*
 * Where a breakpoint for @file:@line or function @name goes (@line 0: @file is a function's
 * name): the first instructions that are marked as statements of the line, one for each
 * copy of the code (each function, or call inlined in one, that has the line), or each
 * entry of the function, inlined ones too (behind its prologue is not looked for). As
 * ranges of length 1. Whether in scope or not. Errors as those of code__line() and
 * code__function().
 */
int code__entries(struct code *code, const char *file, uint32_t line, struct code_ranges *entries);

/* The offset in the file of linked address @address. -ENOENT when no loaded segment has it. */
int code__offset(const struct code *code, uint64_t address, uint64_t *offset);

/*
 * Up to @max names near to @text (FILE:LINE or a function) that do exist: the nearest
 * lines with code in that file, or of each file that ends so; else files of a similar name
 * (without line); or functions of a similar name (those of the same last component only, if
 * there are any). Nearest first, at most 32. Returns how many; strings are the code's.
 */
size_t code__suggest(struct code *code, const char *text, const char **names, size_t max);

/* Why there are no lines (stripped, no debug file, ...) and the mend; NULL when all is well. */
const char *code__trouble(struct code *code);

void code__free(struct code *code);
DEFINE_CLEANUP(struct code *, code__free)
#define _cleanup_code_ _cleanup_(code__freep)

static inline void code_ranges__free(struct code_ranges *ranges)
{
	array__free(&ranges->ranges);
}
