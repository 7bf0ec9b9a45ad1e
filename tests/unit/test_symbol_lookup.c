// SPDX-License-Identifier: BSD-2-Clause
/* Single functions of the running kernel, against /proc/kallsyms. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "collect/kernel/symbol_lookup.h"
#include "symbols/symbols.h"

#define LINE 600

static struct symbols_bpf *lookup; /* NULL: this kernel, or this user, cannot */

static int open_lookup(void **state)
{
	lookup = geteuid() ? NULL : symbol_lookup__open();
	return 0;
}

static int close_lookup(void **state)
{
	symbol_lookup__closep(&lookup);
	return 0;
}

struct function {
	uint64_t address;
	char name[LINE];
};

/* The next function of the kernel or a module in @file, /proc/kallsyms. */
static bool next_function(FILE *file, struct function *function)
{
	char line[LINE], type;

	while (fgets(line, sizeof(line), file)) {
		if (strstr(line, "\t[bpf]") || strstr(line, "\t[__builtin__"))
			continue; /* may go at any time */
		if (sscanf(line, "%" SCNx64 " %c %599s", &function->address, &type,
			   function->name) == 3 &&
		    strchr("tT", type) && function->address)
			return true;
	}
	return false;
}

/* Of several names of one address, the kernel knows one. */
static void each_function_has_its_name(void **state)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	struct function function, last = {};
	size_t n = 0, named = 0;
	char name[LINE];

	if (!lookup)
		skip();
	assert_non_null(file);
	while (next_function(file, &function)) {
		if (function.address != last.address) {
			assert_int_equal(symbol_lookup__name(lookup, function.address + 1, name,
							     sizeof(name)),
					 0);
			n++;
		}
		named += !strcmp(name, function.name);
		last = function;
	}
	if (!n) {
		print_message("skipped: kernel addresses are hidden\n");
		skip();
	}
	assert_true(n > 1000);
	/* Modules come and go meanwhile. */
	if (named < n - n / 1000)
		fail_msg("%zu of %zu functions have their names", named, n);
}

static void what_is_no_function_has_no_name(void **state)
{
	const uint64_t nowhere[] = {0, 0x1000, (uint64_t)(uintptr_t)&lookup, UINT64_MAX};
	char name[LINE] = "unchanged";

	if (!lookup)
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		assert_int_equal(symbol_lookup__name(lookup, nowhere[i], name, sizeof(name)), 0);
		assert_string_equal(name, "");
	}
}

static void a_function_is_found_by_its_name(void **state)
{
	uint64_t range[2] = {};
	char name[LINE];

	if (!lookup)
		skip();
	assert_true(symbol_lookup__find(lookup, "try_to_wake_up", range));
	for (uint64_t address = range[0]; address < range[1]; address++) {
		assert_int_equal(symbol_lookup__name(lookup, address, name, sizeof(name)), 0);
		assert_string_equal(name, "try_to_wake_up");
	}
	assert_false(symbol_lookup__find(lookup, "no_function_of_this_name", range));
}

/* Calls of name_made_up(), which knows 1, has no name for 2, and fails for others. */
static int asked;

static int name_made_up(void *context, uint64_t address, char *name, size_t size)
{
	asked++;
	if (address > 2)
		return *(int *)context;
	snprintf(name, size, "%s", address == 1 ? "_ZN4core3fmt5writeE" : "");
	return 0;
}

static const char *name_at(struct symbolizer *symbolizer, uint64_t address)
{
	const struct symbol_source kernel = {.kind = SYMBOL_SOURCE_KERNEL, .fd = -1};
	struct symbol_frame frame;
	int number = symbolizer__add_source(symbolizer, &kernel);

	assert_int_equal(symbolizer__resolve(symbolizer, number, address, &frame, 1), 1);
	return frame.name;
}

static void names_are_looked_up_as_long_as_that_works(void **state)
{
	int error = -EIO;
	const struct symbolizer_options options = {.kernel_name = name_made_up, .context = &error};
	struct symbolizer *symbolizer;
	uint64_t range[2] = {};

	if (!lookup)
		skip();
	assert_true(symbol_lookup__find(lookup, "try_to_wake_up", range));
	assert_int_equal(symbolizer__new(&options, &symbolizer), 0);
	assert_string_equal(name_at(symbolizer, 1), "core::fmt::write");
	assert_string_equal(name_at(symbolizer, 2), "");
	assert_int_equal(asked, 2);
	/* Then all of /proc/kallsyms is read. */
	assert_string_equal(name_at(symbolizer, range[0] + 1), "try_to_wake_up");
	assert_string_equal(name_at(symbolizer, range[1] - 1), "try_to_wake_up");
	assert_int_equal(asked, 3);
	symbolizer__free(symbolizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_function_has_its_name),
		cmocka_unit_test(what_is_no_function_has_no_name),
		cmocka_unit_test(a_function_is_found_by_its_name),
		cmocka_unit_test(names_are_looked_up_as_long_as_that_works),
	};

	return cmocka_run_group_tests(tests, open_lookup, close_lookup);
}
