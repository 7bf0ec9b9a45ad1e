// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/unwind/go_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/frames.h"
#include "base/cleanup.h"
#include "symbols/dwarf/dwarf_read.h"

#define POINTER 8UL /* bytes */

/* The header layout, by the magic number in the first word. */
static const struct layout {
	uint32_t magic;
	/* Indices of header words; 0: there is none. */
	uint8_t text;	   /* address of the code; 0: entries have absolute addresses */
	uint8_t names;	   /* offset of the names; 0: the table's start, also below */
	uint8_t stacks;	   /* offset of the stack depths */
	uint8_t functions; /* offset of the function index, and base of offsets in it */
} layouts[] = {
	{.magic = 0xfffffff1, .text = 3, .names = 4, .stacks = 7, .functions = 8}, /* 1.20 */
	{.magic = 0xfffffff0, .text = 3, .names = 4, .stacks = 7, .functions = 8}, /* 1.18 */
	{.magic = 0xfffffffa, .names = 3, .stacks = 6, .functions = 7},		   /* 1.16 */
	{.magic = 0xfffffffb},							   /* 1.2 */
};

struct reader {
	struct go_table *table;
	const struct layout *layout;
	uint64_t text, names, stacks, functions;
};

static struct cursor cursor_at(const struct go_table *table, uint64_t offset)
{
	struct cursor c = {.at = table->data, .end = table->data + table->size};

	dwarf_read__skip(&c, offset);
	return c;
}

/* Word @number of the header (8 bytes each; 0 is the magic number); 0 for number 0. */
static uint64_t header_word(const struct go_table *table, unsigned int number)
{
	struct cursor c = cursor_at(table, (uint64_t)number * POINTER);

	return number ? dwarf_read__uint64_t(&c) : 0;
}

static int read_header(struct reader *reader, uint64_t text)
{
	const struct go_table *table = reader->table;
	struct cursor c = cursor_at(table, 0);
	uint32_t magic = dwarf_read__uint32_t(&c);

	dwarf_read__skip(&c, 3); /* zeros, and the minimum instruction length */
	if (dwarf_read__uint8_t(&c) != POINTER || c.bad)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].magic == magic)
			reader->layout = &layouts[i];
	if (!reader->layout)
		return -ENOENT;
	reader->names = header_word(table, reader->layout->names);
	reader->stacks = header_word(table, reader->layout->stacks);
	reader->functions = header_word(table, reader->layout->functions);
	/* The word is 0 if it needs relocation. */
	reader->text = header_word(table, reader->layout->text);
	if (reader->layout->text && !reader->text)
		reader->text = text;
	return 0;
}

/* Reads an index entry: an address, and the offset of the function's data. */
static uint64_t read_entry(const struct reader *reader, struct cursor *c, uint64_t *data)
{
	uint64_t address;

	if (reader->layout->text) {
		address = reader->text + dwarf_read__uint32_t(c);
		*data = dwarf_read__uint32_t(c);
	} else {
		address = dwarf_read__uint64_t(c);
		*data = dwarf_read__uint64_t(c);
	}
	*data += reader->functions;
	return address;
}

static const char *read_name(const struct reader *reader, uint64_t offset)
{
	const struct go_table *table = reader->table;

	offset += reader->names;
	return offset < table->size ? (const char *)table->data + offset : "";
}

static int add_function(const struct reader *reader, uint64_t start, uint64_t end, uint64_t data)
{
	struct cursor c = cursor_at(reader->table, data);
	struct go_function function = {.start = (uint32_t)start, .end = (uint32_t)end};
	uint32_t stack;

	if (start >= end || end > UINT32_MAX)
		return 0;
	dwarf_read__skip(&c, reader->layout->text ? 4 : POINTER); /* its address */
	function.name = read_name(reader, dwarf_read__uint32_t(&c));
	dwarf_read__skip(&c, 8);
	stack = dwarf_read__uint32_t(&c);
	if (c.bad)
		return 0;
	if (stack && reader->stacks + stack < reader->table->size)
		function.stack = (uint32_t)(reader->stacks + stack);
	return array__push(&reader->table->functions, function);
}

int go_table__read(const uint8_t *data, size_t size, uint64_t text, struct go_table *table)
{
	struct reader reader = {.table = table};
	uint64_t n, start, at, next_at;
	struct cursor c;
	int err;

	*table = (struct go_table){.data = data, .size = size};
	err = size <= UINT32_MAX ? read_header(&reader, text) : -ENOENT;
	if (err)
		return err;
	n = header_word(table, 1);
	c = cursor_at(table, reader.layout->functions ? reader.functions : 2 * POINTER);
	start = read_entry(&reader, &c, &at);
	for (uint64_t i = 0; i < n && !c.bad && !err; i++) {
		uint64_t end;

		/* The entry after the last function has only its end address. */
		end = read_entry(&reader, &c, &next_at);
		err = add_function(&reader, start, end, at);
		start = end;
		at = next_at;
	}
	return err;
}

#define BY_FRAME_POINTER                                                                           \
	{                                                                                          \
		.cfa = -SAVED_FP, .fp = SAVED_FP,                                                  \
		.rule = UNWIND_RULE(UNWIND_CFA_FP_SWITCH, UNWIND_FP_CFA)                           \
	}

/*
 * Functions that switch stacks, which the table's depths do not describe. The runtime's own
 * tracebacks end at those that do not return. The others keep a frame pointer to the goroutine's
 * stack: their own if they have a frame, else their caller's, which is then skipped.
 */
static const struct stack_switch {
	const char *name;
	bool has_frame;
	struct unwind_row row;
} switches[] = {
	{.name = "runtime.goexit", .row.rule = UNWIND_CFA_END},
	{.name = "runtime.mcall", .row.rule = UNWIND_CFA_END},
	{.name = "runtime.rt0_go", .row.rule = UNWIND_CFA_END},
	{.name = "runtime.sigreturn", .row.rule = UNWIND_CFA_SIGNAL},
	{.name = "runtime.sigreturn__sigaction", .row.rule = UNWIND_CFA_SIGNAL},
	{.name = "runtime.systemstack", .row = BY_FRAME_POINTER},
	{.name = "runtime.asmcgocall", .row = BY_FRAME_POINTER},
	{.name = "runtime.morestack", .row = BY_FRAME_POINTER},
	{.name = "runtime.nanotime1", .row = BY_FRAME_POINTER, .has_frame = true},
	{.name = "runtime.walltime", .row = BY_FRAME_POINTER, .has_frame = true},
	{.name = "time.now", .row = BY_FRAME_POINTER, .has_frame = true},
};

static const struct stack_switch *find_switch(const struct go_function *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(switches); i++)
		if (!strcmp(function->name, switches[i].name))
			return &switches[i];
	return NULL;
}

/* Of the function when it has taken @depth bytes; if any, it has saved the frame pointer. */
static struct unwind_row row_of(int64_t depth, const struct stack_switch *switching)
{
	struct unwind_row row = {.cfa = (int16_t)(depth / 8 + ENTRY_CFA), .rule = UNWIND_CFA_SP};

	if (depth < 0 || depth % 8 || depth / 8 + ENTRY_CFA > INT16_MAX)
		return (struct unwind_row){.rule = UNWIND_CFA_UNSUPPORTED};
	if (!depth)
		return row;
	if (switching)
		return switching->row;
	row.fp = SAVED_FP;
	row.rule = UNWIND_RULE(UNWIND_CFA_SP, UNWIND_FP_CFA);
	return row;
}

static int add_depths(const struct go_table *table, const struct go_function *function,
		      const struct stack_switch *switching, struct cfi_rows *rows)
{
	struct cursor c = cursor_at(table, function->stack);
	uint64_t pc = function->start;
	int64_t depth = -1;
	int err = 0;

	while (function->stack && pc < function->end && !err) {
		uint64_t change = dwarf_read__uleb(&c), length = dwarf_read__uleb(&c);

		if (c.bad || !length || (!change && pc > function->start))
			break;
		depth += change & 1 ? -(int64_t)(change >> 1) - 1 : (int64_t)(change >> 1);
		err = cfi_rows__push(rows, (uint32_t)pc, row_of(depth, switching));
		pc += length < function->end ? length : function->end;
	}
	if (!err && pc < function->end)
		err = cfi_rows__push(rows, (uint32_t)pc,
				     (struct unwind_row){.rule = UNWIND_CFA_UNSUPPORTED});
	return err;
}

/* Signal handlers return to the first instruction, and callers are looked up at pc - 1. */
static int add_trampoline(struct cfi_rows *rows, uint32_t start, struct unwind_row row)
{
	size_t n = rows->rows.n;

	if (n && rows->rows.data[n - 1].pc < start - 1)
		start--;
	return cfi_rows__push(rows, start, row);
}

static int add_rows(const struct go_table *table, const struct go_function *function,
		    struct cfi_rows *rows)
{
	const struct stack_switch *switching = find_switch(function);

	if (!switching || switching->has_frame)
		return add_depths(table, function, switching, rows);
	if (UNWIND_CFA(&switching->row) == UNWIND_CFA_SIGNAL)
		return add_trampoline(rows, function->start, switching->row);
	return cfi_rows__push(rows, function->start, switching->row);
}

int go_table__rows(const struct go_table *table, struct cfi_rows *rows)
{
	uint32_t reached = 0;
	int err = 0;

	for (size_t i = 0; i < table->functions.n && !err; i++) {
		const struct go_function *function = &table->functions.data[i];

		if (function->start < reached)
			continue;
		err = add_rows(table, function, rows);
		reached = function->end;
	}
	return err || !reached ? err : cfi_rows__push(rows, reached, (struct unwind_row){});
}

void go_table__free(struct go_table *table)
{
	array__free(&table->functions);
}
