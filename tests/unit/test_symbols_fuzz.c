// SPDX-License-Identifier: BSD-2-Clause
/*
 * Damaged files: whatever is in them, an answer comes back in bounded time and
 * memory. The damage is the same on every run; DWELL_FUZZ=N multiplies it.
 */
#include "tests/unit/test_symbols_damage.h"

#include <fcntl.h>

#include "symbols/jitmap.h"
#include "symbols/kallsyms.h"

#define ADDRESSES 48
#define VARIABLES 16

static size_t variables_named;

/* Asks for addresses all over the code; every string that comes back is read. */
static size_t ask(struct symbolizer *symbolizer, int number, const struct segment *code,
		  uint64_t *random)
{
	size_t named = 0;

	for (unsigned int i = 0; i < ADDRESSES; i++) {
		uint64_t at = code->offset + next_random(random) % code->size;
		struct frames frames;

		frames.n = symbolizer__resolve(symbolizer, number, at, frames.at, MAX_FRAMES);
		assert_in_range(frames.n, 1, MAX_FRAMES);
		for (size_t j = 0; j < frames.n; j++) {
			named += strlen(frames.at[j].name) > 0;
			named += frames.at[j].file && strlen(frames.at[j].file) > 0;
		}
	}
	for (unsigned int i = 0; i < VARIABLES; i++) {
		uint64_t at = code->offset + next_random(random) % 0x6000;
		const char *name = symbolizer__variable(symbolizer, number, at);

		variables_named += name && strlen(name) > 0;
	}
	return named;
}

static void damage_and_ask(const char *path, unsigned int n, uint64_t seed)
{
	struct image image = read_image(path);
	uint8_t *bytes = malloc(image.size);
	uint64_t random = seed;
	size_t named = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct symbolizer *symbolizer = new_symbolizer(true, scratch);
		size_t size;
		int fd;

		memcpy(bytes, image.bytes, image.size);
		size = damage(bytes, image.size, &random);
		fd = file_of(bytes, size);
		hang__limit(SECONDS);
		named += ask(symbolizer, add_file(symbolizer, "/damaged", NULL, fd), &image.code,
			     &random);
		symbolizer__free(symbolizer);
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
	damage_and_ask(build("gcc", "-gdwarf-5", "calls.c", "dwarf5"), rounds(1500), 1);
	damage_and_ask(build("gcc", "-gdwarf-4", "calls.c", "dwarf4"), rounds(1500), 2);
}

static void damaged_cpp_programs_do_no_harm(void **state)
{
	damage_and_ask(build("g++", "-gdwarf-5", "shapes.cc", "cpp"), rounds(100), 3);
}

static void damaged_variables_do_no_harm(void **state)
{
	const unsigned int n = rounds(200);

	variables_named = 0;
	damage_and_ask(build("g++", "-gdwarf-5", "variables.cc", "variables5"), n, 9);
	damage_and_ask(build("g++", "-gdwarf-4", "variables.cc", "variables4"), n, 10);
	assert_true(variables_named > n);
}

static void damaged_compressed_programs_do_no_harm(void **state)
{
	damage_and_ask(build("gcc", "-gz", "calls.c", "packed"), rounds(500), 4);
}

/* The program is well, what belongs to it is not. */
static void damaged_debug_files_do_no_harm(void **state)
{
	char *whole = build("gcc", "-Wl,--build-id=none", "calls.c", "whole");
	struct image debug;
	struct segment code = read_code(whole);
	uint64_t random = 5;

	assert_int_equal(run("cd %s && objcopy --only-keep-debug whole whole.debug && "
			     "objcopy --strip-all whole bare",
			     scratch),
			 0);
	debug = read_image(in_scratch("whole"));
	for (unsigned int i = 0; i < rounds(40); i++) {
		struct symbolizer *symbolizer = new_symbolizer(true, scratch);
		uint8_t *bytes = malloc(debug.size);
		size_t size;
		int fd;

		/* A link with the CRC of the damaged file. */
		memcpy(bytes, debug.bytes, debug.size);
		size = damage(bytes, debug.size, &random);
		fd = open(in_scratch("whole.debug"), O_WRONLY | O_TRUNC | O_CLOEXEC);
		assert_int_equal(write(fd, bytes, size), (ssize_t)size);
		close(fd);
		free(bytes);
		assert_int_equal(run("cd %s && objcopy --add-gnu-debuglink=whole.debug bare linked",
				     scratch),
				 0);
		hang__limit(SECONDS);
		ask(symbolizer, add_file(symbolizer, in_scratch("linked"), NULL, -1), &code,
		    &random);
		symbolizer__free(symbolizer);
		hang__limit(0);
	}
	free(debug.bytes);
}

static void damaged_debugdata_does_no_harm(void **state)
{
	need_tool("xz");
	build("gcc", "", "calls.c", "mini");
	assert_int_equal(
		run("cd %s && objcopy --strip-debug mini sym && rm -f sym.xz && xz -k sym && "
		    "objcopy --strip-all --add-section .gnu_debugdata=sym.xz mini small",
		    scratch),
		0);
	damage_and_ask(in_scratch("small"), rounds(300), 6);
}

/* A text file of the kind @sample, damaged, as @path. */
static void write_damaged(const char *path, const char *sample, uint64_t *random)
{
	size_t size = strlen(sample);
	uint8_t *bytes = malloc(size);
	FILE *file = fopen(path, "we");

	memcpy(bytes, sample, size);
	for (unsigned int i = 0; i < 4; i++)
		size = damage(bytes, size, random) / 2 + size / 2;
	assert_non_null(file);
	fwrite(bytes, 1, size, file);
	fclose(file);
	free(bytes);
}

static char *sample_text(const char *format, unsigned int lines)
{
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	for (unsigned int i = 0; i < lines; i++)
		fprintf(memory, format, 0x1000 + i * 0x20, i, i);
	fclose(memory);
	return text;
}

static void damaged_maps_do_no_harm(void **state)
{
	char *map = sample_text("%x 30 name %u of function %u\n", 200);
	char *symbols = sample_text("00000000%08x t function_%u\t[module%u]\n", 200);
	char *map_path = in_scratch("tmp/perf-%d.map", getpid());
	char *symbols_path = in_scratch("kallsyms");
	uint64_t random = 8;

	assert_int_equal(run("mkdir -p %s/tmp", scratch), 0);
	for (unsigned int i = 0; i < rounds(1000); i++) {
		struct kallsyms kallsyms = {};
		struct jitmap jitmap = {};

		write_damaged(map_path, map, &random);
		write_damaged(symbols_path, symbols, &random);
		hang__limit(SECONDS);
		if (!jitmap__read(&jitmap, scratch, (uint32_t)getpid(), -1)) {
			for (uint64_t at = 0; at < 0x3000; at += 7) {
				const char *name = jitmap__find(&jitmap, at);

				assert_true(!name || strlen(name) > 0);
			}
			jitmap__free(&jitmap);
		}
		if (!kallsyms__read(&kallsyms, symbols_path, true)) {
			for (uint64_t at = 0; at < 0x3000; at += 7) {
				struct symbol *symbol = symtab__find(&kallsyms.symtab, at);

				assert_true(!symbol || strlen(symbol->raw) > 0);
			}
			kallsyms__free(&kallsyms);
		}
		hang__limit(0);
	}
	free(map);
	free(symbols);
}

static void damaged_names_do_no_harm(void **state)
{
	static const char *const names[] = {
		"_ZNSt6vectorISt10unique_ptrIN8geometry5shapeESt14default_deleteIS2_EESaIS5_EE12"
		"emplace_backIJS5_EEERS5_DpOT_",
		"_ZSt13__adjust_heapIN9__gnu_cxx17__normal_iteratorIPSt10unique_ptrIN8geometry5"
		"shapeESt14default_deleteIS4_EESt6vectorIS7_SaIS7_EEEElS7_NS0_5__ops15_Iter_comp_"
		"iterIZ4mainEUlRKT_RKT0_E_EEEvSE_SH_SH_T1_T2_",
		"_RINvNtNtCs6GmmlP4bgsG_1r1m1n1fINtNtCslNYArtu3iFV_5alloc3vec3VeclEEB6_",
		"_ZN29_$LT$r..S$u20$as$u20$r..T$GT$2go17h85e087bf38ecd78dE",
	};
	uint64_t random = 9;

	for (unsigned int i = 0; i < rounds(20000); i++) {
		const char *name = names[i % ARRAY_SIZE(names)];
		char copy[256] = "";
		size_t length = strlen(name);
		char *plain;

		strcpy(copy, name);
		for (unsigned int j = 0; j < 1 + next_random(&random) % 4; j++)
			copy[2 + next_random(&random) % (length - 2)] =
				name[next_random(&random) % length];
		hang__limit(SECONDS);
		plain = symbols__demangle(copy);
		hang__limit(0);
		assert_true(!plain || strlen(plain) > 0);
		free(plain);
	}
	check_memory();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_programs_do_no_harm),
		cmocka_unit_test(damaged_cpp_programs_do_no_harm),
		cmocka_unit_test(damaged_variables_do_no_harm),
		cmocka_unit_test(damaged_compressed_programs_do_no_harm),
		cmocka_unit_test(damaged_debug_files_do_no_harm),
		cmocka_unit_test(damaged_debugdata_does_no_harm),
		cmocka_unit_test(damaged_maps_do_no_harm),
		cmocka_unit_test(damaged_names_do_no_harm),
	};

	return cmocka_run_group_tests(tests, scratch__make, scratch__remove);
}
