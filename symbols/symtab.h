/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A symbol table: functions by address. Add all symbols, seal once, then search.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/ranges.h"
#include "symbols/strings.h"

struct symbol {
	uint64_t start;
	uint64_t size;	   /* 0: unknown, extends to the next symbol but not beyond @limit */
	uint64_t limit;	   /* end of its section; 0: does not extend */
	const char *raw;   /* as in the file, not copied; NULL: only ends the previous symbol */
	const char *shown; /* cached result of symbol__name() */
	bool function;	   /* not a label */
	bool global;	   /* or weak */
	bool plt;	   /* a PLT stub that jumps to the function @raw */
	bool synthetic;	   /* "FILE+0xADDRESS": the program has no name for it */
};

struct symtab {
	struct symbol *data;
	size_t n;
	size_t capacity;
	struct ranges ranges; /* value: index in data */
};

/* Returns 0 or -ENOMEM. */
int symtab__add(struct symtab *symtab, const struct symbol *symbol);

/* Sorts, chooses among aliases, and extends symbols without size. 0 or -ENOMEM. */
int symtab__seal(struct symtab *symtab);

/* The symbol that contains @address, the innermost if there are several; or NULL. */
struct symbol *symtab__find(const struct symtab *symtab, uint64_t address);

/*
 * The name for display: demangled, without symbol version, with "@plt" for stubs; what lazy stubs
 * jump to is ".plt". NULL: no memory.
 */
const char *symbol__name(struct symbol *symbol, struct strings *strings);

void symtab__free(struct symtab *symtab);
