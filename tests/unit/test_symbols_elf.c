// SPDX-License-Identifier: BSD-2-Clause
/* Names and lines of real programs, beside what other tools say of them. */
#include "tests/unit/test_symbols_support.h"

#include <dlfcn.h>

#define QUESTIONS 1500

/* The functions of a file, by nm. */
struct functions {
	size_t n;
	struct {
		uint64_t start;
		uint64_t size;
		char *name;
	} at[16384];
};

static void read_functions(const char *path, struct functions *functions)
{
	FILE *lines = lines_of("nm -S --defined-only %s | c++filt -p", path);
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;

	functions->n = 0;
	while (getline(&line, &capacity, lines) > 0 && functions->n < ARRAY_SIZE(functions->at)) {
		unsigned long start;
		unsigned long size;
		int name = 0;
		char type;

		end_line(line);
		if (sscanf(line, "%lx %lx %c %n", &start, &size, &type, &name) != 3 || !name ||
		    !strchr("tTwWi", type))
			continue;
		functions->at[functions->n].start = start;
		functions->at[functions->n].size = size;
		functions->at[functions->n++].name = strdup(line + name);
	}
	pclose(lines);
	assert_true(functions->n > 3);
}

static void free_functions(struct functions *functions)
{
	for (size_t i = 0; i < functions->n; i++)
		free(functions->at[i].name);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The length of "foo" in "foo.cold", "foo [clone .cold]" and "foo@GLIBC_2.2.5". */
static size_t stem(const char *name)
{
	return 1 + strcspn(name + 1, ".[@");
}

static bool same_stem(const char *a, const char *b)
{
	/* glibc's names for its own calls to a function of its own. */
	a += strncmp(a, "__GI_", 5) ? 0 : 5;
	b += strncmp(b, "__GI_", 5) ? 0 : 5;
	return stem(a) == stem(b) && !strncmp(a, b, stem(a));
}

/* Whether @name is one of the names nm has for the function around @vaddr. */
static bool names_function(const struct functions *functions, const char *name, uint64_t vaddr)
{
	for (size_t i = 0; i < functions->n; i++)
		if (vaddr - functions->at[i].start < functions->at[i].size &&
		    same_stem(functions->at[i].name, name))
			return true;
	return false;
}

/* "FILE:LINE (discriminator 3)" of the tool against file and line of the frame. */
static bool same_place(const struct symbol_frame *frame, char *place)
{
	char *colon = strrchr(place, ':');
	const char *file;

	assert_non_null(colon);
	*colon = '\0';
	file = !strcmp(place, "??") ? "" : base_name(place);
	return !strcmp(frame->file ? base_name(frame->file) : "", file) &&
	       frame->line == strtoul(colon + 1, NULL, 10);
}

/* One address as @tool has it, from the two lines a frame that follow its own. */
static void compare_frames(FILE *answers, char *line, size_t size,
			   const struct functions *functions, const struct frames *frames,
			   uint64_t vaddr)
{
	size_t n = 0;

	while (fgets(line, (int)size, answers) && strncmp(line, "0x", 2)) {
		const struct symbol_frame *frame = &frames->at[n];
		char place[4096];

		end_line(line);
		assert_non_null(fgets(place, sizeof(place), answers));
		end_line(place);
		if (n >= frames->n)
			fail_msg("%lx: %zu frames, one more is %s", (unsigned long)vaddr, frames->n,
				 line);
		assert_int_equal(frame->inlined, n + 1 < frames->n);
		/*
		 * Of functions without linkage name the symbol says more, and
		 * addr2line calls those inlined into one by its name.
		 */
		if (!same_stem(frame->name, line) &&
		    !names_function(functions, frame->inlined ? line : frame->name, vaddr))
			fail_msg("%lx: frame %zu is %s, not %s", (unsigned long)vaddr, n,
				 frame->name, line);
		if (!same_place(frame, place))
			fail_msg("%lx: frame %zu is at %s:%u, not %s", (unsigned long)vaddr, n,
				 frame->file ? frame->file : "", frame->line, place);
		n++;
	}
	if (n != frames->n)
		fail_msg("%lx: %zu frames, not %zu", (unsigned long)vaddr, frames->n, n);
}

/*
 * Every frame of random addresses in @path, as @tool (an addr2line) has them
 * from @debug, the same file or its debug file.
 */
static void compare_with(const char *tool, const char *path, const char *debug)
{
	static struct functions functions;
	struct symbolizer *symbolizer = new_symbolizer(true, NULL);
	int number = add_file(symbolizer, path, NULL, -1);
	struct segment code = read_code(path);
	char *questions = in_scratch("questions");
	static uint64_t asked[QUESTIONS];
	FILE *file = fopen(questions, "we");
	uint64_t random = 11;
	char line[8192] = "";
	FILE *answers;

	need_tool(tool);
	assert_non_null(file);
	read_functions(debug, &functions);
	for (size_t i = 0; i < QUESTIONS; i++) {
		size_t which = next_random(&random) % functions.n;

		asked[i] =
			functions.at[which].start + next_random(&random) % functions.at[which].size;
		fprintf(file, "0x%lx\n", asked[i]);
	}
	fclose(file);
	answers = lines_of("%s -afi -e %s < %s | c++filt -p", tool, debug, questions);
	assert_non_null(fgets(line, sizeof(line), answers));
	for (size_t i = 0; i < QUESTIONS; i++) {
		struct frames frames;

		assert_int_equal(strtoul(line, NULL, 16), asked[i]);
		frames.n =
			symbolizer__resolve(symbolizer, number, asked[i] - code.vaddr + code.offset,
					    frames.at, MAX_FRAMES);
		compare_frames(answers, line, sizeof(line), &functions, &frames, asked[i]);
	}
	pclose(answers);
	free_functions(&functions);
	assert_null(symbolizer__diagnostic(symbolizer, number));
	symbolizer__free(symbolizer);
}

static void compare_build(const char *tool, const char *compiler, const char *flags,
			  const char *source, const char *name)
{
	const char *path = build(compiler, flags, source, name);

	compare_with(tool, path, path);
}

static void c_is_as_addr2line_has_it(void **state)
{
	compare_build("addr2line", "gcc", "-gdwarf-4", "calls.c", "c4");
	compare_build("addr2line", "gcc", "-gdwarf-5", "calls.c", "c5");
	compare_build("addr2line", "gcc", "-no-pie", "calls.c", "fixed");
	compare_build("addr2line", "gcc", "-gz", "calls.c", "packed");
	compare_build("addr2line", "gcc", "-gdwarf-4 -gz=zlib-gnu", "calls.c", "packed_old");
}

static void cpp_is_as_addr2line_has_it(void **state)
{
	compare_build("addr2line", "g++", "-gdwarf-4", "shapes.cc", "shapes4");
	compare_build("addr2line", "g++", "-gdwarf-5", "shapes.cc", "shapes5");
}

static void clang_is_as_llvm_has_it(void **state)
{
	compare_build("llvm-addr2line", "clang", "-gdwarf-4", "calls.c", "clang4");
	compare_build("llvm-addr2line", "clang", "-gdwarf-5", "calls.c", "clang5");
	compare_build("llvm-addr2line", "clang++", "-gdwarf-5", "shapes.cc", "clang_cpp");
}

/* The code and the file offset of it are at different distances from address 0. */
static void offsets_are_not_addresses(void **state)
{
	char *path =
		build("clang", "-fuse-ld=bfd -no-pie -Wl,-z,noseparate-code", "calls.c", "shifted");
	struct segment code = read_code(path);

	assert_int_not_equal(code.offset, code.vaddr);
	compare_with("llvm-addr2line", path, path);
}

static void split_units_are_found(void **state)
{
	need_tool("llvm-addr2line");
	compare_build("llvm-addr2line", "g++", "-gsplit-dwarf", "shapes.cc", "split");
}

/* Every stub that objdump knows. */
static void compare_stubs(const char *path)
{
	FILE *lines = lines_of("objdump -d %s 2>/dev/null", path);
	struct symbolizer *symbolizer = new_symbolizer(false, NULL);
	int number = add_file(symbolizer, path, NULL, -1);
	struct segment code = read_code(path);
	char line[512];
	size_t n = 0;

	while (fgets(line, sizeof(line), lines)) {
		unsigned long vaddr;
		char name[256];

		if (sscanf(line, "%lx <%255[^>]>:", &vaddr, name) != 2 || !strstr(name, "@plt"))
			continue;
		/* To objdump, the start of the table is "abort@plt-0x10". */
		if (strstr(name, "@plt-"))
			strcpy(name, ".plt");
		assert_string_equal(
			name_at(symbolizer, number, vaddr - code.vaddr + code.offset + 4), name);
		n++;
	}
	pclose(lines);
	assert_true(n >= 4);
	symbolizer__free(symbolizer);
}

static void stubs_are_named_as_objdump_has_them(void **state)
{
#ifndef __x86_64__
	print_message("skipped: stubs are compared on x86-64\n");
	skip();
#endif
	need_tool("objdump");
	compare_stubs(build("gcc", "", "calls.c", "lazy"));
	compare_stubs(build("gcc", "-Wl,-z,now", "calls.c", "now"));
	compare_stubs(build("gcc", "-fcf-protection -Wl,-z,ibtplt", "calls.c", "ibt"));
	compare_stubs(build("gcc", "-no-pie -static-libgcc", "calls.c", "fixed"));
}

/* Functions of the C library that everybody meets, by the name people call them. */
static void libc_is_named_by_plain_names(void **state)
{
	static const char *const names[] = {"pread", "malloc", "printf", "read", "qsort"};
	struct symbolizer *symbolizer = new_symbolizer(true, NULL);
	Dl_info info;
	int number;

	assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info), 0);
	number = add_file(symbolizer, info.dli_fname, NULL, -1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		void *function = dlsym(RTLD_DEFAULT, names[i]);
		const char *base;

		/* A sanitizer may have put its own function before libc's. */
		if (!dladdr(function, &info) || !strstr(info.dli_fname, "libc."))
			continue;
		base = info.dli_fbase;
		assert_string_equal(
			name_at(symbolizer, number, (uint64_t)((const char *)function - base)),
			names[i]);
	}
	symbolizer__free(symbolizer);
}

/* Lines and inlined frames of libc, from its package of debug symbols. */
static void libc_is_as_llvm_has_it(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(true, NULL);
	char debug[512];
	char libc[512];
	char hex[129];
	Dl_info info;
	int number;

	assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info), 0);
	snprintf(libc, sizeof(libc), "%s", info.dli_fname);
	read_build_id(libc, hex);
	snprintf(debug, sizeof(debug), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	number = add_file(symbolizer, libc, NULL, -1);
	name_at(symbolizer, number, 0);
	if (access(debug, R_OK)) {
		assert_non_null(symbolizer__diagnostic(symbolizer, number));
		symbolizer__free(symbolizer);
		print_message("skipped: no debug symbols of libc are installed\n");
		skip();
	}
	assert_null(symbolizer__diagnostic(symbolizer, number));
	symbolizer__free(symbolizer);
	compare_with("llvm-addr2line", libc, debug);
}

/* Of frames that do not fit, the outer ones stay: the function that is there. */
static void few_frames_are_the_outer_ones(void **state)
{
	struct symbolizer *symbolizer = new_symbolizer(true, NULL);
	const char *path = build("gcc", "", "calls.c", "few");
	int number = add_file(symbolizer, path, NULL, -1);
	struct segment code = read_code(path);
	size_t deep = 0;

	for (uint64_t at = code.offset; at < code.offset + code.size; at++) {
		struct frames all;
		struct frames two;

		all.n = symbolizer__resolve(symbolizer, number, at, all.at, MAX_FRAMES);
		two.n = symbolizer__resolve(symbolizer, number, at, two.at, 2);
		if (all.n <= 2)
			continue;
		deep++;
		assert_int_equal(two.n, 2);
		for (size_t i = 0; i < 2; i++) {
			assert_ptr_equal(two.at[i].name, all.at[all.n - 2 + i].name);
			assert_int_equal(two.at[i].line, all.at[all.n - 2 + i].line);
		}
	}
	assert_true(deep > 10);
	symbolizer__free(symbolizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(c_is_as_addr2line_has_it),
		cmocka_unit_test(cpp_is_as_addr2line_has_it),
		cmocka_unit_test(clang_is_as_llvm_has_it),
		cmocka_unit_test(offsets_are_not_addresses),
		cmocka_unit_test(split_units_are_found),
		cmocka_unit_test(stubs_are_named_as_objdump_has_them),
		cmocka_unit_test(libc_is_named_by_plain_names),
		cmocka_unit_test(libc_is_as_llvm_has_it),
		cmocka_unit_test(few_frames_are_the_outer_ones),
	};

	return cmocka_run_group_tests(tests, scratch__make, scratch__remove);
}
