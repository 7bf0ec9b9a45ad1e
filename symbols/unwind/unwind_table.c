// SPDX-License-Identifier: BSD-2-Clause
/* Rows from .eh_frame, and for code that has none: behind clone(), entries, PLTs, Go. */
#include <errno.h>
#include <string.h>

#include "arch/processor.h"
#include "symbols/unwind/cfi.h"
#include "symbols/unwind/unwind_input.h"
#include "symbols/unwind/go_table.h"
#include "symbols/unwind/unwind_table.h"

static uint64_t segment_start(const struct unwind_segment *segment)
{
	return segment->offset + (uint64_t)segment->bias;
}

/* The executable segment that contains @address, or NULL. Tries @hint first. */
static const struct unwind_segment *
find_segment(const struct unwind_input *input, const struct unwind_segment *hint, uint64_t address)
{
	if (hint && address - segment_start(hint) < hint->size)
		return hint;
	for (size_t i = 0; i < input->n_segments; i++)
		if (address - segment_start(&input->segments[i]) < input->segments[i].size)
			return &input->segments[i];
	return NULL;
}

/* Drops FDEs outside executable segments, of functions that the linker dropped. */
static void drop_unmapped_fdes(struct cfi_entries *entries, const struct unwind_input *input)
{
	const struct unwind_segment *segment = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < entries->fdes.n; i++) {
		struct cfi_fde fde = entries->fdes.data[i];
		uint64_t end;

		segment = find_segment(input, segment, fde.begin);
		if (!segment)
			continue;
		end = segment_start(segment) + segment->size;
		if (fde.end > end)
			fde.end = (uint32_t)end;
		entries->fdes.data[kept++] = fde;
	}
	entries->fdes.n = kept;
}

/* By address, then by position in the section. */
static int compare_fdes(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->program < y->program ? -1 : x->program > y->program;
}

static void sort_fdes(struct cfi_entries *entries)
{
	for (size_t i = 1; i < entries->fdes.n; i++) {
		if (entries->fdes.data[i].begin < entries->fdes.data[i - 1].begin) {
			qsort(entries->fdes.data, entries->fdes.n, sizeof(*entries->fdes.data),
			      compare_fdes);
			return;
		}
	}
}

/*
 * In clone() and clone3(), glibc has no CFI for the few instructions after the system call, where
 * both threads return: the child, before an outermost frame that has CFI again, and the parent,
 * for which the rules before still apply. Removes such a gap at @at, so that the previous row
 * continues.
 */
static void rows_join_clone(struct cfi_rows *rows, size_t at)
{
	struct unwind_row *gap = &rows->rows.data[at];

	if (rows->rows.n < at + 2 || UNWIND_CFA(gap) != UNWIND_CFA_NONE ||
	    UNWIND_CFA(&gap[1]) != UNWIND_CFA_END || UNWIND_CFA(&gap[-1]) != UNWIND_CFA_SP)
		return;
	memmove(gap, gap + 1, (rows->rows.n - at - 1) * sizeof(*gap));
	rows->rows.n--;
}

static int rows_insert(struct cfi_rows *rows, size_t at, struct unwind_row row)
{
	if (array__push(&rows->rows, row))
		return -ENOMEM;
	memmove(&rows->rows.data[at + 1], &rows->rows.data[at],
		(rows->rows.n - 1 - at) * sizeof(row));
	rows->rows.data[at] = row;
	return 0;
}

/* Removes the row at @at if its rules are the same as in the row before. */
static void rows_join(struct cfi_rows *rows, size_t at)
{
	const struct unwind_row *row = &rows->rows.data[at];

	if (!at || at >= rows->rows.n || row->cfa != row[-1].cfa || row->fp != row[-1].fp ||
	    row->rule != row[-1].rule)
		return;
	memmove(&rows->rows.data[at], &rows->rows.data[at + 1],
		(rows->rows.n - at - 1) * sizeof(*row));
	rows->rows.n--;
}

/*
 * Inserts the @n rows of @code, which ends at address @end, if there are no rules at its start.
 * Existing rules take precedence.
 */
static int rows_fill_gap(struct cfi_rows *rows, const struct unwind_row *code, size_t n,
			 uint32_t end)
{
	struct unwind_row gap = {.pc = end};
	size_t at = 0;
	int err = 0;

	while (at < rows->rows.n && rows->rows.data[at].pc <= code->pc)
		at++;
	if (at && UNWIND_CFA(&rows->rows.data[at - 1]) != UNWIND_CFA_NONE)
		return 0;
	while (n && at < rows->rows.n && code[n - 1].pc >= rows->rows.data[at].pc)
		n--;
	if (!n)
		return 0;
	if (at == rows->rows.n || rows->rows.data[at].pc > end)
		err = rows_insert(rows, at, gap);
	for (size_t i = n; i > 1 && !err; i--)
		err = rows_insert(rows, at, code[i - 1]);
	if (at && rows->rows.data[at - 1].pc == code->pc)
		rows->rows.data[--at] = *code;
	else if (!err)
		err = rows_insert(rows, at, *code);
	if (!err) { /* neighbors may have the same rules */
		rows_join(rows, at + n);
		rows_join(rows, at);
	}
	return err;
}

/*
 * Adds a row that says that the code at the program's entry has no caller: it is assembly, often
 * without CFI, as in the dynamic loader. Existing rules take precedence.
 */
static int rows_end_at_entry(struct cfi_rows *rows, uint64_t entry)
{
	uint32_t size = processor__own()->unwind->entry_size;
	struct unwind_row end = {.pc = (uint32_t)entry, .rule = UNWIND_CFA_END};

	if (!entry || entry > UINT32_MAX - size)
		return 0;
	for (size_t i = 0; i < rows->rows.n; i++)
		if (rows->rows.data[i].pc > entry) /* END: has CFI except for its start */
			return UNWIND_CFA(&rows->rows.data[i]) == UNWIND_CFA_END
				       ? 0
				       : rows_fill_gap(rows, &end, 1, (uint32_t)entry + size);
	return 0;
}

static int rows_add_init_fini(struct cfi_rows *rows, const struct unwind_crt_function *function)
{
	uint32_t pc = (uint32_t)function->address;
	struct unwind_row code[UNWIND_CODE_ROWS];
	size_t n;

	if (function->address > UINT32_MAX - sizeof(function->code))
		return 0;
	n = processor__own()->unwind->start_file(function->code, function->size, pc, code);
	return n ? rows_fill_gap(rows, code, n, pc + (uint32_t)function->size) : 0;
}

static int rows_add_plt(struct cfi_rows *rows, const struct unwind_plt *plt)
{
	uint32_t pc = (uint32_t)plt->address;
	struct unwind_row code[UNWIND_CODE_ROWS];
	size_t n;

	if (!plt->size || plt->address > UINT32_MAX || plt->size > UINT32_MAX - plt->address)
		return 0;
	n = processor__own()->unwind->plt(plt->code, plt->size, pc, code);
	return n ? rows_fill_gap(rows, code, n, pc + (uint32_t)plt->size) : 0;
}

/*
 * Appends the rows of all FDEs. Where FDEs overlap, the one that starts last wins, as in unwinders
 * that search .eh_frame_hdr; of FDEs with the same start, the first that is well-formed.
 */
static int run_fdes(const struct cfi_section *section, const struct cfi_entries *entries,
		    struct cfi_rows *rows)
{
	const struct cfi_fde *fdes = entries->fdes.data;
	uint32_t covered = 0; /* end of the rows so far */
	size_t next = 0;      /* the next FDE with a higher address */

	for (size_t i = 0; i < entries->fdes.n; i++) {
		size_t mark = rows->rows.n;
		uint32_t end = fdes[i].end;
		int err = 0;

		if (fdes[i].begin < covered)
			continue;
		if (next <= i)
			next = i + 1;
		while (next < entries->fdes.n && fdes[next].begin == fdes[i].begin)
			next++;
		if (next < entries->fdes.n && fdes[next].begin < end)
			end = fdes[next].begin;

		if (fdes[i].begin > covered && covered)
			err = cfi_rows__push(rows, covered, (struct unwind_row){});
		if (!err)
			err = cfi__run(section, &entries->cies.data[fdes[i].cie], &fdes[i], end,
				       rows);
		if (err == -ENOMEM)
			return err;
		if (err) {
			rows->rows.n = mark;
			continue;
		}
		if (mark && fdes[i].begin - covered <= processor__own()->unwind->clone_gap)
			rows_join_clone(rows, mark);
		covered = end;
	}
	return covered ? cfi_rows__push(rows, covered, (struct unwind_row){}) : -ENOENT;
}

static int rows_from_cfi(struct cfi_rows *rows, const struct unwind_input *input)
{
	struct cfi_entries entries = {.max = rows->max};
	int err = cfi__read(&input->section, &entries);

	if (!err) {
		drop_unmapped_fdes(&entries, input);
		sort_fdes(&entries);
		err = run_fdes(&input->section, &entries, rows);
	}
	cfi__free(&entries);
	return err;
}

/* Replaces the rows in the address range of @code by @code, whose last row marks its end. */
static int rows_replace(struct cfi_rows *rows, const struct cfi_rows *code)
{
	uint32_t from = code->rows.data[0].pc, to = code->rows.data[code->rows.n - 1].pc;
	struct cfi_rows merged = {.max = rows->max};
	size_t at = 0;
	int err = 0;

	for (; at < rows->rows.n && rows->rows.data[at].pc < from && !err; at++)
		err = cfi_rows__push(&merged, rows->rows.data[at].pc, rows->rows.data[at]);
	for (size_t i = 0; i + 1 < code->rows.n && !err; i++)
		err = cfi_rows__push(&merged, code->rows.data[i].pc, code->rows.data[i]);
	while (at < rows->rows.n && rows->rows.data[at].pc <= to)
		at++;
	if (!err)
		err = cfi_rows__push(&merged, to,
				     at ? rows->rows.data[at - 1] : (struct unwind_row){});
	for (; at < rows->rows.n && !err; at++)
		err = cfi_rows__push(&merged, rows->rows.data[at].pc, rows->rows.data[at]);
	array__free(&rows->rows);
	*rows = merged;
	return err;
}

static int rows_add_crosscall(struct cfi_rows *rows, uint64_t address)
{
	const struct processor_unwind *unwind = processor__own()->unwind;
	struct unwind_row code[UNWIND_CODE_ROWS];
	size_t n;

	if (!address || address > UINT32_MAX - unwind->crosscall_size)
		return 0;
	n = unwind->crosscall_rows((uint32_t)address, code);
	return rows_fill_gap(rows, code, n, (uint32_t)(address + unwind->crosscall_size + 1));
}

/* .gopclntab takes precedence over CFI, which the Go toolchain writes for debuggers. */
static int rows_add_go(struct cfi_rows *rows, const struct unwind_input *input)
{
	uint64_t text = input->section.text;
	struct cfi_rows code = {.max = rows->max};
	struct go_table table;
	int err = go_table__read(input->go, input->go_size, text, &table);

	if (!err)
		err = go_table__rows(&table, &code);
	if (!err && code.rows.n > 1)
		err = rows_replace(rows, &code);
	go_table__free(&table);
	array__free(&code.rows);
	return err == -ENOENT ? 0 : err;
}

static int fill_table(struct unwind_table *table, struct unwind_input *input, size_t max_rows)
{
	struct cfi_rows rows = {.max = max_rows};
	struct unwind_row *shrunk;
	int err = input->section.data ? rows_from_cfi(&rows, input) : -ENOENT;

	if ((!err || err == -ENOENT) && input->go)
		err = rows_add_go(&rows, input);
	if (!err)
		err = rows_add_crosscall(&rows, input->crosscall);
	if (!err && !rows.rows.n)
		err = -ENOENT;
	if (!err)
		err = rows_end_at_entry(&rows, input->entry);
	for (int i = 0; i < UNWIND_CRT_FUNCTIONS && !err; i++)
		err = rows_add_init_fini(&rows, &input->crt[i]);
	for (int i = 0; i < UNWIND_PLT_SECTIONS && !err; i++)
		err = rows_add_plt(&rows, &input->plt[i]);
	if (err) {
		array__free(&rows.rows);
		return err;
	}
	shrunk = realloc(rows.rows.data, rows.rows.n * sizeof(*shrunk));
	table->rows = shrunk ? shrunk : rows.rows.data;
	table->n_rows = rows.rows.n;
	table->segments = TAKE_PTR(input->segments);
	table->n_segments = input->n_segments;
	return 0;
}

static int build_table(const struct elf_file *file, size_t max_rows, struct unwind_table **out)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	_cleanup_(unwind_input__release) struct unwind_input input = {};
	int err;

	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	err = unwind_input__read(&input, file);
	if (!err)
		err = fill_table(table, &input, max_rows);
	if (err)
		return err;
	*out = TAKE_PTR(table);
	return 0;
}

int unwind_table__build_within(int fd, size_t max_rows, struct unwind_table **out)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;
	int err = fd < 0 ? -EINVAL : elf_file__open_unmapped(fd, &file);

	return err ? (err == -ENOEXEC ? -ENOTSUP : err) : build_table(file, max_rows, out);
}

int unwind_table__build(int fd, struct unwind_table **out)
{
	return unwind_table__build_within(fd, 0, out);
}

int unwind_table__build_memory(const void *image, size_t size, struct unwind_table **out)
{
	_cleanup_elf_file_ struct elf_file *file = NULL;
	int err = elf_file__open_memory(image, size, &file);

	return err ? (err == -ENOEXEC ? -ENOTSUP : err) : build_table(file, 0, out);
}

void unwind_table__free(struct unwind_table *table)
{
	if (!table)
		return;
	free(table->rows);
	free(table->segments);
	free(table);
}
