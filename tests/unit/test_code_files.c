// SPDX-License-Identifier: BSD-2-Clause
/* Programs and what belongs to them: stripped, with debug files, damaged. */
#include "tests/unit/test_code_support.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

static struct code *open_with(const char *path, const char *debug_root,
			      const struct code_scope *scope)
{
	struct code *code;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(code__new(fd, path, debug_root, scope, &code), 0);
	close(fd);
	return code;
}

/* Both say the same of every address. */
static void assert_same_places(const char *path, struct code *a, struct code *b)
{
	struct segment text = read_code(path);

	for (uint64_t i = 0; i < text.size; i++) {
		struct code_place x;
		struct code_place y;

		code__place(a, text.vaddr + i, &x);
		code__place(b, text.vaddr + i, &y);
		assert_string_equal(x.file ? x.file : "", y.file ? y.file : "");
		assert_string_equal(x.function, y.function);
		assert_int_equal(x.line, y.line);
		assert_int_equal(x.in_scope, y.in_scope);
	}
}

static void debug_files_are_found(void **state)
{
	static const struct code_scope scope;
	char whole[512];
	char hex[129];
	struct code *a;
	struct code *b;

	strcpy(whole, build_code("gcc", "-O2 -Wl,--build-id", JOBS, "whole"));
	read_build_id(whole, hex);
	a = open_code(whole, NULL);
	assert_int_equal(run("cd %s && objcopy --only-keep-debug whole whole.debug && "
			     "objcopy --strip-all --add-gnu-debuglink=whole.debug whole linked",
			     scratch),
			 0);
	b = open_with(in_scratch("linked"), scratch, &scope);
	assert_null(code__diagnostic(b));
	assert_same_places(whole, a, b);
	code__free(b);
	assert_int_equal(run("cd %s && mkdir -p root/.build-id/%.2s && "
			     "mv whole.debug root/.build-id/%.2s/%s.debug && strip -o bare whole",
			     scratch, hex, hex, hex + 2),
			 0);
	b = open_with(in_scratch("bare"), in_scratch("root"), &scope);
	assert_same_places(whole, a, b);
	code__free(b);
	code__free(a);
}

static void parts_moved_out_by_dwz_are_found(void **state)
{
	struct code_ranges ranges = {};
	struct code_ranges moved = {};
	char whole[512];
	struct code *a;
	struct code *b;

	need_tool("dwz");
	strcpy(whole, build_code("gcc", "-O2", JOBS, "whole"));
	assert_int_equal(run("cd %s && cp whole one && cp whole two && "
			     "dwz -m common.debug one two",
			     scratch),
			 0);
	a = open_code(whole, NULL);
	b = open_code(in_scratch("one"), NULL);
	/* Before any unit was read. */
	assert_int_equal(code__function(a, "stir", &ranges, NULL), 0);
	assert_int_equal(code__function(b, "stir", &moved, NULL), 0);
	assert_int_equal(ranges.ranges.n, moved.ranges.n);
	assert_memory_equal(ranges.ranges.data, moved.ranges.data,
			    ranges.ranges.n * sizeof(*ranges.ranges.data));
	assert_same_places(whole, a, b);
	code_ranges__free(&ranges);
	code_ranges__free(&moved);
	code__free(a);
	code__free(b);
}

/* Of a C++ program, where dwz moves more: what instances refer to is in other units. */
static void names_are_found_in_units_of_dwz(void **state)
{
	char whole[512];
	struct code *a;
	struct code *b;

	need_tool("dwz");
	strcpy(whole, build_code("g++", "-O2", STORE, "whole"));
	assert_int_equal(run("cd %s && cp whole one && cp whole two && "
			     "dwz -m common.debug one two",
			     scratch),
			 0);
	a = open_code(whole, NULL);
	b = open_code(in_scratch("one"), NULL);
	assert_same_places(whole, a, b);
	code__free(a);
	code__free(b);
}

static void stripped_programs_have_functions_only(void **state)
{
	static const char *const patterns[] = {"*"};
	const struct code_scope all = {.patterns = patterns, .n_patterns = 1};
	static const struct code_scope none;
	const char *path = build_code("gcc", "-O2", JOBS, "whole");
	struct code_ranges ranges = {};
	struct code_place place;
	struct segment text = read_code(path);
	struct code *code;
	uint64_t start;

	assert_int_equal(run("cd %s && objcopy --strip-debug whole symbols", scratch), 0);
	path = in_scratch("symbols");
	start = offset_of(path, "job_run") - text.offset + text.vaddr;
	code = open_with(path, scratch, &none);
	code__place(code, start + 1, &place);
	assert_string_equal(place.function, "job_run");
	assert_null(place.file);
	assert_true(place.in_scope);
	assert_non_null(strstr(code__diagnostic(code), "no debug information"));
	assert_int_equal(code__line(code, "jobs.c", 27, &ranges, NULL), -ENODATA);
	assert_int_equal(code__entries(code, "jobs.c", 27, &ranges), -ENODATA);
	/* Hot and cold part. */
	assert_int_equal(code__function(code, "job_run", &ranges, NULL), 0);
	assert_int_equal(ranges.ranges.n, 2);
	assert_true(ranges_have(&ranges, start));
	code__place(code, ranges.ranges.data[0].start, &place);
	assert_string_equal(place.function, "job_run");
	assert_int_equal(code__entries(code, "job_run", 0, &ranges), 0);
	assert_int_equal(ranges.ranges.n, 1);
	assert_int_equal(ranges.ranges.data[0].start, start);
	assert_int_equal(code__out_of_scope(code, start, &ranges), 0);
	assert_int_equal(ranges.ranges.n, 0);
	code__free(code);
	/* Patterns are for files, and there are none. */
	code = open_with(path, scratch, &all);
	code__place(code, start, &place);
	assert_false(place.in_scope);
	assert_int_equal(code__out_of_scope(code, start, &ranges), 0);
	assert_true(ranges_have(&ranges, start));
	assert_int_equal(code__out_of_scope(code, start, &ranges), 0);
	assert_int_equal(ranges.ranges.n, 0);
	code__free(code);
	code_ranges__free(&ranges);
}

static void a_missing_dwo_is_told(void **state)
{
	const char *path = build_code("gcc", "-O2 -gsplit-dwarf", JOBS, "split");
	uint32_t line = marked_line(CODE_SOURCES "/jobs.c", "inlined");
	struct code_ranges ranges = {};
	struct code *code;

	assert_int_equal(run("rm %s/*.dwo", scratch), 0);
	code = open_code(path, NULL);
	assert_null(code__diagnostic(code));
	/* The lines are in the program. */
	assert_int_equal(code__line(code, "jobs.c", line, &ranges, NULL), 0);
	assert_int_equal(code__function(code, "job_run", &ranges, NULL), 0);
	assert_non_null(strstr(code__diagnostic(code), ".dwo is missing"));
	code_ranges__free(&ranges);
	code__free(code);
}

static void what_is_no_program_is_refused(void **state)
{
	static const struct code_scope scope;
	struct code *code;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_equal(code__new(fd, "/dev/null", NULL, &scope, &code), -ENOEXEC);
	close(fd);
	fd = memfd_create("empty", MFD_CLOEXEC);
	/* The file of that path is not taken instead. */
	assert_int_equal(code__new(fd, "/bin/sh", NULL, &scope, &code), -ENOEXEC);
	assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	assert_int_equal(code__new(fd, "/bin/sh", NULL, &scope, &code), -ENOEXEC);
	close(fd);
	assert_int_equal(code__new(-1, "/bin/sh", NULL, &scope, &code), -ENOEXEC);
}

/* What is not a place has a name and nothing else. */
static void addresses_outside_are_harmless(void **state)
{
	static const uint64_t addresses[] = {0, 1, 0x7fffffffffffffff, UINT64_MAX - 1, UINT64_MAX};
	struct code *code = open_code(build_code("gcc", "-O2", JOBS, "outside"), NULL);
	struct code_ranges ranges = {};
	struct code_place place;

	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		code__place(code, addresses[i], &place);
		assert_null(place.file);
		assert_string_equal(place.function, "");
		assert_int_equal(code__out_of_scope(code, addresses[i], &ranges), 0);
		assert_int_equal(ranges.ranges.n, 0);
	}
	code_ranges__free(&ranges);
	code__free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_files_are_found),
		cmocka_unit_test(parts_moved_out_by_dwz_are_found),
		cmocka_unit_test(names_are_found_in_units_of_dwz),
		cmocka_unit_test(stripped_programs_have_functions_only),
		cmocka_unit_test(a_missing_dwo_is_told),
		cmocka_unit_test(what_is_no_program_is_refused),
		cmocka_unit_test(addresses_outside_are_harmless),
	};

	return cmocka_run_group_tests(tests, scratch__make, scratch__remove);
}
