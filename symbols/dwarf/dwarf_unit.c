// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "symbols/symbols.h"

int die__ranges(struct dwarf_context *context, Dwarf_Die *die, uint32_t value,
		struct ranges *ranges)
{
	Dwarf_Addr base;
	Dwarf_Addr start;
	Dwarf_Addr end;
	ptrdiff_t at = 0;

	while (context->ranges_left && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		context->ranges_left--;
		if (context->text.n && !ranges__find(&context->text, start))
			continue;
		if (ranges__add(ranges, start, end, value))
			return -ENOMEM;
	}
	return 0;
}

bool die__step(struct dwarf_context *context, Dwarf_Off *furthest, Dwarf_Die *parent,
	       Dwarf_Die *child, bool first)
{
	Dwarf_Die next;

	if (!context->entries_left)
		return false;
	context->entries_left--;
	if (first ? dwarf_child(parent, &next) : dwarf_siblingof(child, &next))
		return false;
	*child = next;
	if (dwarf_dieoffset(child) <= *furthest)
		return false;
	*furthest = dwarf_dieoffset(child);
	return true;
}

bool tag__is_scope(int tag)
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

static int add_function(struct dwarf_context *context, struct dwarf_unit *unit, Dwarf_Die *die)
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

/* Adds all functions below @parent: also those in namespaces, types and functions. */
static int walk_functions(struct dwarf_context *context, struct dwarf_unit *unit, Dwarf_Die *parent,
			  Dwarf_Off *furthest, unsigned int depth)
{
	bool first = true;
	Dwarf_Die child;

	for (; die__step(context, furthest, parent, &child, first); first = false) {
		int tag = dwarf_tag(&child);
		int err = 0;

		if (tag == DW_TAG_subprogram)
			err = add_function(context, unit, &child);
		if (!err && depth < DWARF_MAX_DEPTH && tag__is_scope(tag) &&
		    dwarf_haschildren(&child) > 0)
			err = walk_functions(context, unit, &child, furthest, depth + 1);
		if (err)
			return err;
	}
	return 0;
}

static bool die_number(Dwarf_Die *die, unsigned int name, Dwarf_Word *value)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, value);
}

/*
 * Whether the .dwo file of the skeleton unit @die is a regular file: libdw would block on a FIFO.
 */
static bool dwo_is_regular_file(struct dwarf_context *context, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *directory;
	const char *name;
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat st;

	if (!dwarf_attr(die, DW_AT_dwo_name, &attribute) &&
	    !dwarf_attr(die, DW_AT_GNU_dwo_name, &attribute))
		return false;
	name = dwarf_formstring(&attribute);
	if (!name)
		return false;
	directory = dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &attribute));
	if (name[0] == '/' || !directory)
		directory = "";
	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return false;
	/* Not stat(): processes that may not open files are given them instead (privsep/). */
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		return true;
	if (!context->missing_dwo)
		context->missing_dwo = strings__intern(context->strings, path);
	return false;
}

Dwarf_Die *dwarf_unit__die(struct dwarf_context *context, struct dwarf_unit *unit)
{
	Dwarf_Die split = {};
	uint8_t type = 0;

	if (unit->die.addr)
		return &unit->die;
	unit->die = unit->head;
	if (!dwarf_cu_info(unit->head.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) &&
	    type == DW_UT_skeleton && dwo_is_regular_file(context, &unit->head) &&
	    !dwarf_cu_info(unit->head.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) && split.addr)
		unit->die = split;
	return &unit->die;
}

bool dwarf_unit__line_offset(struct dwarf_unit *unit, uint64_t *offset, const char **directory)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!die_number(&unit->head, DW_AT_stmt_list, &value))
		return false;
	*offset = value;
	*directory = dwarf_formstring(dwarf_attr(&unit->head, DW_AT_comp_dir, &attribute));
	return true;
}

static void load_lines(struct dwarf_context *context, struct dwarf_unit *unit)
{
	const struct line_limits limits = {.text = &context->text,
					   .rows_left = &context->ranges_left,
					   .path_bytes_left = &context->name_bytes_left};
	const char *directory;
	uint64_t offset;

	if (dwarf_unit__line_offset(unit, &offset, &directory))
		line_table__read(&unit->lines, &context->lines, offset, directory, &limits,
				 context->strings);
}

void dwarf_unit__load(struct dwarf_context *context, struct dwarf_unit *unit)
{
	Dwarf_Off furthest;
	Dwarf_Die *die;

	if (unit->loaded)
		return;
	unit->loaded = true;
	die = dwarf_unit__die(context, unit);
	furthest = dwarf_dieoffset(die);
	walk_functions(context, unit, die, &furthest, 0);
	ranges__seal(&unit->ranges);
	load_lines(context, unit);
}

static int add_inlined(struct dwarf_context *context, struct dwarf_unit *unit,
		       struct dwarf_function *function, Dwarf_Die *die, uint32_t parent)
{
	struct inlined inlined = {.die = *die, .parent = parent};
	Dwarf_Word value;
	int err;

	if (parent)
		inlined.depth = function->inlined[parent - 1].depth + 1;
	if (die_number(die, DW_AT_call_line, &value) && value <= UINT32_MAX)
		inlined.call_line = (uint32_t)value;
	if (die_number(die, DW_AT_call_file, &value))
		inlined.call_file = line_table__path(&unit->lines, value);
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

/* Adds the inlined calls below @scope. @parent: 1 + index of the containing call, or 0. */
static int walk_inlined(struct dwarf_context *context, struct dwarf_unit *unit,
			struct dwarf_function *function, Dwarf_Die *scope, Dwarf_Off *furthest,
			uint32_t parent, unsigned int depth)
{
	bool first = true;
	Dwarf_Die child;

	for (; die__step(context, furthest, scope, &child, first); first = false) {
		int tag = dwarf_tag(&child);
		uint32_t around = parent;
		int err = 0;

		/* Nested functions have their own ranges. */
		if (tag == DW_TAG_subprogram || !tag__is_scope(tag))
			continue;
		if (tag == DW_TAG_inlined_subroutine) {
			err = add_inlined(context, unit, function, &child, parent);
			around = (uint32_t)function->inlined_n;
		}
		if (!err && depth < DWARF_MAX_DEPTH && dwarf_haschildren(&child) > 0)
			err = walk_inlined(context, unit, function, &child, furthest, around,
					   depth + 1);
		if (err)
			return err;
	}
	return 0;
}

void dwarf_function__load(struct dwarf_context *context, struct dwarf_unit *unit,
			  struct dwarf_function *function)
{
	Dwarf_Off furthest;

	if (function->loaded)
		return;
	function->loaded = true;
	furthest = dwarf_dieoffset(&function->die);
	walk_inlined(context, unit, function, &function->die, &furthest, 0, 0);
	ranges__seal(&function->ranges);
}

struct dwarf_function *dwarf_unit__function(struct dwarf_context *context, struct dwarf_unit *unit,
					    uint64_t address)
{
	const struct range *range = ranges__find(&unit->ranges, address);
	struct dwarf_function *function;

	if (!range || range->value >= unit->functions_n)
		return NULL;
	function = &unit->functions[range->value];
	dwarf_function__load(context, unit, function);
	return function;
}

/* Not the one that starts last: a fragment of a call can start after a call within it. */
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

const char *die__string(Dwarf_Die *die, unsigned int name)
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
	/* Not mangled: an alias made with __asm__ in C. Prefers the source name. */
	if (!demangled)
		source = die__string(die, DW_AT_name);
	if (demangled || source)
		name = demangled ? demangled : source;
	*cache = name ? strings__intern(context->strings, name) : NULL;
	if (!*cache)
		*cache = "";
	return *cache;
}

const char *dwarf_unit__line(const struct dwarf_unit *unit, uint64_t address, uint32_t *line)
{
	const struct line_span *span = line_table__find(&unit->lines, address);

	*line = span ? span->line : 0;
	return span ? span->file : NULL;
}

void dwarf_unit__free(struct dwarf_unit *unit)
{
	for (size_t i = 0; i < unit->functions_n; i++) {
		free(unit->functions[i].inlined);
		ranges__free(&unit->functions[i].ranges);
	}
	free(unit->functions);
	unit->functions = NULL;
	unit->functions_n = 0;
	unit->functions_capacity = 0;
	ranges__free(&unit->ranges);
	line_table__free(&unit->lines);
}
