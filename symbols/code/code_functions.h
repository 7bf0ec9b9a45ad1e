/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions with code in a file, each once for all its copies (code_functions.c, and
 * code_scan.c, which finds them). Internal to code_*.c.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/array.h"
#include "base/hash.h"
#include "symbols/object.h"

struct code_function {
	const char *source_name;  /* unqualified, as in the source; or NULL. Owned by the file */
	const char *linkage_name; /* mangled; or NULL. Owned by the file */
	const char *name;	  /* for display; NULL: not made yet */
};

/* A unit has code of a function. */
struct code_use {
	uint32_t function;
	uint32_t unit;
};

/* A namespace, type or function that contains functions without linkage name. */
struct code_scope_entry {
	Dwarf_Die die;
	uint32_t parent; /* 1 + index; 0: the unit */
};

struct code_functions {
	const struct object *object; /* whose functions these are */
	struct strings *strings;
	ARRAY(struct code_function) list;
	struct map64 by_entry; /* address of a DIE: index in list, or CODE_NO_FUNCTION */
	uint32_t *slots;       /* index in list + 1, by name; 0: free */
	size_t capacity;
	struct map64 walked;  /* Dwarf_CU whose functions are in parents */
	struct map64 parents; /* address of a DIE: 1 + index in scopes */
	ARRAY(struct code_scope_entry) scopes;
	unsigned int depth;	     /* of nested functions, while a name is made */
	ARRAY(struct code_use) uses; /* by unit; complete after code_functions__scan() */
	bool scanned;
};

#define CODE_NO_FUNCTION UINT32_MAX

/*
 * Longer names are ignored: strings in a damaged file can overlap, so that their total length is
 * far greater than the file. Compilers write shorter names.
 */
#define MAX_RAW_NAME (16 << 10)

bool symbol__is_too_long(const struct symbol *symbol);

/* Gets the address where the code of @die is entered; false if it has no code. */
bool die__entry(Dwarf_Die *die, uint64_t *entry);

/*
 * Sets *@function to the index of the function that @die is, or is an instance of;
 * CODE_NO_FUNCTION if it has no name. 0 or -ENOMEM.
 */
int code_functions__of(struct code_functions *functions, Dwarf_Die *die, uint32_t *function);

/* The name for display, demangled; "" if unknown. */
const char *code_functions__name(struct code_functions *functions, uint32_t function);

/* As code_functions__name(), not cached; the caller frees it. NULL: no memory. */
char *code_function__copy_name(const struct code_function *function);

/*
 * The DIE that declares the function of @die: the other DIEs of the function may have no name.
 */
Dwarf_Die die__declaration(Dwarf_Die *die);

/*
 * The qualified name of the function @die, a declaration without linkage name: @source with the
 * namespaces, types and functions that contain it. NULL if there are none.
 */
const char *code_functions__qualify(struct code_functions *functions, Dwarf_Die *die,
				    const char *source);

/* Adds the functions of all units, once. Unreadable ones are left out. 0 or -ENOMEM. */
int code_functions__scan(struct code_functions *functions);

void code_functions__free(struct code_functions *functions);
