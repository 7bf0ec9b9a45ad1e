/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that have code in a file, each once, whatever the number of
 * copies of it. Internal to code_*.c.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/array.h"
#include "base/hash.h"
#include "symbols/object.h"

struct code_function {
	const char *source;  /* in the source, without what it is in; NULL: none; the file's */
	const char *linkage; /* mangled, NULL: none; the file's */
	const char *name;    /* as shown, NULL: not asked yet */
};

/* That a unit has code of a function. */
struct code_use {
	uint32_t function;
	uint32_t unit;
};

/* A namespace, type or function that has functions without linkage name in it. */
struct code_scope_entry {
	Dwarf_Die die;
	uint32_t parent; /* 1 + index; 0: the unit */
};

struct code_functions {
	const struct object *object; /* whose functions these are */
	struct strings *strings;
	ARRAY(struct code_function) list;
	struct map64 by_entry; /* address of a DWARF entry: index in list, or CODE_NO_FUNCTION */
	uint32_t *slots;       /* index in list + 1, by name; 0: free */
	size_t capacity;
	struct map64 walked;  /* Dwarf_CU: that its functions are in parents */
	struct map64 parents; /* address of a DWARF entry: 1 + index in scopes */
	ARRAY(struct code_scope_entry) scopes;
	unsigned int depth;	     /* of functions in functions, while a name is made */
	ARRAY(struct code_use) uses; /* by unit; of all once code_functions__scan() was called */
	bool scanned;
};

#define CODE_NO_FUNCTION UINT32_MAX

/*
 * Longer names are none: strings of a damaged file can overlap, so that all of
 * them together are far longer than the file. What compilers write is shorter.
 */
#define LONGEST_RAW_NAME (16 << 10)

bool symbol__is_too_long(const struct symbol *symbol);

/* Where the code of @die is entered; false: it has none. */
bool die__entry(Dwarf_Die *die, uint64_t *entry);

/*
 * *@function gets the index of the function that @die is, or is an instance of,
 * CODE_NO_FUNCTION when it has no name. 0 or -ENOMEM.
 */
int code_functions__of(struct code_functions *functions, Dwarf_Die *die, uint32_t *function);

/* Demangled; never NULL. */
const char *code_functions__name(struct code_functions *functions, uint32_t function);

/* As code_functions__name(), malloc()ed, for names that are not to be kept. NULL: no memory. */
char *code_function__copy_name(const struct code_function *function);

/*
 * The entry that says where the function of @die was declared: compilers give
 * other entries of it no name.
 */
Dwarf_Die die__declaration(Dwarf_Die *die);

/*
 * What the function @die, a declaration without linkage name, is called: with the
 * namespaces, types and functions it is in. NULL: as in the source.
 */
const char *code_functions__qualify(struct code_functions *functions, Dwarf_Die *die,
				    const char *source);

/* Finds the functions of all units, once. What cannot be read is not there. 0 or -ENOMEM. */
int code_functions__scan(struct code_functions *functions);

void code_functions__free(struct code_functions *functions);
