/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One DWARF compilation unit: its functions, the calls inlined into each, and
 * its line table. Internal to dwarf_info.c and code_*.c.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbols/dwarf/line_table.h"
#include "symbols/ranges.h"
#include "symbols/strings.h"

/* Deeper than any compiler nests scopes. */
#define DWARF_DEEPEST 512

/* What all units of a file share. */
struct dwarf_context {
	struct strings *strings;
	/*
	 * How many more address ranges may be kept. Real files have fewer than
	 * bytes; damaged ones can name one long list from every entry.
	 */
	uint64_t budget;
	uint64_t steps; /* how many more entries may be walked over; these can overlap, too */
	uint64_t bytes; /* that names and paths made of several parts may still take */
	struct line_sections lines;
	/*
	 * Executable sections. What is said to start elsewhere was dropped by the
	 * linker: it is left at 0 or so, where it would hide other code. Empty: all.
	 */
	struct ranges text;
	const char *missing; /* a file with code of a split unit that is not there; NULL: none */
};

/* A call that was inlined. */
struct inlined {
	Dwarf_Die die;
	uint32_t parent; /* 1 + index of the inlined call around it; 0: none */
	uint32_t depth;
	const char *name;      /* of the function called; NULL: not looked up yet */
	const char *call_file; /* where the call stands, or NULL */
	uint32_t call_line;
};

struct dwarf_function {
	Dwarf_Die die;
	const char *name; /* NULL: not looked up yet */
	bool loaded;	  /* the rest is there */
	struct inlined *inlined;
	size_t inlined_n;
	size_t inlined_capacity;
	struct ranges ranges; /* value: index in inlined */
};

struct dwarf_unit {
	Dwarf_Die head; /* has the line table; a skeleton's when split */
	Dwarf_Die die;	/* has the functions; see dwarf_unit__die() */
	bool loaded;	/* the rest is there */
	struct dwarf_function *functions;
	size_t functions_n;
	size_t functions_capacity;
	struct ranges ranges; /* value: index in functions */
	struct line_table lines;
};

/* Adds the address ranges of @die to @ranges, as far as the budget goes. 0 or -ENOMEM. */
int die__ranges(struct dwarf_context *context, Dwarf_Die *die, uint32_t value,
		struct ranges *ranges);

/*
 * Steps through the children of @parent: @child is set to the first (@first)
 * or to the one behind it. A walk only leads forward: @furthest is where it is,
 * at the start the offset of the entry it starts with. Links between siblings
 * could make it go round for ever, or through the same entries again and again.
 */
bool die__step(struct dwarf_context *context, Dwarf_Off *furthest, Dwarf_Die *parent,
	       Dwarf_Die *child, bool first);

/* Entries that can hold a function's code further down, or its inlined calls. */
bool tag__is_scope(int tag);

/* @name, an attribute of @die or of the entry it is an instance of; or NULL. */
const char *die__string(Dwarf_Die *die, unsigned int name);

/* The entry that has the functions: for a split unit that of another file, opened now. */
Dwarf_Die *dwarf_unit__die(struct dwarf_context *context, struct dwarf_unit *unit);

/* Where its line table is, and what paths in it are relative to (or NULL). False: it has none. */
bool dwarf_unit__line_offset(struct dwarf_unit *unit, uint64_t *offset, const char **directory);

/* Reads functions and line table, once; what cannot be read is not there. */
void dwarf_unit__load(struct dwarf_context *context, struct dwarf_unit *unit);

/* The function around @address, with its inlined calls, or NULL. */
struct dwarf_function *dwarf_unit__function(struct dwarf_context *context, struct dwarf_unit *unit,
					    uint64_t address);

/* Reads the inlined calls of @function, once; what cannot be read is not there. */
void dwarf_function__load(struct dwarf_context *context, struct dwarf_unit *unit,
			  struct dwarf_function *function);

/* The innermost inlined call of @function around @address, or NULL. */
struct inlined *dwarf_function__inlined(const struct dwarf_function *function, uint64_t address);

/* Kept in @cache. Never NULL: "" when it has no name. */
const char *die__name(struct dwarf_context *context, Dwarf_Die *die, const char **cache);

/* Source file (or NULL) and line (or 0) of @address. */
const char *dwarf_unit__line(const struct dwarf_unit *unit, uint64_t address, uint32_t *line);

void dwarf_unit__free(struct dwarf_unit *unit);
