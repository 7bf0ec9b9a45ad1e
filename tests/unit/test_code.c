// SPDX-License-Identifier: BSD-2-Clause
/* Attribution of addresses, and lines as the code attributed to them, in programs of all kinds. */
#include "tests/unit/test_code_support.h"

#include <inttypes.h>

#include "symbols/code/code_names.h"

static bool same_line(const struct code_place *a, const struct code_place *b)
{
	return a->file == b->file && a->line == b->line && a->in_scope == b->in_scope;
}

/*
 * code__line() of the line of @first has the addresses that are attributed to it,
 * @n of them in the text, and no others.
 */
static void check_line(struct code *code, const struct places *places,
		       const struct code_place *first, size_t n)
{
	struct code_ranges ranges = {};
	struct code_place place;
	size_t found = 0;

	assert_int_equal(code__line(code, first->file, first->line, &ranges, &place), 0);
	check_ranges(&ranges);
	assert_ptr_equal(place.file, first->file);
	assert_int_equal(place.line, first->line);
	assert_true(place.in_scope);
	for (size_t i = 0; i < ranges.ranges.n; i++) {
		for (uint64_t at = ranges.ranges.data[i].start; at < ranges.ranges.data[i].end;
		     at++) {
			/* All code that has lines is in the text. */
			assert_true(at - places->text.vaddr < places->text.size);
			if (!same_line(&places->at[at - places->text.vaddr], first))
				fail_msg("%" PRIx64 " is not in %s:%u", at, first->file,
					 first->line);
			found++;
		}
	}
	if (found != n)
		fail_msg("%s:%u has %zu bytes, not %zu", first->file, first->line, found, n);
	code_ranges__free(&ranges);
}

static int compare_lines(const void *a, const void *b)
{
	const struct code_place *x = *(const struct code_place *const *)a;
	const struct code_place *y = *(const struct code_place *const *)b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* Every line that an address is attributed to. */
static size_t check_lines(struct code *code, const struct places *places)
{
	const struct code_place **sorted = calloc(places->text.size, sizeof(struct code_place *));
	size_t kept = 0;
	size_t n = 0;

	for (uint64_t i = 0; i < places->text.size; i++)
		if (places->at[i].in_scope && places->at[i].file && places->at[i].line)
			sorted[kept++] = &places->at[i];
	qsort(sorted, kept, sizeof(*sorted), compare_lines);
	for (size_t i = 0; i < kept;) {
		size_t end = i + 1;

		while (end < kept && !compare_lines(&sorted[i], &sorted[end]))
			end++;
		check_line(code, places, sorted[i], end - i);
		i = end;
		n++;
	}
	free(sorted);
	return n;
}

/* What is out of scope is told once, and is what code__place() says is. */
static void check_out_of_scope(struct code *code, const struct places *places)
{
	uint8_t *out = calloc(places->text.size, 1);
	struct code_ranges ranges = {};

	for (uint64_t i = 0; i < places->text.size; i++) {
		assert_int_equal(code__out_of_scope(code, places->text.vaddr + i, &ranges), 0);
		check_ranges(&ranges);
		for (size_t j = 0; j < ranges.ranges.n; j++)
			for (uint64_t at = ranges.ranges.data[j].start;
			     at < ranges.ranges.data[j].end; at++)
				if (at - places->text.vaddr < places->text.size)
					out[at - places->text.vaddr]++;
	}
	for (uint64_t i = 0; i < places->text.size; i++)
		if (places->at[i].function[0] || places->at[i].file)
			assert_int_equal(out[i], !places->at[i].in_scope);
	code_ranges__free(&ranges);
	free(out);
}

/* The last component, without template arguments and what compilers append. */
static bool same_last_name(const char *a, const char *b)
{
	char x[MAX_CODE_NAME];
	char y[MAX_CODE_NAME];

	code_name__strip(a, x);
	code_name__strip(b, y);
	y[strcspn(y, ".")] = '\0';
	/* c++filt leaves the hash of Rust's older names. */
	if (strlen(code_name__last(y)) == 17 && code_name__last(y)[0] == 'h' && strchr(y, ':'))
		y[strlen(y) - 19] = '\0';
	return !strcmp(code_name__last(x), code_name__last(y));
}

/* Whether a file is in scope when @scope is "all but the system's", or else when it is that. */
static bool file_in_scope(const char *file, const struct code_scope *scope)
{
	bool foreign = !strncmp(file, "/usr/", 5) || !strncmp(file, "/rustc/", 7) ||
		       strstr(file, "/.cargo/registry/");

	return scope ? foreign : !foreign;
}

/* One address as @tool has it, from the two lines a frame that follow its own. */
static void compare_frames(FILE *answers, char *line, size_t size, const char *path,
			   const struct code_scope *scope, uint64_t address,
			   const struct code_place *place)
{
	char function[4096] = "";
	char file[4096] = "";
	bool in_scope = false;
	uint32_t number = 0;
	char *colon;

	while (fgets(line, (int)size, answers) && strncmp(line, "0x", 2)) {
		char name[4096];

		end_line(line);
		strcpy(name, line);
		assert_non_null(fgets(line, (int)size, answers));
		end_line(line);
		colon = strrchr(line, ':');
		assert_non_null(colon);
		*colon = '\0';
		if (in_scope)
			continue;
		strcpy(function, name);
		strcpy(file, line);
		source_path__normalize(file);
		number = (uint32_t)strtoul(colon + 1, NULL, 10);
		in_scope = strcmp(file, "??") != 0 && file_in_scope(file, scope);
	}
	/* Without lines addr2line names the symbol table's file. */
	if (!place->file && !number)
		return;
	if (!place->file || strcmp(place->file, file) != 0 || place->line != number ||
	    place->in_scope != in_scope)
		fail_msg("%s: %" PRIx64 " is attributed to %s:%u%s, not %s:%u%s", path, address,
			 place->file, place->line, place->in_scope ? "" : " (not in scope)", file,
			 number, in_scope ? "" : " (not in scope)");
	if (function[0] != '?' && !same_last_name(place->function, function))
		fail_msg("%s: %" PRIx64 " is in %s, not %s", path, address, place->function,
			 function);
}

/* Before it are headers, where llvm-addr2line sees what the linker dropped. */
static uint64_t first_code(const char *path)
{
	FILE *lines = lines_of("readelf -SW %s 2>/dev/null", path);
	uint64_t first = UINT64_MAX;
	char line[512];

	while (fgets(line, sizeof(line), lines)) {
		const char *at = strstr(line, "PROGBITS");
		unsigned long start;

		if (at && strstr(at, " AX ") && sscanf(at, "PROGBITS %lx", &start) == 1 &&
		    start < first)
			first = start;
	}
	pclose(lines);
	return first;
}

static void compare_with(const char *tool, const char *path, const struct code_scope *scope,
			 const struct places *places)
{
	char *questions = in_scratch("questions");
	uint64_t start = first_code(path);
	/* To print the names of all frames takes long. */
	uint64_t step = places->text.size > 1 << 16 ? 7 : 1;
	FILE *file = fopen(questions, "we");
	char line[8192] = "";
	FILE *answers;

	assert_non_null(file);
	for (uint64_t i = 0; i < places->text.size; i += step)
		if (places->text.vaddr + i >= start)
			fprintf(file, "0x%" PRIx64 "\n", places->text.vaddr + i);
	fclose(file);
	answers = lines_of("%s -afi -e %s < %s | c++filt -p", tool, path, questions);
	assert_non_null(fgets(line, sizeof(line), answers));
	for (uint64_t i = 0; i < places->text.size; i += step) {
		if (places->text.vaddr + i < start)
			continue;
		assert_int_equal(strtoul(line, NULL, 16), places->text.vaddr + i);
		compare_frames(answers, line, sizeof(line), path, scope, places->text.vaddr + i,
			       &places->at[i]);
	}
	pclose(answers);
}

static void check_program(const char *path, const struct code_scope *scope, size_t least)
{
	struct code *code = open_code(path, scope);
	struct places places = read_places(code, path);
	size_t n = check_lines(code, &places);

	if (n < least)
		fail_msg("%s: %zu lines", path, n);
	check_out_of_scope(code, &places);
	assert_null(code__diagnostic(code));
	/* addr2line of binutils 2.40 takes files of DWARF 5 tables for their neighbours. */
	if (COMPARES_TOOLS && !run("command -v llvm-addr2line"))
		compare_with("llvm-addr2line", path, scope, &places);
	free(places.at);
	code__free(code);
}

/* The ways in which compilers lay out code and debug information. */
static const struct {
	const char *name;
	const char *compiler; /* of C */
	const char *flags;
	bool cpp; /* C++ as well */
} kinds[] = {
	{"O0", "gcc", "-O0", true},
	{"O2", "gcc", "-O2 -gdwarf-5", true},
	{"O2v4", "gcc", "-O2 -gdwarf-4", false},
	{"O3", "gcc", "-O3 -gdwarf-5 -gz", false},
	{"sections", "gcc",
	 "-O2 -ffunction-sections -freorder-blocks-and-partition -Wl,--gc-sections", false},
	{"sections4", "gcc", "-O2 -gdwarf-4 -ffunction-sections -no-pie -Wl,--gc-sections", true},
	{"split", "gcc", "-O2 -gsplit-dwarf", true},
	{"split4", "gcc", "-O2 -gsplit-dwarf -gdwarf-4", false},
	{"lto", "gcc", "-O2 -flto", true},
	{"types", "gcc", "-O2 -fdebug-types-section", true},
	{"lines", "gcc", "-O2 -g1", false},
	{"gold", "gcc", "-O2 -ffunction-sections -fuse-ld=gold -Wl,--gc-sections -Wl,--icf=all",
	 true},
	{"clang", "clang", "-O2", true},
	{"clang4", "clang", "-O2 -gdwarf-4 -ffunction-sections", false},
	{"clangO0", "clang", "-O0", false},
	{"clangsplit", "clang", "-O2 -gsplit-dwarf", false},
	{"lld", "clang", "-O2 -ffunction-sections -fuse-ld=lld -Wl,--gc-sections -Wl,--icf=all",
	 true},
	{"clanglto", "clang", "-O2 -flto -fuse-ld=lld", false},
};

/* Builds the program of @kind; NULL when a tool for that is not there. */
static const char *build_kind(size_t kind, bool cpp)
{
	const char *compiler = kinds[kind].compiler;

	if (cpp && !kinds[kind].cpp)
		return NULL;
	if (strstr(kinds[kind].flags, "=lld") && run("command -v ld.lld"))
		return NULL;
	if (strstr(kinds[kind].flags, "=gold") && run("command -v ld.gold"))
		return NULL;
	if (cpp)
		compiler = strcmp(compiler, "gcc") ? "clang++" : "g++";
	if (run("command -v %s", compiler))
		return NULL;
	return build_code(compiler, kinds[kind].flags, cpp ? STORE : JOBS, kinds[kind].name);
}

static void lines_are_what_is_attributed_to_them_in_c(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *path = build_kind(i, false);

		if (path)
			check_program(path, NULL, 18);
	}
}

static void lines_are_what_is_attributed_to_them_in_cpp(void **state)
{
	static const char *const headers[] = {"/usr/include/*"};
	const struct code_scope scope = {.patterns = headers, .n_patterns = 1};

	/* With sanitizers every third: to compile them takes most of the time. */
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i += COMPARES_TOOLS ? 1 : 3) {
		const char *path = build_kind(i, true);

		if (!path)
			continue;
		check_program(path, NULL, 25);
		check_program(path, &scope, 25);
	}
}

/* With the whole of Rust's library, which is out of scope. */
static void lines_of_rust_are_exact(void **state)
{
	char *path = in_scratch("rust");
	struct code_ranges ranges = {};
	struct code *code;
	const char *name;

	need_tool("rustc");
	/* It may be there without a toolchain. */
	if (run("rustc -g -O -o %s %s/store.rs", path, CODE_SOURCES)) {
		print_message("skipped: rustc does not work\n");
		skip();
	}
	check_program(path, NULL, 8);
	code = open_code(path, NULL);
	assert_int_equal(code__function(code, "Store::put", &ranges, &name), 0);
	assert_non_null(strstr(name, "::Store::put"));
	code_ranges__free(&ranges);
	code__free(code);
}

/* A program of some size: this one. */
static void lines_of_a_larger_program_are_exact(void **state)
{
	_cleanup_free_ char *path = realpath("/proc/self/exe", NULL);
	struct code *code = open_code(path, NULL);

	if (code__diagnostic(code)) {
		code__free(code);
		print_message("skipped: this program was built without debug information\n");
		skip();
	}
	code__free(code);
	check_program(path, NULL, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_what_is_attributed_to_them_in_c),
		cmocka_unit_test(lines_are_what_is_attributed_to_them_in_cpp),
		cmocka_unit_test(lines_of_rust_are_exact),
		cmocka_unit_test(lines_of_a_larger_program_are_exact),
	};

	return cmocka_run_group_tests(tests, scratch__make, scratch__remove);
}
