/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of functions by address. Add them all, seal once, then look up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/ranges.h"
#include "symbols/strings.h"

struct symbol {
	uint64_t start;
	uint64_t size;	   /* 0: up to the next symbol, at most to @limit */
	uint64_t limit;	   /* first address that cannot be part of it; 0: no size is made up */
	const char *raw;   /* as in the file, which has to stay; NULL: only ends the one before */
	const char *shown; /* what symtab__name() made of it */
	bool function;	   /* not a mere label */
	bool global;	   /* weak ones too */
	bool plt;	   /* a stub that jumps to the function of this name */
};

struct symtab {
	struct symbol *data;
	size_t n;
	size_t capacity;
	struct ranges ranges; /* value: index in data */
};

/* Returns 0 or -ENOMEM. */
int symtab__add(struct symtab *symtab, const struct symbol *symbol);

/* Sorts, chooses among aliases, gives an extent to symbols without size. 0 or -ENOMEM. */
int symtab__seal(struct symtab *symtab);

/* The symbol around @address, the innermost where several are; NULL when there is none. */
struct symbol *symtab__find(const struct symtab *symtab, uint64_t address);

/* Demangled, without symbol version, "@plt" behind a stub. NULL when out of memory. */
const char *symbol__name(struct symbol *symbol, struct strings *strings);

void symtab__free(struct symtab *symtab);
