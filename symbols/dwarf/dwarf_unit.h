/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A DWARF compilation unit: its functions with their inlined calls, and its line table. Internal
 * to dwarf_info.c and code_*.c.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbols/dwarf/line_table.h"
#include "symbols/ranges.h"
#include "symbols/strings.h"

/* The maximum depth of nested DIEs; compilers stay below. */
#define DWARF_MAX_DEPTH 512

/* Shared by all units of a file. */
struct dwarf_context {
	struct strings *strings;
	/*
	 * How many more address ranges may be kept. Sound files have fewer than bytes;
	 * in damaged ones, every DIE can refer to the same long list.
	 */
	uint64_t ranges_left;
	uint64_t entries_left;	  /* how many more DIEs may be visited; they can overlap, too */
	uint64_t name_bytes_left; /* for composed names and paths */
	struct line_sections lines;
	/*
	 * Executable sections. Code outside was dropped by the linker: its addresses,
	 * often near 0, would hide other code. Empty: no restriction.
	 */
	struct ranges text;
	const char *missing_dwo; /* path of the first .dwo file that is missing; or NULL */
};

/* An inlined call. */
struct inlined {
	Dwarf_Die die;
	uint32_t parent; /* 1 + index of the inlined call that contains it; 0: none */
	uint32_t depth;
	const char *name;      /* of the function called; NULL: not looked up yet */
	const char *call_file; /* position of the call; NULL: unknown */
	uint32_t call_line;
};

struct dwarf_function {
	Dwarf_Die die;
	const char *name; /* NULL: not read yet */
	bool loaded;	  /* the members below are filled */
	struct inlined *inlined;
	size_t inlined_n;
	size_t inlined_capacity;
	struct ranges ranges; /* value: index in inlined */
};

struct dwarf_unit {
	Dwarf_Die head; /* with the line table; for split DWARF the skeleton */
	Dwarf_Die die;	/* with the functions; see dwarf_unit__die() */
	bool loaded;	/* the members below are filled */
	struct dwarf_function *functions;
	size_t functions_n;
	size_t functions_capacity;
	struct ranges ranges; /* value: index in functions */
	struct line_table lines;
};

/* Adds the address ranges of @die to @ranges while ranges_left permits. 0 or -ENOMEM. */
int die__ranges(struct dwarf_context *context, Dwarf_Die *die, uint32_t value,
		struct ranges *ranges);

/*
 * Iterates over the children of @parent: sets @child to the first (@first) or to its next sibling;
 * false at the end. @furthest is the greatest offset visited by the walk so far, initially that
 * of its root; a walk that goes backward is ended, since sibling links of damaged files can form
 * cycles.
 */
bool die__step(struct dwarf_context *context, Dwarf_Off *furthest, Dwarf_Die *parent,
	       Dwarf_Die *child, bool first);

/* Whether DIEs with @tag can contain functions or inlined calls. */
bool tag__is_scope(int tag);

/* The string attribute @name of @die or of its abstract origin; or NULL. */
const char *die__string(Dwarf_Die *die, unsigned int name);

/* The unit DIE with the functions. For split DWARF it is in the .dwo file, which is opened now. */
Dwarf_Die *dwarf_unit__die(struct dwarf_context *context, struct dwarf_unit *unit);

/* The offset of the line table, and its base directory (or NULL). False: there is none. */
bool dwarf_unit__line_offset(struct dwarf_unit *unit, uint64_t *offset, const char **directory);

/* Reads functions and line table, once. Unreadable parts are left out. */
void dwarf_unit__load(struct dwarf_context *context, struct dwarf_unit *unit);

/* The function that contains @address, with its inlined calls loaded; or NULL. */
struct dwarf_function *dwarf_unit__function(struct dwarf_context *context, struct dwarf_unit *unit,
					    uint64_t address);

/* Reads the inlined calls of @function, once. Unreadable ones are left out. */
void dwarf_function__load(struct dwarf_context *context, struct dwarf_unit *unit,
			  struct dwarf_function *function);

/* The innermost inlined call of @function that contains @address, or NULL. */
struct inlined *dwarf_function__inlined(const struct dwarf_function *function, uint64_t address);

/* The demangled name of a function, "" if it has none. Cached in *@cache. */
const char *die__name(struct dwarf_context *context, Dwarf_Die *die, const char **cache);

/* Source file (or NULL) and line (or 0) of @address. */
const char *dwarf_unit__line(const struct dwarf_unit *unit, uint64_t address, uint32_t *line);

void dwarf_unit__free(struct dwarf_unit *unit);
