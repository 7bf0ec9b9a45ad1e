// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/code/code_functions.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbols/code/code_names.h"
#include "symbols/symbols.h"

static bool name__is_mangled(const char *name)
{
	return name && (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2));
}

/*
 * What tells a function from others. Linkage names of C are aliases made with
 * __asm__; the source has the other name.
 */
static const char *function__key(const struct code_function *function)
{
	if (name__is_mangled(function->linkage))
		return function->linkage;
	if (function->name)
		return function->name;
	return function->source ? function->source : function->linkage;
}

static uint32_t *functions__slot(const struct code_functions *functions, uint32_t *slots,
				 size_t capacity, const char *key)
{
	size_t at = hash__bytes(key, strlen(key)) & (capacity - 1);

	while (slots[at] && strcmp(function__key(&functions->list.data[slots[at] - 1]), key) != 0)
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

static int functions__grow(struct code_functions *functions)
{
	size_t capacity = functions->capacity ? functions->capacity * 2 : 1024;
	uint32_t *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < functions->list.n; i++)
		*functions__slot(functions, slots, capacity,
				 function__key(&functions->list.data[i])) = (uint32_t)i + 1;
	free(functions->slots);
	functions->slots = slots;
	functions->capacity = capacity;
	return 0;
}

static int functions__intern(struct code_functions *functions, const struct code_function *function,
			     uint32_t *index)
{
	const char *key = function__key(function);
	uint32_t *slot;

	if (functions->list.n >= CODE_NO_FUNCTION - 1)
		return -ENOMEM;
	if (functions->list.n + 1 > functions->capacity / 4 * 3 && functions__grow(functions))
		return -ENOMEM;
	slot = functions__slot(functions, functions->slots, functions->capacity, key);
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

	/* Of several ranges the first one listed is the one that is entered. */
	if (dwarf_entrypc(die, &address) && dwarf_ranges(die, 0, &base, &address, &end) <= 0)
		return false;
	*entry = address;
	return true;
}

bool symbol__is_too_long(const struct symbol *symbol)
{
	return strnlen(symbol->raw, LONGEST_RAW_NAME) == LONGEST_RAW_NAME;
}

/*
 * C++ compilers leave linkage names and namespaces out when only lines are asked
 * for: the symbol of a function has them then.
 */
static const char *functions__symbol(const struct code_functions *functions, Dwarf_Die *die)
{
	const struct symbol *symbol;
	uint64_t entry;

	if (!die__entry(die, &entry))
		return NULL;
	symbol = object__symbol(functions->object, entry);
	if (!symbol || symbol->plt || symbol__is_too_long(symbol) || symbol->start != entry ||
	    !name__is_mangled(symbol->raw) || symbol->raw[code_name__stem(symbol->raw)])
		return NULL;
	return symbol->raw;
}

static const char *die__name_of(Dwarf_Die *die, unsigned int attribute)
{
	const char *name = die__string(die, attribute);

	return name && strnlen(name, LONGEST_RAW_NAME) < LONGEST_RAW_NAME ? name : NULL;
}

/* @origin is the entry all instances of the function refer to; @die may be another one. */
static struct code_function functions__read(struct code_functions *functions, Dwarf_Die *die,
					    Dwarf_Die *origin)
{
	struct code_function function = {.source = die__name_of(origin, DW_AT_name)};
	Dwarf_Die declaration;

	function.linkage = die__name_of(origin, DW_AT_linkage_name);
	if (!function.linkage)
		function.linkage = die__name_of(origin, DW_AT_MIPS_linkage_name);
	if (function.linkage || !function.source)
		return function;
	declaration = die__declaration(origin);
	function.name = code_functions__qualify(functions, &declaration, function.source);
	if (!function.name && origin->addr == die->addr)
		function.linkage = functions__symbol(functions, die);
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
	/* A function that is in itself is damaged, and would have an endless name. */
	*function = CODE_NO_FUNCTION;
	if (!map64__put(&functions->by_entry, (uintptr_t)origin.addr, *function))
		return -ENOMEM;
	found = functions__read(functions, die, &origin);
	if (!function__key(&found))
		return 0;
	err = functions__intern(functions, &found, function);
	if (err)
		return err;
	slot = map64__get(&functions->by_entry, (uintptr_t)origin.addr);
	if (slot)
		*slot = *function;
	return 0;
}

char *code_function__copy_name(const struct code_function *function)
{
	const char *name = function->source ? function->source : "";
	char *demangled = NULL;

	if (function->name)
		return strdup(function->name);
	if (function->linkage)
		demangled = symbols__demangle(function->linkage);
	if (!function->source && function->linkage)
		name = function->linkage;
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
	found->name = name ? strings__keep(functions->strings, name) : NULL;
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
