// SPDX-License-Identifier: BSD-2-Clause
/*
 * Walks the DIEs of units to find the qualified names of functions, and the functions with code.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbols/code/code_functions.h"
#include "symbols/code/code_names.h"

/* A named scope that contains the current DIE. */
struct around {
	struct around *outer; /* NULL: the unit */
	Dwarf_Die *die;
	uint32_t scope; /* 1 + index in functions->scopes; 0: not added yet */
};

struct walk {
	struct code_functions *functions;
	struct dwarf_context *context;
	Dwarf_Off furthest;
	bool in_scopes;	 /* the language has namespaces or the like */
	bool wants_code; /* collect the functions that have code */
	ARRAY(Dwarf_Die) code;
	uint8_t *used; /* by function: whether a use by the current unit was added */
	size_t used_capacity;
};

static bool language_has_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler:
		return false;
	default:
		return true;
	}
}

static bool tag_is_named_scope(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

static int enclosing_scope(struct code_functions *functions, struct around *around, uint32_t *scope)
{
	struct code_scope_entry entry;
	int err;

	*scope = 0;
	if (!around)
		return 0;
	if (!around->scope) {
		entry.die = *around->die;
		err = enclosing_scope(functions, around->outer, &entry.parent);
		if (err)
			return err;
		if (functions->scopes.n >= UINT32_MAX || array__push(&functions->scopes, entry))
			return -ENOMEM;
		around->scope = (uint32_t)functions->scopes.n;
	}
	*scope = around->scope;
	return 0;
}

/* False for declarations and for functions that are only inlined. */
static bool has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

/* Whether @die is a declaration whose name does not say in which scope it is. */
static bool needs_scope(Dwarf_Die *die)
{
	return !dwarf_hasattr(die, DW_AT_linkage_name) &&
	       !dwarf_hasattr(die, DW_AT_abstract_origin) &&
	       !dwarf_hasattr(die, DW_AT_specification) &&
	       !dwarf_hasattr(die, DW_AT_MIPS_linkage_name);
}

static int walk_take(struct walk *walk, Dwarf_Die *die, int tag, struct around *around)
{
	uint32_t scope;
	int err;

	if (tag == DW_TAG_subprogram && around && walk->in_scopes && needs_scope(die)) {
		err = enclosing_scope(walk->functions, around, &scope);
		if (err)
			return err;
		if (!map64__put(&walk->functions->parents, (uintptr_t)die->addr, scope))
			return -ENOMEM;
	}
	if (walk->wants_code &&
	    (tag == DW_TAG_inlined_subroutine || (tag == DW_TAG_subprogram && has_code(die))))
		return array__push(&walk->code, *die);
	return 0;
}

static int walk_children(struct walk *walk, Dwarf_Die *parent, struct around *around,
			 unsigned int depth)
{
	bool first = true;
	Dwarf_Die child;

	for (; die__step(walk->context, &walk->furthest, parent, &child, first); first = false) {
		struct around here = {.outer = around, .die = &child};
		int tag = dwarf_tag(&child);
		int err;

		if (!tag__is_scope(tag))
			continue;
		err = walk_take(walk, &child, tag, around);
		if (!err && depth < DWARF_MAX_DEPTH && dwarf_haschildren(&child) > 0)
			err = walk_children(walk, &child, tag_is_named_scope(tag) ? &here : around,
					    depth + 1);
		if (err)
			return err;
	}
	return 0;
}

static int walk_unit(struct walk *walk, Dwarf_Die *unit)
{
	walk->furthest = dwarf_dieoffset(unit);
	walk->in_scopes = language_has_scopes(unit);
	if (!map64__put(&walk->functions->walked, (uintptr_t)unit->cu, 1))
		return -ENOMEM;
	return walk_children(walk, unit, NULL, 0);
}

static int walk_add_use(struct walk *walk, uint32_t function, uint32_t unit)
{
	if (function >= walk->used_capacity) {
		size_t capacity = 2 * (size_t)function + 1024;
		uint8_t *used = realloc(walk->used, capacity);

		if (!used)
			return -ENOMEM;
		memset(used + walk->used_capacity, 0, capacity - walk->used_capacity);
		walk->used = used;
		walk->used_capacity = capacity;
	}
	if (walk->used[function])
		return 0;
	walk->used[function] = 1;
	return array__push(&walk->functions->uses,
			   ((struct code_use){.function = function, .unit = unit}));
}

static int walk_scan(struct walk *walk, Dwarf_Die *die, uint32_t unit)
{
	struct code_functions *functions = walk->functions;
	size_t first = functions->uses.n;
	uint32_t function;
	int err;

	walk->code.n = 0;
	err = walk_unit(walk, die);
	for (size_t i = 0; i < walk->code.n && !err; i++) {
		err = code_functions__of(functions, &walk->code.data[i], &function);
		if (!err && function != CODE_NO_FUNCTION)
			err = walk_add_use(walk, function, unit);
	}
	for (size_t i = first; walk->used && i < functions->uses.n; i++)
		walk->used[functions->uses.data[i].function] = 0;
	return err;
}

int code_functions__scan(struct code_functions *functions)
{
	struct dwarf_info *info = object__dwarf(functions->object);
	struct walk walk = {.functions = functions, .wants_code = true};
	int err = 0;

	if (functions->scanned || !info)
		return 0;
	functions->scanned = true;
	walk.context = &info->context;
	for (size_t i = 0; i < info->units.n && !err; i++)
		err = walk_scan(&walk, dwarf_unit__die(&info->context, &info->units.data[i]),
				(uint32_t)i);
	array__free(&walk.code);
	free(walk.used);
	return err;
}

Dwarf_Die die__declaration(Dwarf_Die *die)
{
	Dwarf_Die found = *die;

	/* libdw follows as many. */
	for (int i = 0; i < 16; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die next;

		if (!dwarf_attr(&found, DW_AT_specification, &attribute) &&
		    !dwarf_attr(&found, DW_AT_abstract_origin, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, &next))
			break;
		found = next;
	}
	return found;
}

/* Walks the unit of @die if it was not walked yet: other units may refer to it. */
static int walk_unit_of(struct code_functions *functions, Dwarf_Die *die)
{
	struct dwarf_info *info = object__dwarf(functions->object);
	struct walk walk = {.functions = functions, .context = &info->context};
	Dwarf_Die unit;

	if (map64__get(&functions->walked, (uintptr_t)die->cu) ||
	    !dwarf_diecu(die, &unit, NULL, NULL))
		return 0;
	return walk_unit(&walk, &unit);
}

/* Writes a placeholder for an unnamed type or namespace that contains the function @inner. */
static void put_unnamed(FILE *out, Dwarf_Die *die, const char *inner)
{
	int line = 0;

	if (dwarf_tag(die) == DW_TAG_namespace) {
		fputs("(anonymous namespace)", out);
		return;
	}
	dwarf_decl_line(die, &line);
	fprintf(out, "{%s:%d}", strncmp(inner, "operator()", 10) ? "unnamed" : "lambda", line);
}

static int put_scope(struct code_functions *functions, FILE *out, uint32_t scope, const char *inner,
		     unsigned int depth)
{
	Dwarf_Die die = functions->scopes.data[scope - 1].die;
	uint32_t parent = functions->scopes.data[scope - 1].parent;
	const char *name;
	uint32_t function;
	int err;

	if (dwarf_tag(&die) == DW_TAG_subprogram) {
		err = code_functions__of(functions, &die, &function);
		fprintf(out, "%s::", code_functions__name(functions, function));
		return err;
	}
	if (parent && depth < DWARF_MAX_DEPTH) {
		err = put_scope(functions, out, parent, inner, depth + 1);
		if (err)
			return err;
	}
	name = dwarf_diename(&die);
	if (name)
		fputs(name, out);
	else
		put_unnamed(out, &die, inner);
	fputs("::", out);
	return 0;
}

/* Bounds the recursion in damaged files. */
#define MAX_NESTED_FUNCTIONS 16

const char *code_functions__qualify(struct code_functions *functions, Dwarf_Die *die,
				    const char *source)
{
	struct dwarf_context *context = &object__dwarf(functions->object)->context;
	char text[MAX_CODE_NAME] = "";
	const uint64_t *scope;
	FILE *out;
	int err;

	if (functions->depth == MAX_NESTED_FUNCTIONS || walk_unit_of(functions, die))
		return NULL;
	scope = map64__get(&functions->parents, (uintptr_t)die->addr);
	/* The names of all functions could take far more memory than the file has bytes. */
	if (!scope || !*scope || context->name_bytes_left < sizeof(text))
		return NULL;
	out = fmemopen(text, sizeof(text), "w");
	if (!out)
		return NULL;
	functions->depth++;
	err = put_scope(functions, out, (uint32_t)*scope, source, 0);
	functions->depth--;
	fputs(source, out);
	fclose(out);
	text[sizeof(text) - 1] = '\0';
	context->name_bytes_left -= strlen(text) + 1;
	return err ? NULL : strings__intern(functions->strings, text);
}
