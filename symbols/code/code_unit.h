/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code of one file, unit by unit: which frames every address has. Internal
 * to code_*.c.
 */
#pragma once

#include "symbols/code/code.h"
#include "symbols/code/code_functions.h"

#define LONGEST_CODE_PATH 4096

/* A function, or a call that was inlined in one. */
struct code_node {
	uint64_t entry;
	const char *call_file; /* where the call stands, or NULL */
	uint32_t call_line;
	uint32_t parent;   /* 1 + index of the node it is inlined in; 0: it is a function */
	uint32_t function; /* or CODE_NO_FUNCTION */
};

/* Addresses with the same frames and line. */
struct code_segment {
	uint64_t start;
	uint64_t end;	  /* not included */
	const char *file; /* or NULL */
	uint32_t line;
	uint32_t node; /* 1 + index of the innermost; 0: no function is known */
};

/* Its nodes and segments are there once code__load() was called. */
struct code_unit {
	size_t first_owned;
	size_t n_owned;
	ARRAY(struct code_node) nodes;	     /* each behind the one it is inlined in */
	ARRAY(struct code_segment) segments; /* by address, all of what it owns */
	bool loaded;
	bool told; /* to code__out_of_scope() */
};

struct code {
	struct object_context context;
	struct object *object;
	struct dwarf_info *info; /* the object's; NULL: none */
	struct code_scope scope;
	struct map64 scoped; /* path, by its address: whether it is in scope */
	struct code_functions functions;
	/* Those of DWARF, then one for the code that none of them has. */
	struct code_unit *units;
	size_t n_units;
	struct ranges owners; /* disjoint; value: unit */
	struct range *owned;  /* the same, by unit */
	char *trouble;	      /* last told; NULL: the object's */
};

/* The units' shares of the code. 0 or -ENOMEM. */
int code__find_owners(struct code *code);

/* Reads a unit, once; what cannot be read is not there. */
void code__load(struct code *code, struct code_unit *unit);

/* The unit that has @address, or NULL; the segment in it, or NULL. */
struct code_unit *code__unit(const struct code *code, uint64_t address);
const struct code_segment *code_unit__segment(const struct code_unit *unit, uint64_t address);

/* The index in nodes of the function that @node is (inlined) in. */
uint32_t code_unit__root(const struct code_unit *unit, uint32_t node);

bool code__file_in_scope(struct code *code, const char *file);

/* What @segment is attributed to. The name of the function is not looked up. */
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

/* The name a symbol has as a function, with parts and clones called as it is. */
const char *code__symbol_name(struct code *code, struct symbol *symbol);

int code_ranges__add(struct code_ranges *ranges, uint64_t start, uint64_t end);

int code_range__compare(const void *a, const void *b);

/* Sorts and merges. */
void code_ranges__seal(struct code_ranges *ranges);

/* What a question about a source file is about. */
struct code_lines {
	char path[LONGEST_CODE_PATH]; /* made plain */
	ARRAY(uint32_t) units;	      /* that mention such a file; loaded */
	const char *mentioned;	      /* the first such file, the code's */
};

/* The units that mention a file whose path ends with @file. 0, -ENODATA, -ENOENT or -ENOMEM. */
int code__mentions(struct code *code, const char *file, struct code_lines *lines);
bool code_lines__match(const struct code_lines *lines, const char *file);
void code_lines__free(struct code_lines *lines);

/* Different files that were met; few. */
struct code_files {
	ARRAY(const char *) list;
};

/* Kept strings are equal when their addresses are. 0 or -ENOMEM. */
int code_files__add(struct code_files *files, const char *file);

/*
 * The one file that is meant: named in full, or the only one. 0, -ENOENT or -ENOTUNIQ.
 */
int code_files__choose(const struct code_files *files, const struct code_lines *lines,
		       const char **file);

/* The functions and symbols that a name means. */
struct code_found {
	uint8_t *functions; /* by index: whether it is meant */
	size_t n_functions;
	struct code_ranges symbols; /* code of symbols, where DWARF does not know better */
	char *name;
};

/* As code__function(), but for the code of the functions. */
int code__find_function(struct code *code, const char *name, struct code_found *found);
void code_found__free(struct code_found *found);
