// SPDX-License-Identifier: BSD-2-Clause
/* Code by name: lines, functions, where breakpoints go, and what else could be meant. */
#include "tests/unit/test_code_support.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "symbols/code/code_names.h"

static struct code_ranges find_function(struct code *code, const char *name, const char *full)
{
	struct code_ranges ranges = {};
	const char *found = NULL;

	if (code__function(code, name, &ranges, &found))
		fail_msg("there is no %s", name);
	check_ranges(&ranges);
	assert_string_equal(found, full);
	return ranges;
}

static int error_of_function(struct code *code, const char *name)
{
	struct code_ranges ranges = {};
	int err = code__function(code, name, &ranges, NULL);

	code_ranges__free(&ranges);
	return err;
}

static int error_of_line(struct code *code, const char *file, uint32_t line,
			 struct code_place *place)
{
	struct code_ranges ranges = {};
	int err = code__line(code, file, line, &ranges, place);

	code_ranges__free(&ranges);
	return err;
}

/* Whether @plain is, or ends with, @name: compilers leave out what static functions are in. */
static bool names_end_alike(const char *plain, const char *name)
{
	size_t n = strlen(plain);
	size_t m = strlen(name);

	return n <= m ? !strcmp(name + m - n, plain) : !strcmp(plain + n - m, name);
}

/* As build_code(), unless that was done before. */
static const char *build_once(const char *compiler, const char *flags, const char *sources,
			      const char *name)
{
	char *path = in_scratch("%s", name);

	return access(path, R_OK) ? build_code(compiler, flags, sources, name) : path;
}

/* For each byte of @text, a bit for each of the @n @names that llvm-addr2line has among its frames.
 */
static uint8_t *read_functions(const char *path, const struct segment *text,
			       const char *const *names, size_t n)
{
	uint8_t *found = calloc(text->size, sizeof(*found));
	char *questions = in_scratch("questions");
	FILE *file = fopen(questions, "we");
	uint64_t address = text->vaddr;
	char line[8192];
	FILE *answers;

	assert_non_null(found);
	assert_non_null(file);
	assert_true(n <= 8);
	for (uint64_t i = 0; i < text->size; i++)
		fprintf(file, "0x%" PRIx64 "\n", text->vaddr + i);
	fclose(file);
	answers = lines_of("llvm-addr2line -afi -e %s < %s | c++filt -p", path, questions);
	while (fgets(line, sizeof(line), answers)) {
		char plain[MAX_CODE_NAME];

		end_line(line);
		if (!strncmp(line, "0x", 2)) {
			address = strtoull(line, NULL, 16);
			assert_true(address - text->vaddr < text->size);
			continue;
		}
		code_name__strip(line, plain);
		plain[strcspn(plain, ".")] = '\0';
		for (size_t i = 0; i < n; i++)
			if (names_end_alike(plain, names[i]))
				found[address - text->vaddr] |= (uint8_t)(1 << i);
		assert_non_null(fgets(line, sizeof(line), answers));
	}
	pclose(answers);
	return found;
}

/* The code of each name is where llvm-addr2line has it among the frames, and nowhere else. */
static void compare_functions(const char *path, const char *const *names, size_t n)
{
	struct code *code = open_code(path, NULL);
	struct segment text = read_code(path);
	uint8_t *expected = COMPARES_TOOLS ? read_functions(path, &text, names, n) : NULL;

	for (size_t i = 0; i < n; i++) {
		struct code_ranges ranges = find_function(code, names[i], names[i]);

		for (uint64_t at = 0; expected && at < text.size; at++)
			if (ranges_have(&ranges, text.vaddr + at) != (expected[at] >> i & 1))
				fail_msg("%s: %" PRIx64 " is%s in %s", path, text.vaddr + at,
					 expected[at] >> i & 1 ? "" : " not", names[i]);
		code_ranges__free(&ranges);
	}
	free(expected);
	code__free(code);
}

static void functions_are_found_wherever_they_are_inlined(void **state)
{
	static const char *const names[] = {"job_run",	 "stir", "stir_twice", "main",
					    "job_check", "once", "complain"};

	if (COMPARES_TOOLS)
		need_tool("llvm-addr2line");
	compare_functions(build_once("gcc", "-O2", JOBS, "gcc"), names, ARRAY_SIZE(names));
	compare_functions(build_once("gcc", "-O2 -flto", JOBS, "lto"), names, ARRAY_SIZE(names));
	compare_functions(build_once("gcc", "-O2 -gdwarf-4 -gsplit-dwarf", JOBS, "split"), names,
			  ARRAY_SIZE(names));
	compare_functions(build_once("clang", "-O2", JOBS, "clang"), names, ARRAY_SIZE(names));
}

static void functions_of_cpp_are_found_wherever_they_are_inlined(void **state)
{
	static const char *const names[] = {
		"store::table::get",
		"store::table::put",
		"store::table::operator<",
		"store::(anonymous namespace)::secret",
		"store::(anonymous namespace)::hidden::get",
		"fill",
		"main",
	};

	if (COMPARES_TOOLS)
		need_tool("llvm-addr2line");
	compare_functions(build_once("g++", "-O2", STORE, "g++"), names, ARRAY_SIZE(names));
	compare_functions(build_once("g++", "-O2 -flto", STORE, "lto++"), names, ARRAY_SIZE(names));
	compare_functions(build_once("clang++", "-O2", STORE, "clang++"), names, ARRAY_SIZE(names));
}

static uint64_t total(const struct code_ranges *ranges)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < ranges->ranges.n; i++)
		bytes += ranges->ranges.data[i].end - ranges->ranges.data[i].start;
	return bytes;
}

static void functions_have_several_names(void **state)
{
	static const struct {
		const char *name;
		const char *full;
	} names[] = {
		{"store::table::put", "store::table::put"},
		{"table::put", "store::table::put"},
		{"put", "store::table::put"},
		{"_ZNK5store5table3getERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEi",
		 "store::table::get"},
		{"hidden::get(int) const", "store::(anonymous namespace)::hidden::get"},
		{"total", "store::total"},
		{"store::total<int>", "store::total<int>"},
		{"total<double>", "store::total<double>"},
		{"secret", "store::(anonymous namespace)::secret"},
		{"fill(store::table&,int)", "fill"},
		{"table::operator<", "store::table::operator<"},
	};
	/* With clang, all have linkage names. */
	struct code *code = open_code(build_code("clang++", "-O1", STORE, "names"), NULL);
	struct code_ranges all;
	struct code_ranges one;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		one = find_function(code, names[i].name, names[i].full);
		code_ranges__free(&one);
	}
	all = find_function(code, "total", "store::total");
	one = find_function(code, "total<int>", "store::total<int>");
	assert_true(total(&one) && total(&one) < total(&all));
	code_ranges__free(&all);
	code_ranges__free(&one);
	/* Overloads are one; functions of other classes are not. */
	assert_int_equal(error_of_function(code, "get"), -ENOTUNIQ);
	assert_int_equal(error_of_function(code, "tabl"), -ENOENT);
	assert_int_equal(error_of_function(code, "able::put"), -ENOENT);
	assert_int_equal(error_of_function(code, "total<float>"), -ENOENT);
	assert_int_equal(error_of_function(code, ""), -ENOENT);
	assert_int_equal(error_of_function(code, "::"), -ENOENT);
	code__free(code);
}

/* An alias is found by the symbol table, what is inlined of it by DWARF. */
static void aliases_are_functions_of_another_name(void **state)
{
	struct code *code = open_code(build("gcc", "", "calls.c", "alias"), NULL);
	struct code_ranges alias = find_function(code, "__sum_alias", "__sum_alias");
	struct code_ranges real = find_function(code, "sum_text", "sum_text");

	assert_true(total(&alias) > 0);
	assert_int_equal(total(&alias), total(&real));
	code_ranges__free(&alias);
	code_ranges__free(&real);
	code__free(code);
}

static void a_file_may_be_the_end_of_a_path(void **state)
{
	uint32_t line = marked_line(CODE_SOURCES "/lib/check.c", "check");
	uint32_t other = marked_line(CODE_SOURCES "/other/check.c", "other");
	struct code *code = open_code(build_code("gcc", "-O2", JOBS, "ends"), NULL);
	const char *names[4];
	struct code_place place;
	char path[4096];

	assert_int_equal(error_of_line(code, "lib/check.c", line, &place), 0);
	assert_non_null(strstr(place.file, "/" CODE_SOURCES "/lib/check.c"));
	assert_string_equal(place.function, "job_check");
	strcpy(path, place.file);
	assert_int_equal(error_of_line(code, path, line, &place), 0);
	assert_int_equal(error_of_line(code, "other/../lib/./check.c", line, &place), 0);
	/* The header is mentioned in three units. */
	assert_int_equal(error_of_line(code, "jobs.h", 10, &place), 0);
	assert_int_equal(error_of_line(code, "check.c", line, &place), -ENOTUNIQ);
	assert_int_equal(code__suggest(code, "check.c:1", names, 4), 2);
	assert_true(strstr(names[0], "check.c:") && strstr(names[1], "check.c:"));
	assert_int_equal(error_of_line(code, "heck.c", line, &place), -ENOENT);
	assert_null(place.file);
	assert_int_equal(error_of_line(code, "other/check.c", other, NULL), 0);
	assert_int_equal(error_of_line(code, "other/check.c", 1, &place), -ENOENT);
	assert_non_null(place.file);
	assert_int_equal(error_of_line(code, "jobs.c", 0, NULL), -ENOENT);
	assert_int_equal(error_of_line(code, "", 1, NULL), -ENOENT);
	code__free(code);
}

/* What is not in scope says so: there is no code attributed to it. */
static void lines_out_of_scope_are_not_found(void **state)
{
	static const char *const without[] = {"*/jobs.h"};
	const struct code_scope scope = {.without = without, .n_without = 1};
	const char *path = build_code("gcc", "-O2", JOBS, "scope");
	struct code *code = open_code(path, &scope);
	struct code *whole = open_code(path, NULL);
	struct code_ranges part = {};
	struct code_ranges more = {};
	struct code_place place;
	uint32_t line = marked_line(CODE_SOURCES "/jobs.c", "inlined");

	assert_int_equal(error_of_line(code, "jobs.h", 10, &place), -ENOENT);
	assert_non_null(strstr(place.file, "/jobs.h"));
	assert_false(place.in_scope);
	/* What was inlined counts for the line it was called in, then. */
	assert_int_equal(code__line(code, "jobs.c", line, &more, NULL), 0);
	assert_int_equal(code__line(whole, "jobs.c", line, &part, NULL), 0);
	assert_true(total(&more) > total(&part));
	code_ranges__free(&more);
	code_ranges__free(&part);
	code__free(code);
	code__free(whole);
}

/* The addresses of statements of @file:@line, by readelf; at most @max. */
static size_t read_statements(FILE *rows, const char *file, uint32_t line, uint64_t *at, size_t max)
{
	const char *base = strrchr(file, '/') + 1;
	char text[1024];
	size_t n = 0;

	rewind(rows);
	while (fgets(text, sizeof(text), rows) && n < max) {
		unsigned int number;
		char name[256];

		if (sscanf(text, "%255s %u 0x%" SCNx64, name, &number, &at[n]) == 3 &&
		    number == line && strstr(text, " x") && !strcmp(name, base))
			n++;
	}
	return n;
}

/*
 * The entries of a line are at statements of it, no more than there are. Lines that
 * have none are entered where they start.
 */
static size_t check_entries(struct code *code, const struct code_place *place, FILE *rows)
{
	struct code_ranges entries = {};
	struct code_ranges ranges = {};
	uint64_t statements[256];
	size_t n = read_statements(rows, place->file, place->line, statements, 256);

	assert_int_equal(code__entries(code, place->file, place->line, &entries), 0);
	assert_int_equal(code__line(code, place->file, place->line, &ranges, NULL), 0);
	assert_true(entries.ranges.n && (!n || entries.ranges.n <= n));
	for (size_t i = 0; i < entries.ranges.n; i++) {
		uint64_t address = entries.ranges.data[i].start;
		size_t j = 0;

		assert_int_equal(entries.ranges.data[i].end, address + 1);
		assert_true(!i || entries.ranges.data[i - 1].start < address);
		while (j < n && statements[j] != address)
			j++;
		if (n ? j == n : !ranges_have(&ranges, address))
			fail_msg("%s:%u is not entered at %" PRIx64, place->file, place->line,
				 address);
	}
	code_ranges__free(&entries);
	code_ranges__free(&ranges);
	return n;
}

static void entries_are_statements_of_the_line(void **state)
{
	static const struct {
		const char *compiler;
		const char *sources;
	} programs[] = {{"gcc", JOBS}, {"g++", STORE}, {"clang", JOBS}, {"clang++", STORE}};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		const char *path = build_once(programs[i].compiler, "-O2", programs[i].sources,
					      programs[i].compiler);
		struct code *code = open_code(path, NULL);
		struct places places = read_places(code, path);
		FILE *rows = fopen(in_scratch("rows"), "w+e");

		assert_int_equal(
			run("cd %s; readelf --debug-dump=decodedline %s > rows", scratch, path), 0);
		for (uint64_t j = 0; j < places.text.size; j++) {
			const struct code_place *place = &places.at[j];

			/* There are two check.c, and readelf names no directories. */
			if (place->in_scope && place->line && place->file &&
			    !strstr(place->file, "/check.c") &&
			    (!j || place[-1].line != place->line || place[-1].file != place->file))
				n += check_entries(code, place, rows) > 0;
		}
		fclose(rows);
		free(places.at);
		code__free(code);
	}
	assert_true(n > 100);
}

/* Where gdb sets a breakpoint for @place ("FILE:LINE"): a set of addresses. */
static size_t ask_gdb(const char *path, const char *place, uint64_t *at, size_t max)
{
	FILE *lines = lines_of(
		"gdb -nx -batch -ex 'break %s' -ex 'info breakpoints' %s 2>/dev/null", place, path);
	char line[1024];
	size_t n = 0;

	while (fgets(line, sizeof(line), lines) && n < max) {
		const char *address = strstr(line, " 0x0");

		if (isdigit((unsigned char)line[0]) && address && strstr(line, " in "))
			at[n++] = strtoull(address + 1, NULL, 16);
	}
	pclose(lines);
	return n;
}

static void compare_with_gdb(const char *path, const char *source, const char *mark)
{
	struct code *code = open_code(path, NULL);
	struct code_ranges entries = {};
	uint64_t addresses[32];
	char place[128];
	size_t n;

	snprintf(place, sizeof(place), "%s:%u", source + strlen(CODE_SOURCES) + 1,
		 marked_line(source, mark));
	n = ask_gdb(path, place, addresses, 32);
	assert_int_equal(code__entries(code, source + strlen(CODE_SOURCES) + 1,
				       marked_line(source, mark), &entries),
			 0);
	if (n != entries.ranges.n)
		fail_msg("%s: %s has %zu entries, gdb has %zu", path, place, entries.ranges.n, n);
	for (size_t i = 0; i < n; i++)
		if (!ranges_have(&entries, addresses[i]))
			fail_msg("%s: gdb enters %s at %" PRIx64, path, place, addresses[i]);
	code_ranges__free(&entries);
	code__free(code);
}

static void entries_are_where_gdb_stops(void **state)
{
	static const char *const jobs[] = {"return", "call", "cold"};
	static const char *const store[] = {"put", "fill", "push"};

	need_tool("gdb");
	/*
	 * Where more is inlined, gdb does not see statements that start with an inlined
	 * call, and takes the start of a cold part for that of the function.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		compare_with_gdb(build_once("gcc", "-O0", JOBS, "O0"), CODE_SOURCES "/jobs.c",
				 jobs[i]);
		compare_with_gdb(build_once("gcc", "-O1", JOBS, "O1"), CODE_SOURCES "/jobs.c",
				 jobs[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(store); i++)
		compare_with_gdb(build_once("g++", "-O0", STORE, "O0++"), STORE, store[i]);
	compare_with_gdb(build_once("gcc", "-O0", JOBS, "O0"), CODE_SOURCES "/lib/check.c",
			 "check");
	compare_with_gdb(build_once("gcc", "-O1", JOBS, "O1"), CODE_SOURCES "/other/check.c",
			 "other");
}

/* A function is entered at its symbol; its cold part is not entered by calls. */
static void functions_are_entered_at_their_symbols(void **state)
{
	const char *path = build_once("gcc", "-O2", JOBS, "gcc");
	struct segment text = read_code(path);
	struct code *code = open_code(path, NULL);
	struct code_ranges entries = {};
	uint64_t offset;

	assert_int_equal(code__entries(code, "job_run", 0, &entries), 0);
	assert_int_equal(entries.ranges.n, 1);
	assert_int_equal(code__offset(code, entries.ranges.data[0].start, &offset), 0);
	assert_int_equal(offset, offset_of(path, "job_run"));
	assert_int_equal(offset, entries.ranges.data[0].start - text.vaddr + text.offset);
	assert_int_equal(code__offset(code, UINT64_MAX, &offset), -ENOENT);
	/* Two functions of the name. */
	assert_int_equal(code__entries(code, "once", 0, &entries), 0);
	assert_int_equal(entries.ranges.n, 2);
	/* Only inlined. */
	assert_int_equal(code__entries(code, "stir", 0, &entries), 0);
	assert_true(entries.ranges.n > 4);
	assert_int_equal(code__entries(code, "jobs", 0, &entries), -ENOENT);
	assert_int_equal(entries.ranges.n, 0);
	code_ranges__free(&entries);
	code__free(code);
}

static void check_suggestion(struct code *code, const char *text, const char *first)
{
	const char *names[5];
	size_t n = code__suggest(code, text, names, ARRAY_SIZE(names));

	if (!n || !names_end_alike(names[0], first))
		fail_msg("for %s there is %s, not %s", text, n ? names[0] : "nothing", first);
}

static void what_is_near_is_suggested(void **state)
{
	struct code *code = open_code(build_once("clang++", "-O2", STORE, "clang++"), NULL);
	const char *names[64];
	uint32_t last = 0;
	size_t n;

	check_suggestion(code, "store::table::putt", "store::table::put");
	check_suggestion(code, "secrte", "store::(anonymous namespace)::secret");
	check_suggestion(code, "Table::Put", "store::table::put");
	check_suggestion(code, "store.c:3", "/store.cc");
	check_suggestion(code, "store.c", "/store.cc");
	n = code__suggest(code, "store.cc:1", names, 5);
	assert_int_equal(n, 5);
	for (size_t i = 0; i < n; i++) {
		char *colon = strrchr(names[i], ':');
		uint32_t line = (uint32_t)strtoul(colon + 1, NULL, 10);

		assert_true(line > last);
		assert_int_equal(error_of_line(code, "store.cc", line, NULL), 0);
		last = line;
	}
	n = code__suggest(code, "get", names, 64);
	assert_true(n >= 2 && n <= 32);
	for (size_t i = 0; i < n; i++) /* none like "let" beside it */
		assert_true(names_end_alike("get", names[i]));
	assert_int_equal(code__suggest(code, "get", names, 1), 1);
	assert_int_equal(code__suggest(code, "get", names, 0), 0);
	assert_int_equal(code__suggest(code, "nothing_like_this_is_there", names, 4), 0);
	code__free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found_wherever_they_are_inlined),
		cmocka_unit_test(functions_of_cpp_are_found_wherever_they_are_inlined),
		cmocka_unit_test(functions_have_several_names),
		cmocka_unit_test(aliases_are_functions_of_another_name),
		cmocka_unit_test(a_file_may_be_the_end_of_a_path),
		cmocka_unit_test(lines_out_of_scope_are_not_found),
		cmocka_unit_test(entries_are_statements_of_the_line),
		cmocka_unit_test(entries_are_where_gdb_stops),
		cmocka_unit_test(functions_are_entered_at_their_symbols),
		cmocka_unit_test(what_is_near_is_suggested),
	};

	return cmocka_run_group_tests(tests, scratch__make, scratch__remove);
}
