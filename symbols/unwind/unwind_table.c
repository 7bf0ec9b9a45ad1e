// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "symbols/unwind/cfi.h"
#include "symbols/unwind/frame_sections.h"
#include "symbols/unwind/unwind_table.h"

/* System call, test, two jumps and a return. */
#define CLONE_GAP 16
/* Of a program's entry, at most: the dynamic loader's has 61 bytes (glibc 2.36). */
#define ENTRY_SIZE 128

static uint64_t segment__start(const struct unwind_segment *segment)
{
	return segment->offset + (uint64_t)segment->bias;
}

/* The executable segment of @address, or NULL; @hint is tried first. */
static const struct unwind_segment *source__segment(const struct unwind_source *source,
						    const struct unwind_segment *hint,
						    uint64_t address)
{
	if (hint && address - segment__start(hint) < hint->size)
		return hint;
	for (size_t i = 0; i < source->n_segments; i++)
		if (address - segment__start(&source->segments[i]) < source->segments[i].size)
			return &source->segments[i];
	return NULL;
}

/* Drops what lies elsewhere: what is left of functions that the linker dropped. */
static void entries__keep_executable(struct cfi_entries *entries,
				     const struct unwind_source *source)
{
	const struct unwind_segment *segment = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < entries->fdes.n; i++) {
		struct cfi_fde fde = entries->fdes.data[i];
		uint64_t end;

		segment = source__segment(source, segment, fde.begin);
		if (!segment)
			continue;
		end = segment__start(segment) + segment->size;
		if (fde.end > end)
			fde.end = (uint32_t)end;
		entries->fdes.data[kept++] = fde;
	}
	entries->fdes.n = kept;
}

/* By address; of equal ones the first in the section stays first. */
static int fde__compare(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->program < y->program ? -1 : x->program > y->program;
}

static void entries__sort(struct cfi_entries *entries)
{
	for (size_t i = 1; i < entries->fdes.n; i++) {
		if (entries->fdes.data[i].begin < entries->fdes.data[i - 1].begin) {
			qsort(entries->fdes.data, entries->fdes.n, sizeof(*entries->fdes.data),
			      fde__compare);
			return;
		}
	}
}

/*
 * In clone() and clone3() the C library says nothing of the few instructions from
 * the system call on, which two threads return from: the child, on its way into
 * an outermost frame that is described again, and the parent, for which all is
 * as it was. Takes such a gap at @at out, so that the row before goes on.
 */
static void rows__join_clone(struct cfi_rows *rows, size_t at)
{
	struct unwind_row *gap = &rows->rows.data[at];

	if (rows->rows.n < at + 2 || UNWIND_CFA(gap) != UNWIND_CFA_NONE ||
	    UNWIND_CFA(&gap[1]) != UNWIND_CFA_END || UNWIND_CFA(&gap[-1]) != UNWIND_CFA_RSP)
		return;
	memmove(gap, gap + 1, (rows->rows.n - at - 1) * sizeof(*gap));
	rows->rows.n--;
}

static int rows__insert(struct cfi_rows *rows, size_t at, struct unwind_row row)
{
	if (array__push(&rows->rows, row))
		return -ENOMEM;
	memmove(&rows->rows.data[at + 1], &rows->rows.data[at],
		(rows->rows.n - 1 - at) * sizeof(row));
	rows->rows.data[at] = row;
	return 0;
}

/* Takes out the row at @at when it says the same as the one before it. */
static void rows__join(struct cfi_rows *rows, size_t at)
{
	const struct unwind_row *row = &rows->rows.data[at];

	if (!at || at >= rows->rows.n || row->cfa != row[-1].cfa || row->rbp != row[-1].rbp ||
	    row->rule != row[-1].rule)
		return;
	memmove(&rows->rows.data[at], &rows->rows.data[at + 1],
		(rows->rows.n - at - 1) * sizeof(*row));
	rows->rows.n--;
}

/*
 * Puts the @n rows of @code, which ends at @end, where nothing is described. Where
 * something is, that counts.
 */
static int rows__fill_gap(struct cfi_rows *rows, const struct unwind_row *code, size_t n,
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
		err = rows__insert(rows, at, gap);
	for (size_t i = n; i > 1 && !err; i--)
		err = rows__insert(rows, at, code[i - 1]);
	if (at && rows->rows.data[at - 1].pc == code->pc)
		rows->rows.data[--at] = *code;
	else if (!err)
		err = rows__insert(rows, at, *code);
	if (!err) { /* it may go on, or have come, from a neighbour */
		rows__join(rows, at + n);
		rows__join(rows, at);
	}
	return err;
}

/*
 * A program begins in assembly that not everybody describes (the dynamic loader's
 * is in a gap): there is no caller. What is said of @entry all the same, counts.
 */
static int rows__end_at_entry(struct cfi_rows *rows, uint64_t entry)
{
	struct unwind_row end = {.pc = (uint32_t)entry, .rule = UNWIND_CFA_END};

	if (!entry || entry > UINT32_MAX - ENTRY_SIZE)
		return 0;
	for (size_t i = 0; i < rows->rows.n; i++)
		if (rows->rows.data[i].pc > entry) /* described from its second part on */
			return UNWIND_CFA(&rows->rows.data[i]) == UNWIND_CFA_END
				       ? 0
				       : rows__fill_gap(rows, &end, 1,
							(uint32_t)entry + ENTRY_SIZE);
	return 0;
}

/*
 * _init() and _fini() take 8 bytes of stack after an endbr64 that may be there, and
 * give them back before they return.
 */
static int rows__add_crt(struct cfi_rows *rows, const struct unwind_crt_function *function)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, take[] = {0x48, 0x83, 0xec, 0x08},
			     give[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
	size_t begin = function->size >= 4 && !memcmp(function->code, endbr, sizeof(endbr)) ? 4 : 0;
	uint32_t pc = (uint32_t)function->address, end = pc + (uint32_t)function->size;

	if (function->address > UINT32_MAX - sizeof(function->code) ||
	    function->size < begin + sizeof(take) + sizeof(give) ||
	    memcmp(function->code + begin, take, sizeof(take)) ||
	    memcmp(function->code + function->size - sizeof(give), give, sizeof(give)))
		return 0;
	return rows__fill_gap(rows,
			      (const struct unwind_row[]){
				      {.pc = pc, .cfa = 1, .rule = UNWIND_CFA_RSP},
				      {.pc = pc + (uint32_t)(begin + sizeof(take)),
				       .cfa = 2,
				       .rule = UNWIND_CFA_RSP},
				      {.pc = end - 1, .cfa = 1, .rule = UNWIND_CFA_RSP},
			      },
			      3, end);
}

/*
 * A stub jumps on, with nothing on the stack but what it was called with. When .plt
 * begins with the way to the loader, its stubs push what is to be bound first: an
 * instruction that ends 11 bytes behind their start, 9 when there is an endbr64.
 */
static int rows__add_plt(struct cfi_rows *rows, const struct unwind_plt *plt)
{
	static const uint8_t push[] = {0xff, 0x35}, endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint32_t pc = (uint32_t)plt->address, end = pc + (uint32_t)plt->size;
	bool lazy = plt->size > 16 && !(pc & 15) && !memcmp(plt->code, push, sizeof(push));
	const struct unwind_row stubs[] = {{.pc = pc, .cfa = 1, .rule = UNWIND_CFA_RSP}};
	const struct unwind_row lazy_stubs[] = {
		{.pc = pc, .cfa = 2, .rule = UNWIND_CFA_RSP},
		{.pc = pc + 6, .cfa = 3, .rule = UNWIND_CFA_RSP},
		{.pc = pc + 16,
		 .cfa = memcmp(plt->code + 16, endbr, sizeof(endbr)) ? 11 : 9,
		 .rule = UNWIND_CFA_PLT},
	};

	if (!plt->size || plt->address > UINT32_MAX || plt->size > UINT32_MAX - plt->address)
		return 0;
	return lazy ? rows__fill_gap(rows, lazy_stubs, ARRAY_SIZE(lazy_stubs), end)
		    : rows__fill_gap(rows, stubs, ARRAY_SIZE(stubs), end);
}

/*
 * Rows of all FDEs. Where they overlap, the one that starts last counts, as it
 * does for an unwinder that searches .eh_frame_hdr; of several that start at
 * one address, the first that is well-formed.
 */
static int entries__run(const struct cfi_section *section, const struct cfi_entries *entries,
			struct cfi_rows *rows)
{
	const struct cfi_fde *fdes = entries->fdes.data;
	uint32_t covered = 0; /* rows reach up to here */
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
		if (mark && fdes[i].begin - covered <= CLONE_GAP)
			rows__join_clone(rows, mark);
		covered = end;
	}
	return covered ? cfi_rows__push(rows, covered, (struct unwind_row){}) : -ENOENT;
}

static int table__fill(struct unwind_table *table, struct unwind_source *source)
{
	struct cfi_entries entries;
	struct cfi_rows rows = {};
	struct unwind_row *shrunk;
	int err;

	err = cfi__read(&source->section, &entries);
	if (!err) {
		entries__keep_executable(&entries, source);
		entries__sort(&entries);
		err = entries__run(&source->section, &entries, &rows);
	}
	if (!err)
		err = rows__end_at_entry(&rows, source->entry);
	for (int i = 0; i < UNWIND_CRT_FUNCTIONS && !err; i++)
		err = rows__add_crt(&rows, &source->crt[i]);
	for (int i = 0; i < UNWIND_PLT_SECTIONS && !err; i++)
		err = rows__add_plt(&rows, &source->plt[i]);
	cfi__free(&entries);
	if (err) {
		array__free(&rows.rows);
		return err;
	}
	shrunk = realloc(rows.rows.data, rows.rows.n * sizeof(*shrunk));
	table->rows = shrunk ? shrunk : rows.rows.data;
	table->n_rows = rows.rows.n;
	table->segments = TAKE_PTR(source->segments);
	table->n_segments = source->n_segments;
	return 0;
}

static int table__build(int fd, const void *image, size_t size, struct unwind_table **out)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	_cleanup_(unwind_source__release) struct unwind_source source = {};
	int err;

	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	err = unwind_source__read(&source, fd, image, size);
	if (!err)
		err = table__fill(table, &source);
	if (err)
		return err;
	*out = TAKE_PTR(table);
	return 0;
}

int unwind_table__build(int fd, struct unwind_table **out)
{
	return fd < 0 ? -EINVAL : table__build(fd, NULL, 0, out);
}

int unwind_table__build_memory(const void *image, size_t size, struct unwind_table **out)
{
	return table__build(-1, image, size, out);
}

const struct unwind_row *unwind_rows__find(const struct unwind_row *rows, size_t n, uint64_t pc)
{
	size_t low = 0, high = n;

	/* Rows below low start at or before pc, rows from high on behind it. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows[middle].pc <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &rows[low - 1] : NULL;
}

const struct unwind_row *unwind_table__find(const struct unwind_table *table, uint64_t pc)
{
	return unwind_rows__find(table->rows, table->n_rows, pc);
}

void unwind_table__free(struct unwind_table *table)
{
	if (!table)
		return;
	free(table->rows);
	free(table->segments);
	free(table);
}
