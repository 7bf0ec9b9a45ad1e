// SPDX-License-Identifier: BSD-2-Clause
/* Finding functions by name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/code/code_names.h"
#include "symbols/code/code_unit.h"

/* A search for a name, with the best matches so far. */
struct finder {
	struct code *code;
	struct code_query query;
	enum code_match best;
	bool everywhere; /* do not pre-filter names by finder_may_match() */
	struct code_found *found;
	uint8_t *symbols; /* by index in the symbol table: whether it matches */
	bool ambiguous;
};

/* Adds a match that is as good as the best so far, or better; then drops the earlier ones. */
static int finder_take_match(struct finder *finder, enum code_match match, const char *name)
{
	struct code_found *found = finder->found;
	char a[MAX_CODE_NAME];
	char b[MAX_CODE_NAME];

	if (match < finder->best) {
		memset(found->functions, 0, found->n_functions);
		memset(finder->symbols, 0, object__symtab(finder->code->object)->n);
		free(found->name);
		found->name = NULL;
		finder->ambiguous = false;
		finder->best = match;
	}
	if (!found->name) {
		found->name = strdup(name);
		return found->name ? 0 : -ENOMEM;
	}
	if (!strcmp(found->name, name))
		return 0;
	/* May still be instances of one template. */
	code_name__strip(found->name, a);
	code_name__strip(name, b);
	finder->ambiguous |= match == CODE_MATCH_END && strcmp(a, b) != 0;
	memcpy(found->name, a, strlen(a) + 1);
	return 0;
}

/* A cheap filter that is false for nearly all functions. */
static bool finder_may_match(const struct finder *finder, const struct code_function *function)
{
	if (finder->everywhere)
		return true;
	if (function->source_name && strstr(function->source_name, finder->query.last))
		return true;
	return function->linkage_name &&
	       (!function->source_name || !strcmp(function->linkage_name, finder->query.text));
}

static int finder_compare_functions(struct finder *finder)
{
	const struct code_functions *functions = &finder->code->functions;

	for (size_t i = 0; i < functions->list.n; i++) {
		const struct code_function *function = &functions->list.data[i];
		_cleanup_free_ char *name = NULL;
		enum code_match match;

		if (!finder_may_match(finder, function))
			continue;
		name = code_function__copy_name(function);
		if (!name)
			return -ENOMEM;
		match = code_query__match(&finder->query, name, function->linkage_name);
		if (match == CODE_MATCH_NONE || match > finder->best)
			continue;
		if (finder_take_match(finder, match, name))
			return -ENOMEM;
		finder->found->functions[i] = 1;
	}
	return 0;
}

static int finder_compare_symbols(struct finder *finder)
{
	const struct symtab *symtab = object__symtab(finder->code->object);

	for (size_t i = 0; i < symtab->n; i++) {
		const struct symbol *symbol = &symtab->data[i];
		_cleanup_free_ char *demangled = NULL;
		_cleanup_free_ char *stem = NULL;
		enum code_match match;
		const char *name;

		/*
		 * Names contain the components of the name, except operators and the like in
		 * those that are mangled.
		 */
		if (!symbol->raw || symbol__is_too_long(symbol) ||
		    (!(finder->everywhere && symbol->raw[0] == '_') &&
		     !strstr(symbol->raw, finder->query.last)))
			continue;
		stem = strndup(symbol->raw, code_name__stem(symbol->raw));
		if (!stem)
			return -ENOMEM;
		demangled = symbols__demangle(stem);
		name = demangled ? demangled : stem;
		match = code_query__match(&finder->query, name, stem);
		if (match == CODE_MATCH_NONE || match > finder->best)
			continue;
		if (finder_take_match(finder, match, name))
			return -ENOMEM;
		finder->symbols[i] = 1;
	}
	return 0;
}

static int finder_compare(struct finder *finder)
{
	int err = finder_compare_functions(finder);

	return err ? err : finder_compare_symbols(finder);
}

/*
 * Adds the code of a symbol. If DWARF has a function at its start, the symbol is an alias of it
 * (as read is of __libc_read), and the function is added with its inlined copies.
 */
static int finder_add_symbol(struct finder *finder, const struct range *range)
{
	struct code *code = finder->code;
	uint64_t at = range->start;

	while (at < range->end) {
		struct code_unit *unit = code__unit(code, at);
		const struct code_segment *segment = NULL;
		uint64_t end;

		if (!unit)
			return 0;
		code__load(code, unit);
		segment = code_unit__segment(unit, at);
		if (!segment)
			return 0;
		end = segment->end < range->end ? segment->end : range->end;
		if (!segment->node) {
			if (code_ranges__add(&finder->found->symbols, at, end))
				return -ENOMEM;
		} else if (at == range->start) {
			const struct code_node *root =
				&unit->nodes.data[code_unit__root(unit, segment->node - 1)];

			if (root->entry == at && root->function < finder->found->n_functions)
				finder->found->functions[root->function] = 1;
		}
		at = end;
	}
	return 0;
}

/* Replaces aliases by the symbol that symtab__find() returns for their address. */
static int finder_add_symbols(struct finder *finder)
{
	const struct symtab *symtab = object__symtab(finder->code->object);
	struct ranges flat = {};
	int err;

	for (size_t i = 0; i < symtab->n; i++) {
		const struct symbol *shown = NULL;

		if (finder->symbols[i])
			shown = symtab__find(symtab, symtab->data[i].start);
		if (shown && shown->start == symtab->data[i].start)
			finder->symbols[shown - symtab->data] = 1;
	}
	err = ranges__flatten(&symtab->ranges, NULL, NULL, &flat);
	for (size_t i = 0; i < flat.n && !err; i++)
		if (finder->symbols[flat.data[i].value])
			err = finder_add_symbol(finder, &flat.data[i]);
	ranges__free(&flat);
	code_ranges__seal(&finder->found->symbols);
	return err;
}

static void finder_load_units(struct finder *finder)
{
	const struct code_functions *functions = &finder->code->functions;

	for (size_t i = 0; i < functions->uses.n; i++)
		if (finder->found->functions[functions->uses.data[i].function])
			code__load(finder->code,
				   &finder->code->units[functions->uses.data[i].unit]);
}

static int finder_prepare(struct finder *finder, const char *name)
{
	struct code *code = finder->code;
	int err = code_functions__scan(&code->functions);

	code_query__set(&finder->query, name);
	finder->best = CODE_MATCH_NONE;
	finder->found->n_functions = code->functions.list.n;
	finder->found->functions = calloc(code->functions.list.n + 1, 1);
	finder->symbols = calloc(object__symtab(code->object)->n + 1, 1);
	return err || !finder->found->functions || !finder->symbols ? -ENOMEM : 0;
}

int code__find_function(struct code *code, const char *name, struct code_found *found)
{
	struct finder finder = {.code = code, .found = found};
	int err = *name ? finder_prepare(&finder, name) : -ENOENT;

	if (!err)
		err = finder_compare(&finder);
	/* Rust closures, operators and the like: slow, and rarely needed. */
	if (!err && finder.best == CODE_MATCH_NONE) {
		finder.everywhere = true;
		err = finder_compare(&finder);
	}
	if (!err && finder.best == CODE_MATCH_NONE)
		err = -ENOENT;
	if (!err && finder.ambiguous)
		err = -ENOTUNIQ;
	if (!err)
		err = finder_add_symbols(&finder);
	if (!err)
		finder_load_units(&finder);
	free(finder.symbols);
	return err;
}

void code_found__free(struct code_found *found)
{
	free(found->functions);
	free(found->name);
	code_ranges__free(&found->symbols);
}

/* Adds the segments with a found function among their frames. */
static int unit_add_function(const struct code_unit *unit, const struct code_found *found,
			     struct code_ranges *ranges)
{
	_cleanup_free_ bool *meant = calloc(unit->nodes.n + 1, sizeof(*meant));
	int err = meant ? 0 : -ENOMEM;

	for (size_t i = 0; i < unit->nodes.n && !err; i++) {
		const struct code_node *node = &unit->nodes.data[i];

		meant[i + 1] = meant[node->parent] || (node->function < found->n_functions &&
						       found->functions[node->function]);
	}
	for (size_t i = 0; i < unit->segments.n && !err; i++)
		if (meant[unit->segments.data[i].node])
			err = code_ranges__add(ranges, unit->segments.data[i].start,
					       unit->segments.data[i].end);
	return err;
}

int code__function(struct code *code, const char *name, struct code_ranges *ranges,
		   const char **full)
{
	struct code_found found = {};
	const char *kept;
	int err;

	ranges->ranges.n = 0;
	err = code__find_function(code, name, &found);
	for (size_t i = 0; i < code->n_units && !err; i++)
		err = unit_add_function(&code->units[i], &found, ranges);
	for (size_t i = 0; i < found.symbols.ranges.n && !err; i++)
		err = code_ranges__add(ranges, found.symbols.ranges.data[i].start,
				       found.symbols.ranges.data[i].end);
	code_ranges__seal(ranges);
	if (!err && !ranges->ranges.n)
		err = -ENOENT;
	if (!err && full) {
		kept = strings__intern(&code->context.strings, found.name);
		err = kept ? 0 : -ENOMEM;
		*full = kept;
	}
	code_found__free(&found);
	return err;
}
