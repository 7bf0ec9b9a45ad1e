// SPDX-License-Identifier: BSD-2-Clause
/*
 * Walks over units for what their functions are called, and which they have
 * code of.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbols/code/code_functions.h"
#include "symbols/code/code_names.h"

/* An entry around the one that is looked at. */
struct around {
	struct around *outer; /* NULL: in the unit */
	Dwarf_Die *die;
	uint32_t scope; /* 1 + index in the functions' scopes; 0: not there yet */
};

struct walk {
	struct code_functions *functions;
	struct dwarf_context *context;
	Dwarf_Off furthest;
	bool in_scopes;	 /* functions are in scopes, in this language */
	bool wants_code; /* collect the functions that have code */
	ARRAY(Dwarf_Die) code;
	uint8_t *used; /* by function: whether the unit was seen to use it */
	size_t used_capacity;
};

static bool language__has_scopes(Dwarf_Die *unit)
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

static bool tag__is_named_scope(int tag)
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

static int around__scope(struct code_functions *functions, struct around *around, uint32_t *scope)
{
	struct code_scope_entry entry;
	int err;

	*scope = 0;
	if (!around)
		return 0;
	if (!around->scope) {
		entry.die = *around->die;
		err = around__scope(functions, around->outer, &entry.parent);
		if (err)
			return err;
		if (functions->scopes.n >= UINT32_MAX || array__push(&functions->scopes, entry))
			return -ENOMEM;
		around->scope = (uint32_t)functions->scopes.n;
	}
	*scope = around->scope;
	return 0;
}

/* Declarations and what is only ever inlined are no code. */
static bool die__has_code(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

/* Declared here, and under no name that tells what it is in. */
static bool die__needs_scope(Dwarf_Die *die)
{
	return !dwarf_hasattr(die, DW_AT_linkage_name) &&
	       !dwarf_hasattr(die, DW_AT_abstract_origin) &&
	       !dwarf_hasattr(die, DW_AT_specification) &&
	       !dwarf_hasattr(die, DW_AT_MIPS_linkage_name);
}

static int walk__take(struct walk *walk, Dwarf_Die *die, int tag, struct around *around)
{
	uint32_t scope;
	int err;

	if (tag == DW_TAG_subprogram && around && walk->in_scopes && die__needs_scope(die)) {
		err = around__scope(walk->functions, around, &scope);
		if (err)
			return err;
		if (!map64__put(&walk->functions->parents, (uintptr_t)die->addr, scope))
			return -ENOMEM;
	}
	if (walk->wants_code &&
	    (tag == DW_TAG_inlined_subroutine || (tag == DW_TAG_subprogram && die__has_code(die))))
		return array__push(&walk->code, *die);
	return 0;
}

static int walk__children(struct walk *walk, Dwarf_Die *parent, struct around *around,
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
		err = walk__take(walk, &child, tag, around);
		if (!err && depth < DWARF_DEEPEST && dwarf_haschildren(&child) > 0)
			err = walk__children(walk, &child,
					     tag__is_named_scope(tag) ? &here : around, depth + 1);
		if (err)
			return err;
	}
	return 0;
}

static int walk__unit(struct walk *walk, Dwarf_Die *unit)
{
	walk->furthest = dwarf_dieoffset(unit);
	walk->in_scopes = language__has_scopes(unit);
	if (!map64__put(&walk->functions->walked, (uintptr_t)unit->cu, 1))
		return -ENOMEM;
	return walk__children(walk, unit, NULL, 0);
}

static int walk__add_use(struct walk *walk, uint32_t function, uint32_t unit)
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

static int walk__scan(struct walk *walk, Dwarf_Die *die, uint32_t unit)
{
	struct code_functions *functions = walk->functions;
	size_t first = functions->uses.n;
	uint32_t function;
	int err;

	walk->code.n = 0;
	err = walk__unit(walk, die);
	for (size_t i = 0; i < walk->code.n && !err; i++) {
		err = code_functions__of(functions, &walk->code.data[i], &function);
		if (!err && function != CODE_NO_FUNCTION)
			err = walk__add_use(walk, function, unit);
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
		err = walk__scan(&walk, dwarf_unit__die(&info->context, &info->units.data[i]),
				 (uint32_t)i);
	array__free(&walk.code);
	free(walk.used);
	return err;
}

Dwarf_Die die__declaration(Dwarf_Die *die)
{
	Dwarf_Die found = *die;

	/* As far as libdw follows these, too. */
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

/* The entries of a unit that others refer to may not have been walked over. */
static int functions__walk(struct code_functions *functions, Dwarf_Die *die)
{
	struct dwarf_info *info = object__dwarf(functions->object);
	struct walk walk = {.functions = functions, .context = &info->context};
	Dwarf_Die unit;

	if (map64__get(&functions->walked, (uintptr_t)die->cu) ||
	    !dwarf_diecu(die, &unit, NULL, NULL))
		return 0;
	return walk__unit(&walk, &unit);
}

/* What a type or namespace without name is called in the name of function @inner. */
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
	if (parent && depth < DWARF_DEEPEST) {
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

/* Functions in functions in functions of damaged files. */
#define DEEPEST_FUNCTIONS 16

const char *code_functions__qualify(struct code_functions *functions, Dwarf_Die *die,
				    const char *source)
{
	struct dwarf_context *context = &object__dwarf(functions->object)->context;
	char text[LONGEST_CODE_NAME] = "";
	const uint64_t *scope;
	FILE *out;
	int err;

	if (functions->depth == DEEPEST_FUNCTIONS || functions__walk(functions, die))
		return NULL;
	scope = map64__get(&functions->parents, (uintptr_t)die->addr);
	/* Long names of many functions could take more memory than the file has bytes. */
	if (!scope || !*scope || context->bytes < sizeof(text))
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
	context->bytes -= strlen(text) + 1;
	return err ? NULL : strings__keep(functions->strings, text);
}
