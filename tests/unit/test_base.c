// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"

static void array_grows_and_keeps(void **state)
{
	ARRAY(int) numbers = {};

	for (int i = 0; i < 1000; i++)
		assert_int_equal(array__push(&numbers, i), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(numbers.data[i], i);
	assert_int_equal(array__grow((void **)&numbers.data, numbers.n, &numbers.capacity,
				     SIZE_MAX / 4, sizeof(int)),
			 -12);
	assert_int_equal(numbers.n, 1000);
	array__free(&numbers);
}

static void map64_holds_every_key(void **state)
{
	struct map64 map = {};

	assert_null(map64__get(&map, 0));
	for (uint64_t key = 0; key < 5000; key++)
		assert_int_equal(*map64__put(&map, key << 32, key), key);
	assert_int_equal(*map64__put(&map, 7ULL << 32, 99), 7);
	for (uint64_t key = 0; key < 5000; key++)
		assert_int_equal(*map64__get(&map, key << 32), key);
	assert_null(map64__get(&map, 1));
	assert_int_equal(map.n, 5000);
	map64__free(&map);
}

static int compare_numbers(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorted already, but for any one element, and not at all. */
static void array_is_sorted(void **state)
{
	ARRAY(int) numbers = {};

	array__sort(&numbers, compare_numbers);
	for (int wrong = -1; wrong < 8; wrong++) {
		numbers.n = 0;
		for (int i = 0; i < 8; i++)
			assert_int_equal(array__push(&numbers, i == wrong ? 7 - i : i / 2), 0);
		array__sort(&numbers, compare_numbers);
		for (size_t i = 1; i < numbers.n; i++)
			assert_true(numbers.data[i - 1] <= numbers.data[i]);
	}
	array__free(&numbers);
}

/* Against an array of what is there; few keys in a small map, so that chains are long. */
static void map64_forgets_what_is_removed(void **state)
{
	struct map64 map = {};
	uint64_t held[40] = {};
	size_t n = 0;

	map64__remove(&map, 1);
	srand(1);
	for (uint64_t round = 1; round < 20000; round++) {
		uint64_t key = (uint64_t)rand() % 40;

		if (held[key]) {
			map64__remove(&map, key);
			n--;
		} else {
			assert_int_equal(*map64__put(&map, key, round), round);
			n++;
		}
		held[key] = held[key] ? 0 : round;
		assert_int_equal(map.n, n);
		for (key = 0; key < 40; key++) {
			const uint64_t *value = map64__get(&map, key);

			assert_int_equal(value ? *value : 0, held[key]);
		}
	}
	map64__free(&map);
}

static void intern_gives_dense_ids(void **state)
{
	struct intern table = {};
	char text[32];
	bool fresh;

	for (int i = 0; i < 3000; i++) {
		int n = snprintf(text, sizeof(text), "name %d", i);

		assert_int_equal(intern__id(&table, text, n, &fresh), i);
		assert_true(fresh);
	}
	assert_int_equal(intern__id(&table, "name 17", 7, &fresh), 17);
	assert_false(fresh);
	assert_int_equal(intern__id(&table, "name 1", 6, &fresh), 1);
	assert_string_equal(intern__bytes(&table, 2999, NULL), "name 2999");
	intern__free(&table);
}

static int64_t unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static void varints_round_trip(void **state)
{
	static const uint64_t values[] = {0, 1, 127, 128, 1ULL << 32, INT64_MAX, UINT64_MAX};
	struct buffer buffer = {};
	struct cursor cursor;

	for (size_t i = 0; i < 7; i++) {
		buffer__varint(&buffer, values[i]);
		buffer__svarint(&buffer, (int64_t)values[i]);
		buffer__svarint(&buffer, -(int64_t)values[i]);
	}
	cursor = (struct cursor){buffer.data, buffer.data + buffer.n, false};
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(cursor__varint(&cursor), values[i]);
		assert_int_equal(unzigzag(cursor__varint(&cursor)), (int64_t)values[i]);
		assert_int_equal(unzigzag(cursor__varint(&cursor)), -(int64_t)values[i]);
	}
	assert_false(cursor.bad);
	assert_int_equal(cursor__varint(&cursor), 0);
	assert_true(cursor.bad);
	buffer__free(&buffer);
}

static void cursor_stops_at_its_end(void **state)
{
	static const uint8_t endless[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct cursor cursor = {endless, endless + 16, false};

	assert_int_equal(cursor__varint(&cursor), 0);
	assert_true(cursor.bad);
	cursor = (struct cursor){endless, endless + 16, false};
	assert_null(cursor__bytes(&cursor, 17));
	assert_true(cursor.bad);
}

static void errors_carry_message_and_hint(void **state)
{
	error__clear();
	assert_string_equal(error__message(-2), strerror(2));
	assert_int_equal(error__errno(-2, "cannot open '%s'", "x"), -2);
	error__hint("try %s", "y");
	assert_string_equal(error__message(-2), "cannot open 'x': No such file or directory");
	assert_string_equal(error__hint_text(-2), "try y");
	/* Another error than the one that was recorded has no words but its own. */
	assert_string_equal(error__message(-13), strerror(13));
	assert_string_equal(error__hint_text(-13), "");
	error__set(-1, "other");
	assert_string_equal(error__hint_text(-1), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(array_grows_and_keeps),
		cmocka_unit_test(array_is_sorted),
		cmocka_unit_test(map64_holds_every_key),
		cmocka_unit_test(map64_forgets_what_is_removed),
		cmocka_unit_test(intern_gives_dense_ids),
		cmocka_unit_test(varints_round_trip),
		cmocka_unit_test(cursor_stops_at_its_end),
		cmocka_unit_test(errors_carry_message_and_hint),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
