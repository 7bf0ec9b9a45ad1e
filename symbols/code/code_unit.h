/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code of one ELF file by unit: the frames of every address. The private header of code_*.c:
 * it has the struct code that they share.
 */
#pragma once

#include "symbols/code/code.h"
#include "symbols/code/code_functions.h"

#define MAX_CODE_PATH 4096

/* A function or an inlined call. */
struct code_node {
	uint64_t entry;
	const char *call_file; /* of the inlined call; NULL: unknown */
	uint32_t call_line;
	uint32_t parent;   /* 1 + index of the node it is inlined in; 0: it is a function */
	uint32_t function; /* or CODE_NO_FUNCTION */
};

/* A range of addresses with the same frames and line. */
struct code_segment {
	uint64_t start;
	uint64_t end;	  /* not included */
	const char *file; /* or NULL */
	uint32_t line;
	uint32_t node; /* 1 + index of the innermost frame; 0: unknown */
};

/* Nodes and segments are filled by code__load(). */
struct code_unit {
	size_t first_owned;
	size_t n_owned;
	ARRAY(struct code_node) nodes;	     /* parents first */
	ARRAY(struct code_segment) segments; /* by address; cover all its ranges */
	bool loaded;
	bool reported; /* by code__out_of_scope() */
};

struct code {
	struct object_context context;
	struct object *object;
	struct dwarf_info *info; /* the object's; NULL: none */
	struct code_scope scope;
	struct map64 scoped; /* interned path: whether it is in scope */
	struct code_functions functions;
	/* The units of DWARF, then one for code that none of them covers. */
	struct code_unit *units;
	size_t n_units;
	struct ranges unit_ranges; /* disjoint; value: unit */
	struct range *owned;	   /* the same ranges, sorted by unit */
	char *diagnostic;	   /* own diagnostic; NULL: none */
};

/* Assigns every executable address to a unit. 0 or -ENOMEM. */
int code__assign_units(struct code *code);

/* Loads a unit, once. Unreadable parts are left out. */
void code__load(struct code *code, struct code_unit *unit);

/* The unit that contains @address, and the segment in the unit; or NULL. */
struct code_unit *code__unit(const struct code *code, uint64_t address);
const struct code_segment *code_unit__segment(const struct code_unit *unit, uint64_t address);

/* The index in nodes of the function that contains @node. */
uint32_t code_unit__root(const struct code_unit *unit, uint32_t node);

bool code__file_in_scope(struct code *code, const char *file);

/* What a segment is attributed to; see struct code_place. */
struct code_frame {
	const char *file;
	uint32_t line;
	uint32_t node; /* as in struct code_segment */
	bool in_scope;
};

struct code_frame code__attribute(struct code *code, const struct code_unit *unit,
				  const struct code_segment *segment);

/* The name of a node of @unit, or of the symbol at @address when @node is 0. */
const char *code__node_name(struct code *code, const struct code_unit *unit, uint32_t node,
			    uint64_t address);

/* The display name of a symbol without the suffixes of parts and clones. */
const char *code__symbol_name(struct code *code, struct symbol *symbol);

int code_ranges__add(struct code_ranges *ranges, uint64_t start, uint64_t end);

int code_range__compare(const void *a, const void *b);

/* Sorts and merges. */
void code_ranges__seal(struct code_ranges *ranges);

/*
 * Iterates over the line number headers of all units. Headers of a sound file do not overlap;
 * those of a damaged one may, so their sizes together are bounded. The caller frees @header.
 */
struct code_headers {
	struct code *code; /* set by the caller, the rest zeroed */
	size_t next;
	uint64_t bytes_left;
	size_t unit;	       /* the present header's, index in units */
	const char *directory; /* of the unit, or NULL */
	struct line_header header;
};

/* False when there are no more, or there is no DWARF. */
bool code_headers__next(struct code_headers *headers);

/* A query for the source files whose path ends with a given path. */
struct code_file_query {
	char path[MAX_CODE_PATH]; /* normalized */
	ARRAY(uint32_t) units;	  /* units with a matching file; loaded */
	const char *first_match;  /* the first matching file */
};

/* Finds and loads the units with a file whose path ends with @file. 0, -ENODATA, -ENOENT or
 * -ENOMEM. */
int code__find_file(struct code *code, const char *file, struct code_file_query *lines);
bool code_file_query__match(const struct code_file_query *lines, const char *file);
void code_file_query__free(struct code_file_query *lines);

/* A small set of matching files. */
struct code_files {
	ARRAY(const char *) list;
};

/* Adds @file, an interned string. 0 or -ENOMEM. */
int code_files__add(struct code_files *files, const char *file);

/*
 * Chooses the file whose full path was given, or the only one. 0, -ENOENT or -ENOTUNIQ.
 */
int code_files__choose(const struct code_files *files, const struct code_file_query *lines,
		       const char **file);

/* The functions and symbols that match a name. */
struct code_found {
	uint8_t *functions; /* by index: whether it matches */
	size_t n_functions;
	struct code_ranges symbols; /* code of matching symbols without DWARF */
	char *name;
};

/* Finds the functions that code__function() describes; errors as there. */
int code__find_function(struct code *code, const char *name, struct code_found *found);
void code_found__free(struct code_found *found);
