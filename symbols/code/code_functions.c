// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/code/code_functions.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbols/code/code_names.h"
#include "symbols/symbols.h"

static bool is_mangled(const char *name)
{
	return name && (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2));
}

/*
 * The name that identifies a function. Linkage names that are not mangled are aliases made with
 * __asm__ in C, so the source name is preferred.
 */
static const char *function_key(const struct code_function *function)
{
	if (is_mangled(function->linkage_name))
		return function->linkage_name;
	if (function->name)
		return function->name;
	return function->source_name ? function->source_name : function->linkage_name;
}

static uint32_t *find_slot(const struct code_functions *functions, uint32_t *slots, size_t capacity,
			   const char *key)
{
	size_t at = hash__bytes(key, strlen(key)) & (capacity - 1);

	while (slots[at] && strcmp(function_key(&functions->list.data[slots[at] - 1]), key) != 0)
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

static int grow_slots(struct code_functions *functions)
{
	size_t capacity = functions->capacity ? functions->capacity * 2 : 1024;
	uint32_t *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < functions->list.n; i++)
		*find_slot(functions, slots, capacity, function_key(&functions->list.data[i])) =
			(uint32_t)i + 1;
	free(functions->slots);
	functions->slots = slots;
	functions->capacity = capacity;
	return 0;
}

static int intern_function(struct code_functions *functions, const struct code_function *function,
			   uint32_t *index)
{
	const char *key = function_key(function);
	uint32_t *slot;

	if (functions->list.n >= CODE_NO_FUNCTION - 1)
		return -ENOMEM;
	if (functions->list.n + 1 > functions->capacity / 4 * 3 && grow_slots(functions))
		return -ENOMEM;
	slot = find_slot(functions, functions->slots, functions->capacity, key);
	if (!*slot) {
		if (array__push(&functions->list, *function))
			return -ENOMEM;
		*slot = (uint32_t)functions->list.n;
	}
	*index = *slot - 1;
	return 0;
}

bool die__entry(Dwarf_Die *die, uint64_t *entry)
{
	Dwarf_Addr address;
	Dwarf_Addr base;
	Dwarf_Addr end;

	/* A function with several ranges is entered at the first one listed. */
	if (dwarf_entrypc(die, &address) && dwarf_ranges(die, 0, &base, &address, &end) <= 0)
		return false;
	*entry = address;
	return true;
}

bool symbol__is_too_long(const struct symbol *symbol)
{
	return strnlen(symbol->raw, MAX_RAW_NAME) == MAX_RAW_NAME;
}

/*
 * With -g1, C++ compilers omit linkage names and namespaces; the symbol of the function has
 * them.
 */
static const char *symbol_of_die(const struct code_functions *functions, Dwarf_Die *die)
{
	const struct symbol *symbol;
	uint64_t entry;

	if (!die__entry(die, &entry))
		return NULL;
	symbol = object__symbol(functions->object, entry);
	if (!symbol || symbol->plt || symbol__is_too_long(symbol) || symbol->start != entry ||
	    !is_mangled(symbol->raw) || symbol->raw[code_name__stem(symbol->raw)])
		return NULL;
	return symbol->raw;
}

static const char *bounded_die_name(Dwarf_Die *die, unsigned int attribute)
{
	const char *name = die__string(die, attribute);

	return name && strnlen(name, MAX_RAW_NAME) < MAX_RAW_NAME ? name : NULL;
}

/* @origin is the DIE that all instances of the function refer to; @die is one of these. */
static struct code_function read_function(struct code_functions *functions, Dwarf_Die *die,
					  Dwarf_Die *origin)
{
	struct code_function function = {.source_name = bounded_die_name(origin, DW_AT_name)};
	Dwarf_Die declaration;

	function.linkage_name = bounded_die_name(origin, DW_AT_linkage_name);
	if (!function.linkage_name)
		function.linkage_name = bounded_die_name(origin, DW_AT_MIPS_linkage_name);
	if (function.linkage_name || !function.source_name)
		return function;
	declaration = die__declaration(origin);
	function.name = code_functions__qualify(functions, &declaration, function.source_name);
	if (!function.name && origin->addr == die->addr)
		function.linkage_name = symbol_of_die(functions, die);
	return function;
}

int code_functions__of(struct code_functions *functions, Dwarf_Die *die, uint32_t *function)
{
	struct code_function found;
	Dwarf_Attribute attribute;
	const uint64_t *known;
	uint64_t *slot;
	Dwarf_Die origin;
	int err;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) ||
	    !dwarf_formref_die(&attribute, &origin))
		origin = *die;
	known = map64__get(&functions->by_entry, (uintptr_t)origin.addr);
	if (known) {
		*function = (uint32_t)*known;
		return 0;
	}
	/* Marked first: in damaged files, a function may be nested in itself. */
	*function = CODE_NO_FUNCTION;
	if (!map64__put(&functions->by_entry, (uintptr_t)origin.addr, *function))
		return -ENOMEM;
	found = read_function(functions, die, &origin);
	if (!function_key(&found))
		return 0;
	err = intern_function(functions, &found, function);
	if (err)
		return err;
	slot = map64__get(&functions->by_entry, (uintptr_t)origin.addr);
	if (slot)
		*slot = *function;
	return 0;
}

char *code_function__copy_name(const struct code_function *function)
{
	const char *name = function->source_name ? function->source_name : "";
	char *demangled = NULL;

	if (function->name)
		return strdup(function->name);
	if (function->linkage_name)
		demangled = symbols__demangle(function->linkage_name);
	if (!function->source_name && function->linkage_name)
		name = function->linkage_name;
	return demangled ? demangled : strdup(name);
}

const char *code_functions__name(struct code_functions *functions, uint32_t function)
{
	_cleanup_free_ char *name = NULL;
	struct code_function *found;

	if (function == CODE_NO_FUNCTION)
		return "";
	found = &functions->list.data[function];
	if (found->name)
		return found->name;
	name = code_function__copy_name(found);
	found->name = name ? strings__intern(functions->strings, name) : NULL;
	return found->name ? found->name : "";
}

void code_functions__free(struct code_functions *functions)
{
	array__free(&functions->list);
	array__free(&functions->uses);
	array__free(&functions->scopes);
	map64__free(&functions->by_entry);
	map64__free(&functions->walked);
	map64__free(&functions->parents);
	free(functions->slots);
}
