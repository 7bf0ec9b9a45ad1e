// SPDX-License-Identifier: BSD-2-Clause
/* Tables of Go programs, of every version there is: functions, names, rows; and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "symbols/unwind/go_table.h"
#include "tests/unit/dice.h"

#define TEXT 0x401000

/* A function: its stack is @depth deep from instruction 4 on, but for the last 2 bytes. */
static const struct {
	const char *name;
	uint32_t size;
	uint32_t depth;
} functions[] = {
	{"main.main", 0x40, 24},	   {"main.leaf", 0x10, 0}, {"runtime.mcall", 0x20, 8},
	{"runtime.systemstack", 0x20, 0},  {"time.now", 0x30, 32}, {"runtime.sigreturn", 0x10, 0},
	{"main.(*T).huge", 0x40, 1 << 20},
};

enum version { GO_1_2, GO_1_16, GO_1_18, GO_1_20, VERSIONS };

static void put32(struct buffer *b, uint64_t value)
{
	uint32_t low = (uint32_t)value;

	buffer__put(b, &low, sizeof(low));
}

static void put64(struct buffer *b, uint64_t value)
{
	buffer__put(b, &value, sizeof(value));
}

static void put_at(struct buffer *b, size_t at, uint64_t value, size_t size)
{
	memcpy(b->data + at, &value, size);
}

/* Go's own varints are LEB128, and its zigzag is the recording format's, too. */
static void put_change(struct buffer *b, int64_t change, uint64_t length)
{
	buffer__varint(b, ((uint64_t)change << 1) ^ (uint64_t)(change >> 63));
	buffer__varint(b, length);
}

static uint32_t put_depths(struct buffer *b, size_t base, uint32_t size, uint32_t depth)
{
	uint32_t at = (uint32_t)(b->n - base);

	if (depth) {
		put_change(b, 1, 4); /* from -1 to 0 */
		put_change(b, (int64_t)depth, size - 6);
		put_change(b, -(int64_t)depth, 2);
	} else {
		put_change(b, 1, size);
	}
	buffer__varint(b, 0);
	return at;
}

/* The table of @version; with @relocated, as if the loader had put the text's address in. */
static struct buffer make_table(enum version version, bool relocated)
{
	static const uint32_t magics[VERSIONS] = {0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1};
	bool offsets = version >= GO_1_18;
	size_t words = version == GO_1_2 ? 1 : version == GO_1_16 ? 7 : 8;
	size_t names[ARRAY_SIZE(functions)], depths[ARRAY_SIZE(functions)], entry = offsets ? 4 : 8;
	size_t name_base = 0, depth_base = 0, base = 0, index;
	struct buffer b = {};
	uint64_t address = offsets ? 0 : TEXT;

	put32(&b, magics[version]);
	buffer__put(&b, "\0\0\1\10", 4);
	for (size_t i = 0; i < words; i++)
		put64(&b, i ? 0 : ARRAY_SIZE(functions));
	if (offsets)
		put_at(&b, 8 + 2 * 8, relocated ? TEXT : 0, 8);
	index = b.n;
	for (size_t i = 0; version == GO_1_2 && i < ARRAY_SIZE(functions) * 2 + 1; i++)
		put64(&b, 0);
	if (version != GO_1_2)
		name_base = b.n;
	buffer__put(&b, "", 1); /* no name is at 0 */
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		names[i] = b.n - name_base;
		buffer__put(&b, functions[i].name, strlen(functions[i].name) + 1);
	}
	if (version != GO_1_2)
		depth_base = b.n;
	buffer__put(&b, "", 1);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		depths[i] = put_depths(&b, depth_base, functions[i].size, functions[i].depth);
	if (version != GO_1_2) {
		base = index = b.n;
		for (size_t i = 0; i < ARRAY_SIZE(functions) * 2 + 1; i++)
			buffer__put(&b, &(uint64_t){0}, entry);
		put_at(&b, 8 + (offsets ? 3 : 2) * 8, name_base, 8);
		put_at(&b, 8 + (offsets ? 6 : 5) * 8, depth_base, 8);
		put_at(&b, 8 + (offsets ? 7 : 6) * 8, base, 8);
	}
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		put_at(&b, index + 2 * i * entry, address, entry);
		put_at(&b, index + (2 * i + 1) * entry, b.n - base, entry);
		buffer__put(&b, &address, entry);
		put32(&b, names[i]);
		put64(&b, 0); /* arguments, and where deferred calls return to */
		put32(&b, depths[i]);
		address += functions[i].size;
	}
	put_at(&b, index + 2 * ARRAY_SIZE(functions) * entry, address, entry);
	assert_false(b.failed);
	return b;
}

static struct unwind_row row_at(const struct cfi_rows *rows, uint32_t pc)
{
	struct unwind_row found = {};

	for (size_t i = 0; i < rows->rows.n && rows->rows.data[i].pc <= pc; i++)
		found = rows->rows.data[i];
	return found;
}

static uint32_t start_of(const struct go_table *table, const char *name)
{
	for (size_t i = 0; i < table->functions.n; i++)
		if (!strcmp(table->functions.data[i].name, name))
			return table->functions.data[i].start;
	fail_msg("no %s", name);
	return 0;
}

static void assert_row(const struct cfi_rows *rows, uint32_t pc, int rule, int cfa, int rbp)
{
	struct unwind_row row = row_at(rows, pc);

	if (row.rule != rule || row.cfa != cfa || row.rbp != rbp)
		fail_msg("%x: rule %x, cfa %d, rbp %d, not %x, %d, %d", pc, row.rule, row.cfa,
			 row.rbp, rule, cfa, rbp);
}

static void assert_functions(const struct go_table *table)
{
	uint32_t address = TEXT;

	assert_int_equal(table->functions.n, ARRAY_SIZE(functions));
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		assert_string_equal(table->functions.data[i].name, functions[i].name);
		assert_int_equal(table->functions.data[i].start, address);
		assert_int_equal(table->functions.data[i].end, address + functions[i].size);
		address += functions[i].size;
	}
}

static void assert_rows(const struct go_table *table)
{
	const int framed = UNWIND_RULE(UNWIND_CFA_RSP, UNWIND_RBP_CFA);
	const int by_rbp = UNWIND_RULE(UNWIND_CFA_RBP_SWITCH, UNWIND_RBP_CFA);
	struct cfi_rows rows = {};
	uint32_t at;

	assert_int_equal(go_table__rows(table, &rows), 0);
	for (size_t i = 1; i < rows.rows.n; i++)
		assert_true(rows.rows.data[i].pc > rows.rows.data[i - 1].pc);
	at = start_of(table, "main.main");
	assert_row(&rows, at + 3, UNWIND_CFA_RSP, 1, 0);
	assert_row(&rows, at + 4, framed, 4, -2);
	assert_row(&rows, at + 0x3d, framed, 4, -2);
	assert_row(&rows, at + 0x3e, UNWIND_CFA_RSP, 1, 0);
	assert_row(&rows, start_of(table, "main.leaf") + 8, UNWIND_CFA_RSP, 1, 0);
	assert_row(&rows, start_of(table, "runtime.mcall") + 8, UNWIND_CFA_END, 0, 0);
	assert_row(&rows, start_of(table, "runtime.systemstack") + 8, by_rbp, 2, -2);
	at = start_of(table, "time.now");
	assert_row(&rows, at + 2, UNWIND_CFA_RSP, 1, 0);
	assert_row(&rows, at + 8, by_rbp, 2, -2);
	/* A signal handler returns to its first byte. */
	at = start_of(table, "runtime.sigreturn");
	assert_row(&rows, at - 1, UNWIND_CFA_SIGNAL, 0, 0);
	at = start_of(table, "main.(*T).huge");
	assert_row(&rows, at + 8, UNWIND_CFA_UNSUPPORTED, 0, 0);
	assert_row(&rows, at + 0x40, UNWIND_CFA_NONE, 0, 0);
	array__free(&rows.rows);
}

static void every_version_is_read(void **state)
{
	for (int version = 0; version < VERSIONS; version++) {
		for (int relocated = 0; relocated < 2; relocated++) {
			struct buffer bytes = make_table((enum version)version, relocated);
			struct go_table table;

			assert_int_equal(go_table__read(bytes.data, bytes.n, TEXT, &table), 0);
			assert_functions(&table);
			assert_rows(&table);
			go_table__free(&table);
			buffer__free(&bytes);
		}
	}
}

static void other_bytes_are_refused(void **state)
{
	struct buffer bytes = make_table(GO_1_20, true);
	struct go_table table;

	assert_int_equal(go_table__read(bytes.data, 6, TEXT, &table), -ENOENT);
	bytes.data[7] = 4; /* of another machine */
	assert_int_equal(go_table__read(bytes.data, bytes.n, TEXT, &table), -ENOENT);
	bytes.data[7] = 8;
	bytes.data[0] = 0xf7; /* of a version to come */
	assert_int_equal(go_table__read(bytes.data, bytes.n, TEXT, &table), -ENOENT);
	buffer__free(&bytes);
}

/* Cut short or changed anywhere: no crash, and rows that are in order. */
static void damage_does_no_harm(void **state)
{
	struct dice dice = {};

	for (int i = 0; i < 20000; i++) {
		struct buffer bytes = make_table((enum version)(i % VERSIONS), i & 4);
		size_t size = i & 8 ? dice__roll(&dice) % bytes.n : bytes.n;
		uint8_t *copy = malloc(size + 1);
		struct cfi_rows rows = {};
		struct go_table table;

		for (int k = 0; k < 1 + (i >> 4 & 3); k++)
			bytes.data[dice__roll(&dice) % bytes.n] = (uint8_t)dice__value(&dice, 8);
		assert_non_null(copy);
		memcpy(copy, bytes.data, size);
		copy[size] = 0;
		if (!go_table__read(copy, size, TEXT, &table))
			assert_int_equal(go_table__rows(&table, &rows), 0);
		for (size_t k = 1; k < rows.rows.n; k++)
			assert_true(rows.rows.data[k].pc > rows.rows.data[k - 1].pc);
		for (size_t k = 0; k < table.functions.n; k++)
			assert_true(strlen(table.functions.data[k].name) <= size);
		go_table__free(&table);
		array__free(&rows.rows);
		free(copy);
		buffer__free(&bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_version_is_read),
		cmocka_unit_test(other_bytes_are_refused),
		cmocka_unit_test(damage_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
