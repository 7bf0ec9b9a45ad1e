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
#include "tests/unit/go_tables.h"

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

static void assert_row(const struct cfi_rows *rows, uint32_t pc, int rule, int cfa, int fp)
{
	struct unwind_row row = row_at(rows, pc);

	if (row.rule != rule || row.cfa != cfa || row.fp != fp)
		fail_msg("%x: rule %x, cfa %d, fp %d, not %x, %d, %d", pc, row.rule, row.cfa,
			 row.fp, rule, cfa, fp);
}

static void assert_functions(const struct go_table *table)
{
	uint32_t address = GO_TEXT;

	assert_int_equal(table->functions.n, ARRAY_SIZE(go_functions));
	for (size_t i = 0; i < ARRAY_SIZE(go_functions); i++) {
		assert_string_equal(table->functions.data[i].name, go_functions[i].name);
		assert_int_equal(table->functions.data[i].start, address);
		assert_int_equal(table->functions.data[i].end, address + go_functions[i].size);
		address += go_functions[i].size;
	}
}

static void assert_rows(const struct go_table *table)
{
	const int framed = UNWIND_RULE(UNWIND_CFA_SP, UNWIND_FP_CFA);
	const int by_fp = UNWIND_RULE(UNWIND_CFA_FP_SWITCH, UNWIND_FP_CFA);
	struct cfi_rows rows = {};
	uint32_t at;

	assert_int_equal(go_table__rows(table, &rows), 0);
	for (size_t i = 1; i < rows.rows.n; i++)
		assert_true(rows.rows.data[i].pc > rows.rows.data[i - 1].pc);
	at = start_of(table, "main.main");
	assert_row(&rows, at + 3, UNWIND_CFA_SP, 1, 0);
	assert_row(&rows, at + 4, framed, 4, -2);
	assert_row(&rows, at + 0x3d, framed, 4, -2);
	assert_row(&rows, at + 0x3e, UNWIND_CFA_SP, 1, 0);
	assert_row(&rows, start_of(table, "main.leaf") + 8, UNWIND_CFA_SP, 1, 0);
	assert_row(&rows, start_of(table, "runtime.mcall") + 8, UNWIND_CFA_END, 0, 0);
	assert_row(&rows, start_of(table, "runtime.systemstack") + 8, by_fp, 2, -2);
	at = start_of(table, "time.now");
	assert_row(&rows, at + 2, UNWIND_CFA_SP, 1, 0);
	assert_row(&rows, at + 8, by_fp, 2, -2);
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
			struct buffer bytes = make_go_table((enum go_version)version, relocated);
			struct go_table table;

			assert_int_equal(go_table__read(bytes.data, bytes.n, GO_TEXT, &table), 0);
			assert_functions(&table);
			assert_rows(&table);
			go_table__free(&table);
			buffer__free(&bytes);
		}
	}
}

static void other_bytes_are_refused(void **state)
{
	struct buffer bytes = make_go_table(GO_1_20, true);
	struct go_table table;

	assert_int_equal(go_table__read(bytes.data, 6, GO_TEXT, &table), -ENOENT);
	bytes.data[7] = 4; /* of another machine */
	assert_int_equal(go_table__read(bytes.data, bytes.n, GO_TEXT, &table), -ENOENT);
	bytes.data[7] = 8;
	bytes.data[0] = 0xf7; /* of a version to come */
	assert_int_equal(go_table__read(bytes.data, bytes.n, GO_TEXT, &table), -ENOENT);
	buffer__free(&bytes);
}

/* Cut short or changed anywhere: no crash, and rows that are in order. */
static void damage_does_no_harm(void **state)
{
	struct dice dice = {};

	for (int i = 0; i < 20000; i++) {
		struct buffer bytes = make_go_table((enum go_version)(i % VERSIONS), i & 4);
		size_t size = i & 8 ? dice__roll(&dice) % bytes.n : bytes.n;
		uint8_t *copy = malloc(size + 1);
		struct cfi_rows rows = {};
		struct go_table table;

		for (int k = 0; k < 1 + (i >> 4 & 3); k++)
			bytes.data[dice__roll(&dice) % bytes.n] = (uint8_t)dice__value(&dice, 8);
		assert_non_null(copy);
		memcpy(copy, bytes.data, size);
		copy[size] = 0;
		if (!go_table__read(copy, size, GO_TEXT, &table))
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
