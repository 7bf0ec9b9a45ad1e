// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/dwarf/line_table.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbols/dwarf/dwarf_read.h"
#include "symbols/dwarf/source_path.h"

/* The line number state machine (DWARF 5, section 6.2) and the receiver of its rows. */
struct line_machine {
	const struct line_header *header;
	const struct line_limits *limits;
	int (*take)(void *context, const struct line_row *row);
	void *context;
	struct cursor cursor;
	struct line_row row;
	uint64_t last;	/* address of the previous row */
	bool inside;	/* within a sequence */
	bool dropped;	/* the sequence is not passed on: not in executable code */
	bool exhausted; /* rows_left reached 0 */
};

static void machine_reset(struct line_machine *machine)
{
	machine->row = (struct line_row){
		.file = 1,
		.line = 1,
		.is_statement = machine->header->is_statement,
	};
	machine->inside = false;
}

static bool is_executable(const struct ranges *text, uint64_t address)
{
	return !text->n || ranges__find(text, address);
}

static int machine_end_sequence(struct line_machine *machine, uint64_t address)
{
	struct line_row row = machine->row;

	if (!machine->inside || machine->dropped)
		return 0;
	row.address = address;
	row.ends = true;
	return machine->take(machine->context, &row);
}

static int machine_emit_row(struct line_machine *machine)
{
	int err = 0;

	if (machine->inside && machine->row.address < machine->last) {
		err = machine_end_sequence(machine, machine->last);
		machine->inside = false;
	}
	if (!machine->inside)
		machine->dropped = !is_executable(machine->limits->text, machine->row.address);
	machine->inside = true;
	machine->last = machine->row.address;
	if (err || machine->dropped)
		return err;
	if (!*machine->limits->rows_left) {
		machine->exhausted = true;
		return 0;
	}
	(*machine->limits->rows_left)--;
	return machine->take(machine->context, &machine->row);
}

static void machine_advance(struct line_machine *machine, uint64_t operations)
{
	machine->row.address += operations * machine->header->min_instruction;
}

static void machine_advance_line(struct line_machine *machine, int64_t lines)
{
	machine->row.line += (uint32_t)lines;
}

static int machine_special_opcode(struct line_machine *machine, uint8_t opcode)
{
	uint8_t packed = opcode - machine->header->opcode_base;

	machine_advance(machine, packed / machine->header->line_range);
	machine_advance_line(machine,
			     machine->header->line_base + packed % machine->header->line_range);
	return machine_emit_row(machine);
}

static int machine_extended_opcode(struct line_machine *machine)
{
	uint64_t size = dwarf_read__uleb(&machine->cursor);
	const uint8_t *bytes = dwarf_read__skip(&machine->cursor, size);
	struct cursor cursor;
	uint64_t end;
	int err;

	if (!bytes || !size)
		return 0;
	cursor = (struct cursor){.at = bytes, .end = bytes + size};
	switch (dwarf_read__uint8_t(&cursor)) {
	case DW_LNE_end_sequence:
		end = machine->row.address;
		err = machine_end_sequence(machine, end > machine->last ? end : machine->last);
		machine_reset(machine);
		return err;
	case DW_LNE_set_address:
		machine->row.address =
			size == 9 ? dwarf_read__uint64_t(&cursor) : dwarf_read__uint32_t(&cursor);
		return 0;
	default:
		return 0;
	}
}

static int machine_standard_opcode(struct line_machine *machine, uint8_t opcode)
{
	struct cursor *cursor = &machine->cursor;

	switch (opcode) {
	case DW_LNS_copy:
		return machine_emit_row(machine);
	case DW_LNS_advance_pc:
		machine_advance(machine, dwarf_read__uleb(cursor));
		return 0;
	case DW_LNS_advance_line:
		machine_advance_line(machine, dwarf_read__sleb(cursor));
		return 0;
	case DW_LNS_set_file:
		machine->row.file = (uint32_t)dwarf_read__uleb(cursor);
		return 0;
	case DW_LNS_negate_stmt:
		machine->row.is_statement = !machine->row.is_statement;
		return 0;
	case DW_LNS_const_add_pc:
		machine_advance(machine, (uint8_t)(255 - machine->header->opcode_base) /
						 machine->header->line_range);
		return 0;
	case DW_LNS_fixed_advance_pc:
		machine->row.address += dwarf_read__uint16_t(cursor);
		return 0;
	default:
		for (uint8_t i = 0; i < machine->header->opcode_arguments[opcode - 1]; i++)
			dwarf_read__uleb(cursor);
		return 0;
	}
}

int line_header__rows(const struct line_header *header, const struct line_limits *limits,
		      int (*take)(void *context, const struct line_row *row), void *context)
{
	struct line_machine machine = {.header = header,
				       .limits = limits,
				       .take = take,
				       .context = context,
				       .cursor = header->program};
	int err = 0;

	machine_reset(&machine);
	while (!err && !machine.exhausted && cursor__left(&machine.cursor)) {
		uint8_t opcode = dwarf_read__uint8_t(&machine.cursor);

		if (opcode >= header->opcode_base)
			err = machine_special_opcode(&machine, opcode);
		else if (!opcode)
			err = machine_extended_opcode(&machine);
		else
			err = machine_standard_opcode(&machine, opcode);
	}
	/* The end of a last row that is not terminated is unknown. */
	return err ? err : machine_end_sequence(&machine, machine.last);
}

struct line_sequence {
	size_t first; /* row */
	size_t n;     /* number of rows, with the end_sequence row */
};

/* The sequences of a table that is being read. */
struct line_sequences {
	ARRAY(struct line_row) rows;
	ARRAY(struct line_sequence) list;
	struct ranges ranges; /* value: index in list */
};

static int take_row(void *context, const struct line_row *row)
{
	struct line_sequences *sequences = context;
	struct line_sequence sequence = {};
	int err = array__push(&sequences->rows, *row);

	if (err || !row->ends)
		return err;
	if (sequences->list.n)
		sequence = sequences->list.data[sequences->list.n - 1];
	sequence.first += sequence.n;
	sequence.n = sequences->rows.n - sequence.first;
	err = ranges__add(&sequences->ranges, sequences->rows.data[sequence.first].address,
			  row->address, (uint32_t)sequences->list.n);
	return err ? err : array__push(&sequences->list, sequence);
}

static int add_span(struct line_table *table, const struct line_span *span)
{
	if (table->spans.n) {
		struct line_span *last = &table->spans.data[table->spans.n - 1];

		if (last->end == span->start && last->file == span->file &&
		    last->line == span->line) {
			last->end = span->end;
			return 0;
		}
	}
	return array__push(&table->spans, *span);
}

/* The last of @n rows with an address at or below @address. */
static const struct line_row *find_row(const struct line_row *rows, size_t n, uint64_t address)
{
	size_t low = 0;

	while (n - low > 1) {
		size_t middle = low + (n - low) / 2;

		if (rows[middle].address <= address)
			low = middle;
		else
			n = middle;
	}
	return &rows[low];
}

/* Adds the part of a sequence within @range. Of rows with the same address, the last counts. */
static int add_sequence(struct line_table *table, const struct line_sequences *sequences,
			const struct range *range)
{
	const struct line_sequence *sequence = &sequences->list.data[range->value];
	const struct line_row *row =
		find_row(&sequences->rows.data[sequence->first], sequence->n, range->start);

	for (; !row->ends && row->address < range->end; row++) {
		struct line_span span = {.start = row->address, .end = row[1].address};

		if (span.start == span.end)
			continue;
		if (span.start < range->start)
			span.start = range->start;
		if (span.end > range->end)
			span.end = range->end;
		span.file = line_table__path(table, row->file);
		span.line = row->line;
		if (add_span(table, &span))
			return -ENOMEM;
	}
	return 0;
}

static int read_rows(struct line_table *table)
{
	struct line_sequences sequences = {};
	struct ranges flat = {};
	int err;

	err = line_header__rows(&table->header, &table->limits, take_row, &sequences);
	ranges__seal(&sequences.ranges);
	if (!err)
		err = ranges__flatten(&sequences.ranges, NULL, NULL, &flat);
	for (size_t i = 0; i < flat.n && !err; i++)
		err = add_sequence(table, &sequences, &flat.data[i]);
	array__free(&sequences.rows);
	array__free(&sequences.list);
	ranges__free(&sequences.ranges);
	ranges__free(&flat);
	return err;
}

int line_table__open(struct line_table *table, const struct line_sections *sections,
		     uint64_t offset, const char *directory, const struct line_limits *limits,
		     struct strings *strings)
{
	int err = line_header__read(sections, offset, &table->header);

	if (err)
		return err;
	if (array__reserve(&table->paths, table->header.files.n))
		return -ENOMEM;
	table->limits = *limits;
	table->strings = strings;
	table->directory = directory;
	table->paths.n = table->header.files.n;
	if (table->paths.n)
		memset(table->paths.data, 0, table->paths.n * sizeof(*table->paths.data));
	return 0;
}

int line_table__read(struct line_table *table, const struct line_sections *sections,
		     uint64_t offset, const char *directory, const struct line_limits *limits,
		     struct strings *strings)
{
	int err = line_table__open(table, sections, offset, directory, limits, strings);

	if (!err)
		err = read_rows(table);
	return err == -EBADMSG ? 0 : err;
}

const char *line_table__path(struct line_table *table, uint64_t file)
{
	const struct line_file *named;
	char path[2 * PATH_MAX];
	size_t size;

	if (file >= table->paths.n)
		return NULL;
	if (table->paths.data[file])
		return table->paths.data[file];
	named = &table->header.files.data[file];
	if (!line_file__path(named, table->directory, path, sizeof(path)))
		return NULL;
	size = strlen(path) + 1;
	if (size > *table->limits.path_bytes_left)
		return NULL;
	*table->limits.path_bytes_left -= size;
	table->paths.data[file] = strings__intern(table->strings, path);
	return table->paths.data[file];
}

size_t line_table__first_ending_after(const struct line_table *table, uint64_t address)
{
	size_t low = 0;
	size_t high = table->spans.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->spans.data[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct line_span *line_table__find(const struct line_table *table, uint64_t address)
{
	size_t at = line_table__first_ending_after(table, address);

	if (at == table->spans.n || table->spans.data[at].start > address)
		return NULL;
	return &table->spans.data[at];
}

void line_table__free(struct line_table *table)
{
	line_header__free(&table->header);
	array__free(&table->paths);
	array__free(&table->spans);
}
