// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/symtab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "symbols/symbols.h"

int symtab__add(struct symtab *symtab, const struct symbol *symbol)
{
	if (symtab->n >= UINT32_MAX - 1)
		return -ENOMEM;
	return array__push(symtab, *symbol);
}

/*
 * How much a name looks like an internal alias: the number of leading underscores (other than of
 * mangling), or more for glibc's __GI_ aliases.
 */
static size_t internal_rank(const char *name)
{
	if (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2))
		return 0;
	if (!strncmp(name, "__GI_", 5))
		return SIZE_MAX;
	return strspn(name, "_");
}

static int compare_sizes(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

/*
 * Orders names of one address; negative if @a is better: pread64 before __pread64 and
 * __libc_pread64, a function before a label.
 */
static int compare_names(const struct symbol *a, const struct symbol *b)
{
	int order;

	if (!a->raw || !b->raw)
		return (!a->raw) - (!b->raw);
	if (a->synthetic != b->synthetic)
		return a->synthetic ? 1 : -1;
	if (!a->size != !b->size)
		return a->size ? -1 : 1;
	if (a->function != b->function)
		return a->function ? -1 : 1;
	if (a->global != b->global)
		return a->global ? -1 : 1;
	order = compare_sizes(internal_rank(a->raw), internal_rank(b->raw));
	if (!order)
		order = compare_sizes(strcspn(a->raw, "@"), strcspn(b->raw, "@"));
	return order ? order : strcmp(a->raw, b->raw);
}

/* By address; the best name of an address last, where ranges__find() finds it first. */
static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a;
	const struct symbol *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return compare_names(y, x);
}

static uint64_t symbol_end(const struct symbol *symbol)
{
	uint64_t end = symbol->start + symbol->size;

	return end < symbol->start ? UINT64_MAX : end;
}

/*
 * The symbols [@at, @end) have the same start; @next is the next higher start. @reach is the
 * greatest end of earlier symbols with a size: a symbol without size below it is a label within
 * a function.
 */
static int add_group_ranges(struct symtab *symtab, size_t at, size_t end, uint64_t next,
			    uint64_t reach)
{
	const struct symbol *best = &symtab->data[end - 1];
	uint64_t covered;

	if (!best->size) {
		uint64_t limit = best->limit < next ? best->limit : next;

		if (best->start < reach)
			return 0;
		return ranges__add(&symtab->ranges, best->start, limit, (uint32_t)end - 1);
	}
	covered = 0;
	for (size_t i = end; i-- > at && symtab->data[i].size;) {
		if (symbol_end(&symtab->data[i]) <= covered)
			continue;
		covered = symbol_end(&symtab->data[i]);
		if (ranges__add(&symtab->ranges, best->start, covered, (uint32_t)i))
			return -ENOMEM;
	}
	return 0;
}

int symtab__seal(struct symtab *symtab)
{
	uint64_t reach = 0;
	size_t end;

	array__sort(symtab, compare_symbols);
	for (size_t at = 0; at < symtab->n; at = end) {
		uint64_t start = symtab->data[at].start;
		uint64_t longest = reach;
		uint64_t next;

		for (end = at; end < symtab->n && symtab->data[end].start == start; end++)
			if (symtab->data[end].size && symbol_end(&symtab->data[end]) > longest)
				longest = symbol_end(&symtab->data[end]);
		next = end < symtab->n ? symtab->data[end].start : UINT64_MAX;
		if (add_group_ranges(symtab, at, end, next, reach))
			return -ENOMEM;
		reach = longest;
	}
	ranges__seal(&symtab->ranges);
	return 0;
}

struct symbol *symtab__find(const struct symtab *symtab, uint64_t address)
{
	const struct range *range = ranges__find(&symtab->ranges, address);

	return range ? &symtab->data[range->value] : NULL;
}

const char *symbol__name(struct symbol *symbol, struct strings *strings)
{
	_cleanup_free_ char *plain = NULL;
	_cleanup_free_ char *demangled = NULL;
	_cleanup_free_ char *stub = NULL;
	const char *name;

	if (symbol->shown)
		return symbol->shown;
	plain = strndup(symbol->raw, strcspn(symbol->raw, "@"));
	if (!plain)
		return NULL;
	demangled = symbols__demangle(plain);
	name = demangled ? demangled : plain;
	if (symbol->plt && *name != '.') {
		if (asprintf(&stub, "%s@plt", name) < 0) {
			stub = NULL;
			return NULL;
		}
		name = stub;
	}
	symbol->shown = strings__intern(strings, name);
	return symbol->shown;
}

void symtab__free(struct symtab *symtab)
{
	array__free(symtab);
	ranges__free(&symtab->ranges);
}
