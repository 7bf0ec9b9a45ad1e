// SPDX-License-Identifier: BSD-2-Clause
/* Names the member of a variable that is at an address. */
#include "symbols/dwarf/dwarf_variables.h"

#include <ctype.h>
#include <dwarf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Types of types; sound programs stay below. */
#define MAX_TYPE_DEPTH 32
#define MAX_DIMENSIONS 8

struct variable {
	uint64_t address;
	Dwarf_Die die;
};

struct dwarf_variables {
	struct dwarf_context *context;
	ARRAY(struct variable) all; /* by address */
};

/* A part of a variable that is looked into. */
struct part {
	Dwarf_Die type;
	uint64_t offset; /* in it, of what is looked for */
};

struct text {
	char *at;
	size_t left;
};

/* The address of a variable that is in memory as long as the program; not thread-local. */
static bool static_address(Dwarf_Die *die, uint64_t *address)
{
	Dwarf_Attribute attribute, value;
	Dwarf_Op *operation;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &operation, &n) || n != 1)
		return false;
	switch (operation->atom) {
	case DW_OP_addr:
		*address = operation->number;
		return true;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		return !dwarf_getlocation_attr(&attribute, operation, &value) &&
		       !dwarf_formaddr(&value, address);
	default:
		return false;
	}
}

/* Where variables of static storage are: not in types, whose members are declared there only. */
static bool may_hold_variables(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_subprogram ||
	       tag == DW_TAG_lexical_block;
}

static int walk(struct dwarf_variables *variables, Dwarf_Die *parent, Dwarf_Off *furthest,
		unsigned int depth)
{
	bool first = true;
	Dwarf_Die child;

	for (; die__step(variables->context, furthest, parent, &child, first); first = false) {
		int tag = dwarf_tag(&child);
		struct variable found = {.die = child};
		int err = 0;

		if (tag == DW_TAG_variable && static_address(&child, &found.address))
			err = array__push(&variables->all, found);
		if (!err && depth < DWARF_MAX_DEPTH && may_hold_variables(tag) &&
		    dwarf_haschildren(&child) > 0)
			err = walk(variables, &child, furthest, depth + 1);
		if (err)
			return err;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct variable *one = a, *other = b;

	return one->address < other->address ? -1 : one->address > other->address;
}

int dwarf_variables__new(struct dwarf_info *info, struct dwarf_variables **out)
{
	_cleanup_dwarf_variables_ struct dwarf_variables *variables = calloc(1, sizeof(*variables));

	if (!variables)
		return -ENOMEM;
	variables->context = &info->context;
	for (size_t i = 0; i < info->units.n; i++) {
		Dwarf_Die *die = dwarf_unit__die(&info->context, &info->units.data[i]);
		Dwarf_Off furthest = dwarf_dieoffset(die);
		int err = walk(variables, die, &furthest, 0);

		if (err)
			return err;
	}
	if (variables->all.n)
		qsort(variables->all.data, variables->all.n, sizeof(*variables->all.data),
		      by_address);
	*out = TAKE_PTR(variables);
	return 0;
}

void dwarf_variables__free(struct dwarf_variables *variables)
{
	if (!variables)
		return;
	array__free(&variables->all);
	free(variables);
}

/* The type of @die, without typedefs and qualifiers. */
static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Die at = *die;

	for (int i = 0; i < MAX_TYPE_DEPTH; i++) {
		Dwarf_Attribute attribute;

		if (!dwarf_formref_die(dwarf_attr_integrate(&at, DW_AT_type, &attribute), type))
			return false;
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_atomic_type:
		case DW_TAG_restrict_type:
			at = *type;
			continue;
		default:
			return true;
		}
	}
	return false;
}

static bool number_of(Dwarf_Die *die, unsigned int name, uint64_t *value)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &number))
		return false;
	*value = number;
	return true;
}

static void __attribute__((format(printf, 2, 3))) put(struct text *text, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text->at, text->left, fmt, args);
	va_end(args);
	if (n > 0 && (size_t)n >= text->left)
		n = text->left ? (int)text->left - 1 : 0;
	text->at += n > 0 ? n : 0;
	text->left -= n > 0 ? (size_t)n : 0;
}

/* The number of elements of each dimension of @array, the outermost first; 0: unknown. */
static size_t dimensions(struct dwarf_context *context, Dwarf_Die *array,
			 uint64_t counts[MAX_DIMENSIONS])
{
	Dwarf_Off furthest = dwarf_dieoffset(array);
	bool first = true;
	Dwarf_Die child;
	size_t n = 0;

	for (; die__step(context, &furthest, array, &child, first); first = false) {
		uint64_t count = 0, bound;

		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (n == MAX_DIMENSIONS)
			return 0;
		if (!number_of(&child, DW_AT_count, &count) &&
		    number_of(&child, DW_AT_upper_bound, &bound))
			count = bound + 1;
		counts[n++] = count;
	}
	return n;
}

static bool enter_element(struct dwarf_context *context, struct part *part, struct text *text)
{
	uint64_t counts[MAX_DIMENSIONS], indices[MAX_DIMENSIONS] = {}, at;
	size_t n = dimensions(context, &part->type, counts);
	Dwarf_Word size;
	Dwarf_Die element;

	if (!n || !type_of(&part->type, &element) || dwarf_aggregate_size(&element, &size) || !size)
		return false;
	at = part->offset / size;
	for (size_t i = n; i-- > 1;) {
		if (!counts[i])
			return false;
		indices[i] = at % counts[i];
		at /= counts[i];
	}
	indices[0] = at;
	for (size_t i = 0; i < n; i++)
		put(text, "[%" PRIu64 "]", indices[i]);
	part->type = element;
	part->offset %= size;
	return true;
}

/* Whether the member @die contains the part: then its type and the offset in it. */
static bool contains(Dwarf_Die *die, bool is_union, const struct part *part, struct part *member)
{
	uint64_t begin = 0;
	Dwarf_Word size;

	if (dwarf_tag(die) != DW_TAG_member && dwarf_tag(die) != DW_TAG_inheritance)
		return false;
	/* Those without an offset are static, or bit fields. */
	if (!number_of(die, DW_AT_data_member_location, &begin) && !is_union)
		return false;
	if (!type_of(die, &member->type) || dwarf_aggregate_size(&member->type, &size))
		return false;
	member->offset = part->offset - begin;
	return part->offset >= begin && member->offset < size;
}

static bool is_reserved(const char *name)
{
	return name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
}

/* Sets *@done if nothing more of it is to be told. */
static bool enter_member(struct dwarf_context *context, struct part *part, struct text *text,
			 bool *done)
{
	Dwarf_Off furthest = dwarf_dieoffset(&part->type);
	bool is_union = dwarf_tag(&part->type) == DW_TAG_union_type, first = true;
	struct part member;
	Dwarf_Die child;

	for (; die__step(context, &furthest, &part->type, &child, first); first = false) {
		Dwarf_Attribute attribute;
		const char *name;

		if (!contains(&child, is_union, part, &member))
			continue;
		name = dwarf_tag(&child) == DW_TAG_member
			       ? dwarf_formstring(dwarf_attr(&child, DW_AT_name, &attribute))
			       : NULL;
		*done = name && is_reserved(name);
		if (name && !*done)
			put(text, ".%s", name);
		*part = member;
		return true;
	}
	return false;
}

static bool describe(struct dwarf_context *context, struct part part, struct text *text)
{
	bool done = false;

	for (int depth = 0; depth < MAX_TYPE_DEPTH && !done; depth++) {
		switch (dwarf_tag(&part.type)) {
		case DW_TAG_array_type:
			if (!enter_element(context, &part, text))
				return false;
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			if (!enter_member(context, &part, text, &done))
				return false;
			break;
		default:
			done = true;
		}
	}
	return done;
}

bool dwarf_variables__member(struct dwarf_variables *variables, uint64_t start, uint64_t offset,
			     char *text, size_t size)
{
	const struct variable wanted = {.address = start};
	struct variable *found;
	struct part part = {.offset = offset};
	struct text to = {text, size};

	*text = '\0';
	if (!variables->all.n)
		return false;
	found = bsearch(&wanted, variables->all.data, variables->all.n,
			sizeof(*variables->all.data), by_address);
	return found && type_of(&found->die, &part.type) && describe(variables->context, part, &to);
}
