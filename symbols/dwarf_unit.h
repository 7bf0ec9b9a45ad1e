/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One DWARF compilation unit: its functions, the calls inlined into each, and
 * its line table. Internal to dwarf_info.c.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbols/ranges.h"
#include "symbols/strings.h"

/* What all units of a file share. */
struct dwarf_context {
	struct strings *strings;
	/*
	 * How many more address ranges may be kept. Real files have fewer than
	 * bytes; damaged ones can name one long list from every entry.
	 */
	uint64_t budget;
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
	Dwarf_Die die;	/* has the functions */
	bool loaded;	/* the rest is there */
	struct dwarf_function *functions;
	size_t functions_n;
	size_t functions_capacity;
	struct ranges ranges; /* value: index in functions */
	Dwarf_Lines *lines;
	size_t lines_n;
	Dwarf_Files *files;
	size_t files_n;
};

/* Adds the address ranges of @die to @ranges, as far as the budget goes. 0 or -ENOMEM. */
int die__ranges(struct dwarf_context *context, Dwarf_Die *die, uint32_t value,
		struct ranges *ranges);

/* Reads functions and line table, once; what cannot be read is not there. */
void dwarf_unit__load(struct dwarf_context *context, struct dwarf_unit *unit);

/* The function around @address, with its inlined calls, or NULL. */
struct dwarf_function *dwarf_unit__function(struct dwarf_context *context, struct dwarf_unit *unit,
					    uint64_t address);

/* The innermost inlined call of @function around @address, or NULL. */
struct inlined *dwarf_function__inlined(const struct dwarf_function *function, uint64_t address);

/* Kept in @cache. Never NULL: "" when it has no name. */
const char *die__name(struct dwarf_context *context, Dwarf_Die *die, const char **cache);

/* Source file (or NULL) and line (or 0) of @address. */
const char *dwarf_unit__line(struct dwarf_context *context, const struct dwarf_unit *unit,
			     uint64_t address, uint32_t *line);

void dwarf_unit__free(struct dwarf_unit *unit);
