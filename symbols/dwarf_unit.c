// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "symbols/symbols.h"

/* Deeper than any compiler nests scopes. */
#define DEEPEST 512

int die__ranges(struct dwarf_context *context, Dwarf_Die *die, uint32_t value,
		struct ranges *ranges)
{
	Dwarf_Addr base;
	Dwarf_Addr start;
	Dwarf_Addr end;
	ptrdiff_t at = 0;

	while (context->budget && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		context->budget--;
		if (ranges__add(ranges, start, end, value))
			return -ENOMEM;
	}
	return 0;
}

/*
 * Steps through the children of @parent: @child is set to the first (@first)
 * or to the one behind it. Links between siblings that do not lead forward
 * would go round for ever.
 */
static bool die__step(Dwarf_Die *parent, Dwarf_Die *child, bool first)
{
	Dwarf_Off before = first ? dwarf_dieoffset(parent) : dwarf_dieoffset(child);
	Dwarf_Die next;

	if (first ? dwarf_child(parent, &next) : dwarf_siblingof(child, &next))
		return false;
	*child = next;
	return dwarf_dieoffset(child) > before;
}

/* Entries that can hold a function's code further down, or its inlined calls. */
static bool tag__is_scope(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		return true;
	default:
		return false;
	}
}

static int dwarf_unit__add_function(struct dwarf_context *context, struct dwarf_unit *unit,
				    Dwarf_Die *die)
{
	size_t before = unit->ranges.n;
	struct dwarf_function function = {.die = *die};
	int err;

	err = die__ranges(context, die, (uint32_t)unit->functions_n, &unit->ranges);
	if (err || unit->ranges.n == before)
		return err;
	if (unit->functions_n == unit->functions_capacity) {
		err = array__grow((void **)&unit->functions, unit->functions_n,
				  &unit->functions_capacity, 1, sizeof(*unit->functions));
		if (err)
			return err;
	}
	unit->functions[unit->functions_n++] = function;
	return 0;
}

/* Functions can stand in namespaces, in types, and in other functions. */
static int dwarf_unit__walk(struct dwarf_context *context, struct dwarf_unit *unit,
			    Dwarf_Die *parent, unsigned int depth)
{
	bool first = true;
	Dwarf_Die child;

	for (; die__step(parent, &child, first); first = false) {
		int tag = dwarf_tag(&child);
		int err = 0;

		if (tag == DW_TAG_subprogram)
			err = dwarf_unit__add_function(context, unit, &child);
		if (!err && depth < DEEPEST && tag__is_scope(tag) && dwarf_haschildren(&child) > 0)
			err = dwarf_unit__walk(context, unit, &child, depth + 1);
		if (err)
			return err;
	}
	return 0;
}

void dwarf_unit__load(struct dwarf_context *context, struct dwarf_unit *unit)
{
	if (unit->loaded)
		return;
	unit->loaded = true;
	dwarf_unit__walk(context, unit, &unit->die, 0);
	ranges__seal(&unit->ranges);
	if (dwarf_getsrclines(&unit->head, &unit->lines, &unit->lines_n))
		unit->lines_n = 0;
	if (dwarf_getsrcfiles(&unit->head, &unit->files, &unit->files_n))
		unit->files_n = 0;
}

static bool die__number(Dwarf_Die *die, unsigned int name, Dwarf_Word *value)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, value);
}

static int dwarf_function__add_inlined(struct dwarf_context *context, const struct dwarf_unit *unit,
				       struct dwarf_function *function, Dwarf_Die *die,
				       uint32_t parent)
{
	struct inlined inlined = {.die = *die, .parent = parent};
	Dwarf_Word value;
	int err;

	if (parent)
		inlined.depth = function->inlined[parent - 1].depth + 1;
	if (die__number(die, DW_AT_call_line, &value) && value <= UINT32_MAX)
		inlined.call_line = (uint32_t)value;
	if (die__number(die, DW_AT_call_file, &value) && value < unit->files_n) {
		const char *file = dwarf_filesrc(unit->files, value, NULL, NULL);

		inlined.call_file = file ? strings__keep(context->strings, file) : NULL;
	}
	err = die__ranges(context, die, (uint32_t)function->inlined_n, &function->ranges);
	if (err)
		return err;
	if (function->inlined_n == function->inlined_capacity) {
		err = array__grow((void **)&function->inlined, function->inlined_n,
				  &function->inlined_capacity, 1, sizeof(*function->inlined));
		if (err)
			return err;
	}
	function->inlined[function->inlined_n++] = inlined;
	return 0;
}

/* @parent: 1 + index of the inlined call @scope is in, or 0. */
static int dwarf_function__walk(struct dwarf_context *context, const struct dwarf_unit *unit,
				struct dwarf_function *function, Dwarf_Die *scope, uint32_t parent,
				unsigned int depth)
{
	bool first = true;
	Dwarf_Die child;

	for (; die__step(scope, &child, first); first = false) {
		int tag = dwarf_tag(&child);
		uint32_t around = parent;
		int err = 0;

		/* A function inside this one is found by its own ranges. */
		if (tag == DW_TAG_subprogram || !tag__is_scope(tag))
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			err = dwarf_function__add_inlined(context, unit, function, &child, parent);
			around = (uint32_t)function->inlined_n;
		}
		if (!err && depth < DEEPEST && dwarf_haschildren(&child) > 0)
			err = dwarf_function__walk(context, unit, function, &child, around,
						   depth + 1);
		if (err)
			return err;
	}
	return 0;
}

struct dwarf_function *dwarf_unit__function(struct dwarf_context *context, struct dwarf_unit *unit,
					    uint64_t address)
{
	const struct range *range = ranges__find(&unit->ranges, address);
	struct dwarf_function *function;

	if (!range || range->value >= unit->functions_n)
		return NULL;
	function = &unit->functions[range->value];
	if (!function->loaded) {
		function->loaded = true;
		dwarf_function__walk(context, unit, function, &function->die, 0, 0);
		ranges__seal(&function->ranges);
	}
	return function;
}

/* The deepest, not the last to start: fragments of a call can start behind a call in it. */
struct inlined *dwarf_function__inlined(const struct dwarf_function *function, uint64_t address)
{
	const struct range *range = ranges__find(&function->ranges, address);
	struct inlined *deepest = NULL;

	for (; range; range = ranges__outer(&function->ranges, range, address)) {
		if (range->value >= function->inlined_n)
			continue;
		if (!deepest || function->inlined[range->value].depth > deepest->depth)
			deepest = &function->inlined[range->value];
	}
	return deepest;
}

/* @name, an attribute of @die or of the entry it is an instance of; or NULL. */
static const char *die__string(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, name, &attribute))
		return NULL;
	return dwarf_formstring(&attribute);
}

const char *die__name(struct dwarf_context *context, Dwarf_Die *die, const char **cache)
{
	_cleanup_free_ char *demangled = NULL;
	const char *source = NULL;
	const char *name;

	if (*cache)
		return *cache;
	name = die__string(die, DW_AT_linkage_name);
	if (!name)
		name = die__string(die, DW_AT_MIPS_linkage_name);
	if (name)
		demangled = symbols__demangle(name);
	/* In C it is an alias made with __asm__; the source has the other name. */
	if (!demangled)
		source = die__string(die, DW_AT_name);
	if (demangled || source)
		name = demangled ? demangled : source;
	*cache = name ? strings__keep(context->strings, name) : NULL;
	if (!*cache)
		*cache = "";
	return *cache;
}

static uint64_t line__address(Dwarf_Lines *lines, size_t at)
{
	Dwarf_Addr address = UINT64_MAX;

	dwarf_lineaddr(dwarf_onesrcline(lines, at), &address);
	return address;
}

const char *dwarf_unit__line(struct dwarf_context *context, const struct dwarf_unit *unit,
			     uint64_t address, uint32_t *line)
{
	size_t low = 0;
	size_t high = unit->lines_n;
	bool end = true;
	Dwarf_Line *row;
	const char *file;
	int number = 0;

	*line = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (line__address(unit->lines, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	row = low ? dwarf_onesrcline(unit->lines, low - 1) : NULL;
	if (!row || dwarf_lineendsequence(row, &end) || end)
		return NULL;
	if (!dwarf_lineno(row, &number) && number > 0)
		*line = (uint32_t)number;
	file = dwarf_linesrc(row, NULL, NULL);
	return file ? strings__keep(context->strings, file) : NULL;
}

void dwarf_unit__free(struct dwarf_unit *unit)
{
	for (size_t i = 0; i < unit->functions_n; i++) {
		free(unit->functions[i].inlined);
		ranges__free(&unit->functions[i].ranges);
	}
	free(unit->functions);
	ranges__free(&unit->ranges);
}
