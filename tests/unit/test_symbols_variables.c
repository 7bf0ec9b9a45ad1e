// SPDX-License-Identifier: BSD-2-Clause
/* Names of variables, their members and elements, by address: of programs that know where they are.
 */
#include "tests/unit/test_symbols_damage.h"

/* Asks for what @path prints, and calls @check with the right name, and what was found. */
static void check_program(const char *path, const char *shown,
			  void (*check)(const char *right, const char *found))
{
	struct symbolizer *symbolizer = new_symbolizer(true, scratch);
	int number = add_file(symbolizer, shown, NULL, -1);
	FILE *output;
	char line[256];
	size_t n = 0;

	assert_int_equal(run("%s > %s/output", path, scratch), 0);
	output = fopen(in_scratch("output"), "re");
	assert_non_null(output);
	while (fgets(line, sizeof(line), output)) {
		char *space = strchr(line, ' ');

		assert_non_null(space);
		*space = '\0';
		check(line,
		      symbolizer__variable(symbolizer, number, strtoull(space + 1, NULL, 16)));
		n++;
	}
	fclose(output);
	assert_int_equal(n, 11);
	/* Code, the end of the file, and far away. */
	assert_null(symbolizer__variable(symbolizer, number, 0x1100));
	assert_null(symbolizer__variable(symbolizer, number, 1ULL << 40));
	assert_null(symbolizer__variable(symbolizer, number, UINT64_MAX));
	assert_null(symbolizer__variable(symbolizer, number + 1, 0x4000));
	symbolizer__free(symbolizer);
}

static void is_right(const char *right, const char *found)
{
	assert_non_null(found);
	assert_string_equal(found, right);
}

/* The name up to the first member, and an offset. */
static void is_variable(const char *right, const char *found)
{
	size_t n = strcspn(right, ".[");

	assert_non_null(found);
	assert_memory_equal(found, right, n);
	assert_true(!found[n] || !strncmp(found + n, "+0x", 3));
}

static void is_address(const char *right, const char *found)
{
	assert_non_null(found);
	assert_memory_equal(found, "stripped+0x", 11);
}

static void members_and_elements(void **state)
{
	static const struct {
		const char *compiler;
		const char *flags;
	} builds[] = {
		{"g++", "-gdwarf-5 -pie -fPIE"},   {"g++", "-gdwarf-4 -no-pie -fno-pie"},
		{"clang++", "-gdwarf-5"},	   {"clang++", "-gdwarf-4"},
		{"g++", "-gdwarf-5 -fuse-ld=lld"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		if (run("command -v %s", builds[i].compiler) ||
		    (strstr(builds[i].flags, "lld") && run("command -v ld.lld")))
			continue;
		check_program(build(builds[i].compiler, builds[i].flags, "variables.cc", "all"),
			      in_scratch("all"), is_right);
	}
}

static void without_debug_information(void **state)
{
	check_program(build("g++", "-g0", "variables.cc", "plain"), in_scratch("plain"),
		      is_variable);
}

static void debug_files(void **state)
{
	build("g++", "-g", "variables.cc", "whole");
	assert_int_equal(run("cd %s && objcopy --only-keep-debug whole whole.debug && "
			     "objcopy --strip-all --add-gnu-debuglink=whole.debug whole linked",
			     scratch),
			 0);
	check_program(in_scratch("linked"), in_scratch("linked"), is_right);
}

static void stripped(void **state)
{
	check_program(build("g++", "-s -g0", "variables.cc", "stripped"), in_scratch("stripped"),
		      is_address);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_and_elements),
		cmocka_unit_test(without_debug_information),
		cmocka_unit_test(debug_files),
		cmocka_unit_test(stripped),
	};

	return cmocka_run_group_tests_name("symbols: variables", tests, scratch__make,
					   scratch__remove);
}
