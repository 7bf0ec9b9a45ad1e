// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/dwarf/dwarf_info.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

static int add_unit(struct dwarf_info *info, Dwarf_CU *cu)
{
	struct dwarf_unit unit = {};
	Dwarf_Half version;
	uint8_t type;
	int err;

	if (dwarf_cu_info(cu, &version, &type, &unit.head, NULL, NULL, NULL, NULL))
		return 0;
	if (type != DW_UT_skeleton && type != DW_UT_compile)
		return 0;
	/* Bounds the number of units, too. */
	if (!info->context.ranges_left || info->units.n >= UINT32_MAX)
		return 0;
	info->context.ranges_left--;
	err = die__ranges(&info->context, &unit.head, dwarf_info__value((uint32_t)info->units.n),
			  &info->ranges);
	if (err)
		return err;
	return array__push(&info->units, unit);
}

static int read_units(struct dwarf_info *info, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	int err;

	while (!dwarf_get_units(dwarf, cu, &cu, NULL, NULL, NULL, NULL)) {
		err = add_unit(info, cu);
		if (err)
			return err;
	}
	ranges__seal(&info->ranges);
	return 0;
}

int dwarf_info__new(Dwarf *dwarf, const struct elf_file *file, struct strings *strings,
		    struct dwarf_info **out)
{
	_cleanup_dwarf_info_ struct dwarf_info *info = calloc(1, sizeof(*info));
	int err;

	if (!info)
		return -ENOMEM;
	info->context.strings = strings;
	line_sections__read(file, &info->context.lines);
	/* The line section may have been compressed, so it counts in addition. */
	info->context.ranges_left = (1 << 16) + 4 * file->size + info->context.lines.line.size;
	info->context.entries_left = (1 << 24) + 16 * file->size;
	info->context.name_bytes_left = (1 << 24) + 4 * file->size;
	err = elf_file__add_executable(file, &info->context.text);
	ranges__seal(&info->context.text);
	if (!err)
		err = read_units(info, dwarf);
	if (err)
		return err;
	*out = TAKE_PTR(info);
	return 0;
}

/*
 * The unit that contains @address, preferably one with a function there: ranges of units can
 * overlap, for example when the linker has dropped unused code.
 */
static struct dwarf_unit *find_unit(struct dwarf_info *info, uint64_t address,
				    struct dwarf_function **function)
{
	const struct range *range = ranges__find(&info->ranges, address);
	struct dwarf_unit *first = NULL;

	*function = NULL;
	for (; range; range = ranges__outer(&info->ranges, range, address)) {
		struct dwarf_unit *unit = &info->units.data[dwarf_info__value(range->value)];

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
	struct dwarf_unit *unit = find_unit(info, address, &function);
	struct inlined *inlined = NULL;
	const char *file;
	uint32_t line;
	size_t depth;
	size_t n = 0;

	if (!unit)
		return 0;
	file = dwarf_unit__line(unit, address, &line);
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
	ranges__free(&info->context.text);
	free(info);
}
