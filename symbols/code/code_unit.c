// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/code/code_unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Assigns the executable code that no DWARF unit covers to unit @rest. */
static int add_unowned(struct code *code, const struct ranges *text, uint32_t rest)
{
	size_t known = code->unit_ranges.n;
	size_t next = 0;

	for (size_t i = 0; i < text->n; i++) {
		uint64_t at = text->data[i].start;

		while (next < known && code->unit_ranges.data[next].end <= at)
			next++;
		for (size_t j = next; at < text->data[i].end; j++) {
			uint64_t end = text->data[i].end;

			if (j < known && code->unit_ranges.data[j].start < end)
				end = code->unit_ranges.data[j].start;
			if (ranges__add(&code->unit_ranges, at, end, rest))
				return -ENOMEM;
			at = j < known && end < text->data[i].end ? code->unit_ranges.data[j].end
								  : text->data[i].end;
		}
	}
	ranges__seal(&code->unit_ranges);
	return 0;
}

static int sort_by_unit(struct code *code)
{
	size_t at = 0;

	code->owned = calloc(code->unit_ranges.n + 1, sizeof(*code->owned));
	if (!code->owned)
		return -ENOMEM;
	for (size_t i = 0; i < code->unit_ranges.n; i++)
		code->units[code->unit_ranges.data[i].value].n_owned++;
	for (size_t i = 0; i < code->n_units; i++) {
		code->units[i].first_owned = at;
		at += code->units[i].n_owned;
		code->units[i].n_owned = 0;
	}
	for (size_t i = 0; i < code->unit_ranges.n; i++) {
		struct code_unit *unit = &code->units[code->unit_ranges.data[i].value];

		code->owned[unit->first_owned + unit->n_owned++] = code->unit_ranges.data[i];
	}
	return 0;
}

static int read_executable_sections(const struct code *code, struct ranges *text)
{
	struct ranges sections = {};
	int err = elf_file__add_executable(object__program(code->object), &sections);

	ranges__seal(&sections);
	if (!err)
		err = ranges__flatten(&sections, NULL, NULL, text);
	ranges__free(&sections);
	return err;
}

int code__assign_units(struct code *code)
{
	size_t known = code->info ? code->info->units.n : 0;
	struct ranges text = {};
	int err = 0;

	code->n_units = known + 1;
	code->units = calloc(code->n_units, sizeof(*code->units));
	if (!code->units)
		return -ENOMEM;
	if (known)
		err = ranges__flatten(&code->info->ranges, NULL, NULL, &code->unit_ranges);
	for (size_t i = 0; i < code->unit_ranges.n; i++)
		code->unit_ranges.data[i].value =
			dwarf_info__value(code->unit_ranges.data[i].value);
	if (!err)
		err = read_executable_sections(code, &text);
	if (!err)
		err = add_unowned(code, &text, (uint32_t)known);
	ranges__free(&text);
	return err ? err : sort_by_unit(code);
}

/* A unit being loaded. */
struct loader {
	struct code *code;
	struct code_unit *unit;
	struct dwarf_unit *dwarf;
	struct ranges functions; /* disjoint; value: index in dwarf->functions */
	uint32_t *roots;	 /* by function: 1 + index of its node; 0: none yet */
	struct ranges *calls;	 /* by function: disjoint; value: index in inlined */
	struct ranges nodes;	 /* disjoint; value: index of the innermost node */
};

static int loader_add_node(struct loader *loader, Dwarf_Die *die, const struct inlined *inlined,
			   uint32_t root)
{
	struct code_node node = {};
	int err;

	if (!die__entry(die, &node.entry))
		node.entry = 0;
	if (inlined) {
		node.call_file = inlined->call_file;
		node.call_line = inlined->call_line;
		node.parent = root + inlined->parent;
	}
	if (loader->unit->nodes.n >= UINT32_MAX - 1)
		return -ENOMEM;
	err = code_functions__of(&loader->code->functions, die, &node.function);
	return err ? err : array__push(&loader->unit->nodes, node);
}

static uint32_t inlined_rank(const void *context, uint32_t value)
{
	const struct dwarf_function *function = context;

	return value < function->inlined_n ? function->inlined[value].depth : 0;
}

static int loader_add_function(struct loader *loader, uint32_t index)
{
	struct dwarf_function *function = &loader->dwarf->functions[index];
	uint32_t root = (uint32_t)loader->unit->nodes.n + 1;
	int err;

	dwarf_function__load(&loader->code->info->context, loader->dwarf, function);
	loader->roots[index] = root;
	err = loader_add_node(loader, &function->die, NULL, root);
	for (size_t i = 0; i < function->inlined_n && !err; i++)
		err = loader_add_node(loader, &function->inlined[i].die, &function->inlined[i],
				      root);
	if (!err)
		err = ranges__flatten(&function->ranges, inlined_rank, function,
				      &loader->calls[index]);
	return err;
}

/* The index of the first of the disjoint ranges that ends after @address. */
static size_t first_ending_after(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0;
	size_t high = ranges->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Splits a range of one function into its own code and the calls inlined there. */
static int loader_add_stretch(struct loader *loader, const struct range *stretch)
{
	const struct dwarf_function *function = &loader->dwarf->functions[stretch->value];
	const struct ranges *calls = &loader->calls[stretch->value];
	uint32_t root = loader->roots[stretch->value] - 1;
	uint64_t at = stretch->start;

	for (size_t i = first_ending_after(calls, at); at < stretch->end; i++) {
		uint64_t end = stretch->end;
		uint64_t start = end;
		uint32_t node = root;

		if (i < calls->n && calls->data[i].start < stretch->end) {
			start = calls->data[i].start > at ? calls->data[i].start : at;
			end = calls->data[i].end < end ? calls->data[i].end : end;
			if (calls->data[i].value < function->inlined_n)
				node += 1 + calls->data[i].value;
		}
		if (ranges__add(&loader->nodes, at, start, root) ||
		    ranges__add(&loader->nodes, start, end, node))
			return -ENOMEM;
		at = end;
	}
	return 0;
}

static int loader_find_nodes(struct loader *loader)
{
	size_t n = loader->dwarf->functions_n;
	int err;

	err = ranges__flatten(&loader->dwarf->ranges, NULL, NULL, &loader->functions);
	loader->roots = calloc(n + 1, sizeof(*loader->roots));
	loader->calls = calloc(n + 1, sizeof(*loader->calls));
	if (err || !loader->roots || !loader->calls)
		return -ENOMEM;
	for (size_t i = 0; i < loader->functions.n && !err; i++) {
		const struct range *stretch = &loader->functions.data[i];

		if (stretch->value >= n)
			continue;
		if (!loader->roots[stretch->value])
			err = loader_add_function(loader, stretch->value);
		if (!err)
			err = loader_add_stretch(loader, stretch);
	}
	return err;
}

/* Whether [@start, @end), which ends after @at, contains @at. Lowers *@limit to where that changes.
 */
static bool contains(uint64_t start, uint64_t end, uint64_t at, uint64_t *limit)
{
	uint64_t next = start <= at ? end : start;

	if (next < *limit)
		*limit = next;
	return start <= at;
}

/* Covers a range of the unit with segments, by intersecting nodes and lines. */
static int loader_add_segments(struct loader *loader, const struct range *owned)
{
	const struct line_table none = {};
	const struct line_table *lines = loader->dwarf ? &loader->dwarf->lines : &none;
	size_t line = line_table__first_ending_after(lines, owned->start);
	size_t node = first_ending_after(&loader->nodes, owned->start);

	for (uint64_t at = owned->start; at < owned->end;) {
		struct code_segment segment = {.start = at, .end = owned->end};

		while (node < loader->nodes.n && loader->nodes.data[node].end <= at)
			node++;
		while (line < lines->spans.n && lines->spans.data[line].end <= at)
			line++;
		if (node < loader->nodes.n) {
			const struct range *range = &loader->nodes.data[node];

			if (contains(range->start, range->end, at, &segment.end))
				segment.node = range->value + 1;
		}
		if (line < lines->spans.n) {
			const struct line_span *span = &lines->spans.data[line];

			if (contains(span->start, span->end, at, &segment.end)) {
				segment.file = span->file;
				segment.line = span->line;
			}
		}
		if (array__push(&loader->unit->segments, segment))
			return -ENOMEM;
		at = segment.end;
	}
	return 0;
}

static void loader_free(struct loader *loader)
{
	for (size_t i = 0; loader->dwarf && loader->calls && i < loader->dwarf->functions_n; i++)
		ranges__free(&loader->calls[i]);
	free(loader->calls);
	free(loader->roots);
	ranges__free(&loader->functions);
	ranges__free(&loader->nodes);
	/* Segments and nodes have all that is needed. */
	if (loader->dwarf)
		dwarf_unit__free(loader->dwarf);
}

void code__load(struct code *code, struct code_unit *unit)
{
	size_t index = (size_t)(unit - code->units);
	struct loader loader = {.code = code, .unit = unit};
	int err = 0;

	if (unit->loaded)
		return;
	unit->loaded = true;
	if (index < code->n_units - 1) {
		loader.dwarf = &code->info->units.data[index];
		dwarf_unit__load(&code->info->context, loader.dwarf);
		err = loader_find_nodes(&loader);
	}
	/* Segments must not refer to nodes that are incomplete. */
	if (err)
		ranges__free(&loader.nodes);
	for (size_t i = 0; i < unit->n_owned; i++)
		if (loader_add_segments(&loader, &code->owned[unit->first_owned + i]))
			break;
	loader_free(&loader);
}

struct code_unit *code__unit(const struct code *code, uint64_t address)
{
	const struct range *owner = ranges__find(&code->unit_ranges, address);

	return owner ? &code->units[owner->value] : NULL;
}

const struct code_segment *code_unit__segment(const struct code_unit *unit, uint64_t address)
{
	size_t low = 0;
	size_t high = unit->segments.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->segments.data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == unit->segments.n || unit->segments.data[low].start > address)
		return NULL;
	return &unit->segments.data[low];
}

uint32_t code_unit__root(const struct code_unit *unit, uint32_t node)
{
	while (unit->nodes.data[node].parent)
		node = unit->nodes.data[node].parent - 1;
	return node;
}
