// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/dwarf_info.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "symbols/dwarf_unit.h"

struct dwarf_info {
	struct dwarf_context context;
	ARRAY(struct dwarf_unit) units;
	struct ranges ranges; /* value: index in units */
};

/*
 * Whether libdw may open the file that holds the code of the skeleton unit
 * @die: a name that leads to a FIFO would keep it waiting.
 */
static bool skeleton__is_safe(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *directory;
	const char *name;
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
	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static int dwarf_info__add_unit(struct dwarf_info *info, Dwarf_CU *cu)
{
	struct dwarf_unit unit = {};
	Dwarf_Half version;
	uint8_t type;
	int err;

	if (dwarf_cu_info(cu, &version, &type, &unit.head, NULL, NULL, NULL, NULL))
		return 0;
	unit.die = unit.head;
	if (type == DW_UT_skeleton) {
		Dwarf_Die split;

		if (skeleton__is_safe(&unit.head) &&
		    !dwarf_cu_info(cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) && split.addr)
			unit.die = split;
	} else if (type != DW_UT_compile) {
		return 0;
	}
	/* At most one unit per range kept, so the budget bounds these too. */
	if (!info->context.budget || info->units.n >= UINT32_MAX)
		return 0;
	info->context.budget--;
	err = die__ranges(&info->context, &unit.head, (uint32_t)info->units.n, &info->ranges);
	if (err)
		return err;
	return array__push(&info->units, unit);
}

static int dwarf_info__read_units(struct dwarf_info *info, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	int err;

	while (!dwarf_get_units(dwarf, cu, &cu, NULL, NULL, NULL, NULL)) {
		err = dwarf_info__add_unit(info, cu);
		if (err)
			return err;
	}
	ranges__seal(&info->ranges);
	return 0;
}

int dwarf_info__new(Dwarf *dwarf, uint64_t size, struct strings *strings, struct dwarf_info **out)
{
	_cleanup_dwarf_info_ struct dwarf_info *info = calloc(1, sizeof(*info));
	int err;

	if (!info)
		return -ENOMEM;
	info->context.strings = strings;
	/* Sections may be compressed. */
	info->context.budget = (1 << 16) + 4 * size;
	err = dwarf_info__read_units(info, dwarf);
	if (err)
		return err;
	*out = TAKE_PTR(info);
	return 0;
}

/*
 * The unit around @address, preferably one that has a function there: ranges of
 * units can overlap, as those of unused code that the linker dropped do.
 */
static struct dwarf_unit *dwarf_info__unit(struct dwarf_info *info, uint64_t address,
					   struct dwarf_function **function)
{
	const struct range *range = ranges__find(&info->ranges, address);
	struct dwarf_unit *first = NULL;

	*function = NULL;
	for (; range; range = ranges__outer(&info->ranges, range, address)) {
		struct dwarf_unit *unit = &info->units.data[range->value];

		dwarf_unit__load(&info->context, unit);
		if (!first)
			first = unit;
		*function = dwarf_unit__function(&info->context, unit, address);
		if (*function)
			return unit;
	}
	return first;
}

size_t dwarf_info__resolve(struct dwarf_info *info, uint64_t address, const char *symbol,
			   struct symbol_frame *frames, size_t max)
{
	struct dwarf_function *function;
	struct dwarf_unit *unit = dwarf_info__unit(info, address, &function);
	struct inlined *inlined = NULL;
	const char *file;
	uint32_t line;
	size_t depth;
	size_t n = 0;

	if (!unit)
		return 0;
	file = dwarf_unit__line(&info->context, unit, address, &line);
	if (function)
		inlined = dwarf_function__inlined(function, address);
	else if (!file)
		return 0;
	depth = inlined ? inlined->depth + 1 : 0;
	while (inlined) {
		if (depth-- < max)
			frames[n++] = (struct symbol_frame){
				.name = die__name(&info->context, &inlined->die, &inlined->name),
				.file = file,
				.line = line,
				.inlined = true,
			};
		file = inlined->call_file;
		line = inlined->call_line;
		inlined = inlined->parent ? &function->inlined[inlined->parent - 1] : NULL;
	}
	if (!symbol)
		symbol = function ? die__name(&info->context, &function->die, &function->name) : "";
	frames[n++] = (struct symbol_frame){.name = symbol, .file = file, .line = line};
	return n;
}

void dwarf_info__free(struct dwarf_info *info)
{
	if (!info)
		return;
	for (size_t i = 0; i < info->units.n; i++)
		dwarf_unit__free(&info->units.data[i]);
	array__free(&info->units);
	ranges__free(&info->ranges);
	free(info);
}
