// SPDX-License-Identifier: BSD-2-Clause
/*
 * Damaged programs: whatever is in them, an answer comes back in bounded time
 * and memory, and what is said of an address agrees with what is said of its line.
 */
#include "tests/unit/test_code_support.h"
#include "tests/unit/test_symbols_damage.h"

#define ADDRESSES 24

/* Ranges of a damaged file are still sorted, and what is attributed to the line. */
static void check_answer(struct code *code, const struct code_ranges *ranges,
			 const struct code_place *line)
{
	struct code_place place;

	check_ranges(ranges);
	for (size_t i = 0; line && i < ranges->ranges.n; i++) {
		code__place(code, ranges->ranges.data[i].start, &place);
		assert_ptr_equal(place.file, line->file);
		assert_int_equal(place.line, line->line);
		code__place(code, ranges->ranges.data[i].end - 1, &place);
		assert_ptr_equal(place.file, line->file);
		assert_int_equal(place.line, line->line);
	}
}

static size_t ask_place(struct code *code, uint64_t address, unsigned int kind)
{
	struct code_ranges ranges = {};
	struct code_place place;
	struct code_place line;
	const char *full;
	size_t named;

	code__place(code, address, &place);
	named = strlen(place.function) > 0 || (place.file && strlen(place.file) > 0);
	if (kind % 3 == 0 && place.file && place.line && place.in_scope &&
	    !code__line(code, place.file, place.line, &ranges, &line)) {
		assert_ptr_equal(line.file, place.file);
		assert_true(ranges_have(&ranges, address));
		check_answer(code, &ranges, &line);
	}
	if (kind % 3 == 1 && !code__function(code, place.function, &ranges, &full))
		check_answer(code, &ranges, NULL);
	if (kind % 3 == 2 && place.file)
		code__entries(code, place.file, place.line, &ranges);
	if (kind % 8 == 0)
		code__entries(code, place.function, 0, &ranges);
	if (kind % 8 == 1 && !code__out_of_scope(code, address, &ranges))
		check_answer(code, &ranges, NULL);
	code_ranges__free(&ranges);
	return named;
}

static size_t ask(struct code *code, const struct segment *text, uint64_t *random)
{
	static const char *const texts[] = {"jobs.c:20", "job_rum", "stir", "check.c:1", "jbos.h"};
	const char *names[8];
	size_t named = 0;
	size_t n;

	for (unsigned int i = 0; i < ADDRESSES; i++)
		named += ask_place(code, text->vaddr + next_random(random) % text->size, i);
	n = code__suggest(code, texts[next_random(random) % ARRAY_SIZE(texts)], names, 8);
	for (size_t i = 0; i < n; i++)
		assert_true(strlen(names[i]) > 0);
	n = (code__diagnostic(code) ? strlen(code__diagnostic(code)) : 0);
	assert_true(n < 8192);
	return named;
}

/* Where debug information is in a file, by readelf: most of what is damaged lies there. */
static struct segment find_debug(const char *path)
{
	FILE *lines = lines_of("readelf -SW %s 2>/dev/null", path);
	struct segment debug = {.offset = UINT64_MAX};
	char line[512];

	while (fgets(line, sizeof(line), lines)) {
		const char *at = strstr(line, " .debug_");
		unsigned long offset;
		unsigned long size;

		if (!at || sscanf(at, " %*s %*s %*x %lx %lx", &offset, &size) != 2)
			continue;
		if (debug.offset == UINT64_MAX)
			debug.offset = offset;
		debug.size = offset + size - debug.offset;
	}
	pclose(lines);
	assert_true(debug.size > 0);
	return debug;
}

static void damage_and_ask(const char *path, unsigned int n, uint64_t seed)
{
	static const struct code_scope scope;
	struct image image = read_image(path);
	struct segment debug = find_debug(path);
	uint8_t *bytes = malloc(image.size);
	uint64_t random = seed;
	size_t named = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct code *code;
		size_t size;
		int fd;

		memcpy(bytes, image.bytes, image.size);
		size = image.size;
		if (i % 4 == 0)
			size = damage(bytes, size, &random);
		else
			damage(bytes + debug.offset, debug.size, &random);
		fd = file_of(bytes, size);
		hang__limit(SECONDS);
		if (!code__new(fd, "/damaged", scratch, &scope, &code)) {
			named += ask(code, &image.code, &random);
			code__free(code);
		}
		hang__limit(0);
		close(fd);
	}
	check_memory();
	/* Most damage leaves most names, else the test would test nothing. */
	assert_true(named > n * ADDRESSES / 4);
	free(bytes);
	free(image.bytes);
}

static void damaged_programs_do_no_harm(void **state)
{
	damage_and_ask(build_code("gcc", "-O2 -gdwarf-5", JOBS, "dwarf5"), rounds(1500), 1);
	damage_and_ask(build_code("gcc", "-O2 -gdwarf-4", JOBS, "dwarf4"), rounds(1500), 2);
	damage_and_ask(build_code("clang", "-O2", JOBS, "clang"), rounds(500), 3);
}

static void damaged_cpp_programs_do_no_harm(void **state)
{
	damage_and_ask(build_code("g++", "-O2", STORE, "cpp"), rounds(100), 4);
	damage_and_ask(build_code("g++", "-O2 -flto", STORE, "lto"), rounds(100), 5);
}

static void damaged_split_programs_do_no_harm(void **state)
{
	damage_and_ask(build_code("gcc", "-O2 -gsplit-dwarf", JOBS, "split"), rounds(500), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_programs_do_no_harm),
		cmocka_unit_test(damaged_cpp_programs_do_no_harm),
		cmocka_unit_test(damaged_split_programs_do_no_harm),
	};

	return cmocka_run_group_tests(tests, scratch__make, scratch__remove);
}
