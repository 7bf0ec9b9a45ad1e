// SPDX-License-Identifier: BSD-2-Clause
/* Addresses of lines and functions, for breakpoints and uprobes. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/code/code_names.h"
#include "symbols/code/code_unit.h"

/* An instruction that may be the first of the line in a copy of the code. */
struct candidate {
	const char *file;
	uint64_t address;
	uint64_t distance; /* from the function's entry; modulo 2^64 if before it */
	uint32_t unit;
	uint32_t node; /* the copy; as in struct code_segment */
};

struct candidates {
	struct code *code;
	const struct code_file_query *lines;
	uint32_t line;
	uint32_t unit;		 /* current unit */
	struct line_table table; /* for the paths of its files */
	struct code_files files;
	ARRAY(struct candidate) list;
};

/*
 * The copy of the code that a line row belongs to: the innermost frame at that line. The address
 * of a row without instructions (the statement starts with an inlined call, or was optimized
 * away) is in another frame.
 */
static uint32_t copy_of_segment(const struct code_unit *unit, const struct code_segment *segment,
				const char *file, uint32_t line)
{
	const char *frame_file = segment->file;
	uint32_t frame_line = segment->line;

	for (uint32_t node = segment->node; node; node = unit->nodes.data[node - 1].parent) {
		if (frame_file == file && frame_line == line)
			return node;
		frame_file = unit->nodes.data[node - 1].call_file;
		frame_line = unit->nodes.data[node - 1].call_line;
	}
	return segment->node;
}

/*
 * Cold parts of a function are often at lower addresses, but are not executed first: addresses
 * are compared by their distance from the function's entry.
 */
static int candidates_add(struct candidates *all, const char *file, uint64_t address)
{
	const struct code_unit *unit = &all->code->units[all->unit];
	const struct code_segment *segment = code_unit__segment(unit, address);
	struct candidate candidate = {.file = file, .address = address, .unit = all->unit};

	if (!segment)
		return 0;
	candidate.node = copy_of_segment(unit, segment, file, all->line);
	candidate.distance = address;
	if (candidate.node) {
		uint32_t root = code_unit__root(unit, candidate.node - 1);

		candidate.distance -= unit->nodes.data[root].entry;
	}
	return array__push(&all->list, candidate);
}

static int candidates_take_row(void *context, const struct line_row *row)
{
	struct candidates *all = context;
	const char *file;
	int err;

	if (row->ends || !row->is_statement || !row->line)
		return 0;
	file = line_table__path(&all->table, row->file);
	if (!code_file_query__match(all->lines, file))
		return 0;
	err = code_files__add(&all->files, file);
	if (err || row->line != all->line)
		return err;
	return candidates_add(all, file, row->address);
}

static int candidates_read_rows(struct candidates *all)
{
	struct dwarf_context *context = &all->code->info->context;
	struct dwarf_unit *unit = &all->code->info->units.data[all->unit];
	/* For this query only, not from the file's budget: the rows are not kept. */
	uint64_t budget = context->lines.line.size;
	const struct line_limits limits = {.text = &context->text,
					   .rows_left = &budget,
					   .path_bytes_left = &context->name_bytes_left};
	const char *directory;
	uint64_t offset;
	int err;

	if (!dwarf_unit__line_offset(unit, &offset, &directory))
		return 0;
	err = line_table__open(&all->table, &context->lines, offset, directory, &limits,
			       &all->code->context.strings);
	if (!err)
		err = line_header__rows(&all->table.header, &limits, candidates_take_row, all);
	line_table__free(&all->table);
	return err == -EBADMSG ? 0 : err;
}

/* If no statement begins at the line: all segments with a frame at it. */
static int candidates_read_segments(struct candidates *all)
{
	const struct code_unit *unit = &all->code->units[all->unit];

	for (size_t i = 0; i < unit->segments.n; i++) {
		const struct code_segment *segment = &unit->segments.data[i];
		const char *file = segment->file;
		uint32_t line = segment->line;

		for (uint32_t node = segment->node;; node = unit->nodes.data[node - 1].parent) {
			if (line == all->line && code_file_query__match(all->lines, file) &&
			    (code_files__add(&all->files, file) ||
			     candidates_add(all, file, segment->start)))
				return -ENOMEM;
			if (!node)
				break;
			file = unit->nodes.data[node - 1].call_file;
			line = unit->nodes.data[node - 1].call_line;
		}
	}
	return 0;
}

static int candidates_read_units(struct candidates *all, int (*read)(struct candidates *all))
{
	int err = 0;

	for (size_t i = 0; i < all->lines->units.n && !err; i++) {
		all->unit = all->lines->units.data[i];
		err = read(all);
	}
	return err;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a;
	const struct candidate *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->distance > y->distance) - (x->distance < y->distance);
}

/* Adds the first candidate of each copy. */
static int candidates_report(struct candidates *all, const char *file, struct code_ranges *entries)
{
	const struct candidate *last = NULL;

	if (all->list.n)
		qsort(all->list.data, all->list.n, sizeof(*all->list.data), compare_candidates);
	for (size_t i = 0; i < all->list.n; i++) {
		const struct candidate *candidate = &all->list.data[i];

		if (candidate->file != file)
			continue;
		if ((!last || last->unit != candidate->unit || last->node != candidate->node) &&
		    code_ranges__add(entries, candidate->address, candidate->address + 1))
			return -ENOMEM;
		last = candidate;
	}
	return 0;
}

static int line_entries(struct code *code, const char *name, uint32_t line,
			struct code_ranges *entries)
{
	struct code_file_query lines = {};
	struct candidates all = {.code = code, .lines = &lines, .line = line};
	const char *file;
	int err;

	err = code__find_file(code, name, &lines);
	if (!err)
		err = candidates_read_units(&all, candidates_read_rows);
	if (!err && !all.list.n)
		err = candidates_read_units(&all, candidates_read_segments);
	if (!err)
		err = code_files__choose(&all.files, &lines, &file);
	if (!err)
		err = candidates_report(&all, file, entries);
	array__free(&all.list);
	array__free(&all.files.list);
	code_file_query__free(&lines);
	return err;
}

/* Parts that were split off a function are only entered from its other parts. */
static bool is_split_part(const struct code *code, uint64_t entry)
{
	const struct symbol *symbol = object__symbol(code->object, entry);

	return symbol && symbol->start == entry && code_name__is_part(symbol->raw);
}

static int unit_entries(const struct code *code, const struct code_unit *unit,
			const struct code_found *found, bool inlined, struct code_ranges *entries)
{
	_cleanup_free_ bool *live = calloc(unit->nodes.n + 1, sizeof(*live));

	if (!live)
		return -ENOMEM;
	for (size_t i = 0; i < unit->segments.n; i++)
		for (uint32_t node = unit->segments.data[i].node; node && !live[node];
		     node = unit->nodes.data[node - 1].parent)
			live[node] = true;
	for (size_t i = 0; i < unit->nodes.n; i++) {
		const struct code_node *node = &unit->nodes.data[i];

		if (!live[i + 1] || !node->entry || node->function >= found->n_functions ||
		    !found->functions[node->function] ||
		    (node->parent ? !inlined : is_split_part(code, node->entry)))
			continue;
		if (code_ranges__add(entries, node->entry, node->entry + 1))
			return -ENOMEM;
	}
	return 0;
}

static int function_entries(struct code *code, const char *name, bool inlined,
			    struct code_ranges *entries)
{
	struct code_found found = {};
	int err = code__find_function(code, name, &found);

	for (size_t i = 0; i < code->n_units && !err; i++)
		err = unit_entries(code, &code->units[i], &found, inlined, entries);
	for (size_t i = 0; i < found.symbols.ranges.n && !err; i++) {
		uint64_t start = found.symbols.ranges.data[i].start;
		const struct symbol *symbol = object__symbol(code->object, start);

		if (symbol && symbol->start == start && !code_name__is_part(symbol->raw))
			err = code_ranges__add(entries, start, start + 1);
	}
	code_found__free(&found);
	return err;
}

/* Sorts and removes duplicates; unlike code_ranges__seal(), does not merge neighbors. */
static void entries_seal(struct code_ranges *entries)
{
	struct code_range *data = entries->ranges.data;
	size_t n = 0;

	if (entries->ranges.n)
		qsort(data, entries->ranges.n, sizeof(*data), code_range__compare);
	for (size_t i = 0; i < entries->ranges.n; i++)
		if (!n || data[n - 1].start != data[i].start)
			data[n++] = data[i];
	entries->ranges.n = n;
}

int code__entries(struct code *code, const char *file, uint32_t line, struct code_ranges *entries)
{
	int err;

	entries->ranges.n = 0;
	err = line ? line_entries(code, file, line, entries)
		   : function_entries(code, file, true, entries);
	entries_seal(entries);
	return err ? err : entries->ranges.n ? 0 : -ENOENT;
}

int code__function_entries(struct code *code, const char *name, struct code_ranges *entries)
{
	int err;

	entries->ranges.n = 0;
	err = function_entries(code, name, false, entries);
	entries_seal(entries);
	return err ? err : entries->ranges.n ? 0 : -ENOENT;
}

/* Whether @symbol is a function, and @pattern matches its name. */
static bool symbol_matches(const struct symbol *symbol, const char *pattern)
{
	_cleanup_free_ char *demangled = NULL, *stem = NULL;
	char plain[MAX_CODE_NAME];

	if (!symbol->raw || !symbol->function || symbol->plt || symbol__is_too_long(symbol) ||
	    code_name__is_part(symbol->raw))
		return false;
	stem = strndup(symbol->raw, code_name__stem(symbol->raw));
	if (!stem)
		return false;
	if (!fnmatch(pattern, stem, 0))
		return true;
	demangled = symbols__demangle(stem);
	if (!demangled)
		return false;
	code_name__strip(demangled, plain);
	return !fnmatch(pattern, plain, 0);
}

int code__matching_entries(struct code *code, const char *pattern, struct code_ranges *entries)
{
	const struct symtab *symtab = object__symtab(code->object);
	int err = 0;

	entries->ranges.n = 0;
	for (size_t i = 0; i < symtab->n && !err; i++)
		if (symbol_matches(&symtab->data[i], pattern))
			err = code_ranges__add(entries, symtab->data[i].start,
					       symtab->data[i].start + 1);
	entries_seal(entries);
	return err ? err : entries->ranges.n ? 0 : -ENOENT;
}
