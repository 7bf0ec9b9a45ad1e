// SPDX-License-Identifier: BSD-2-Clause
/* Code by a parser: as it is read in this process; when parsers end; damaged answers. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "privsep/code_reader.h"
#include "privsep/wire.h"
#include "symbols/code/code.h"
#include "symbols/code/function_probes.h"
#include "tests/unit/rounds.h"

static const struct code_scope everything = {};
static struct privsep *privsep;
static char program[PATH_MAX];

int twice(int n);

enum { BEFORE_TWICE = __LINE__ };
__attribute__((noinline)) int twice(int n)
{
	__asm__ volatile("nop" : "+r"(n));
	return 2 * n;
}
#define TWICE_LINE "test_code_reader.c", BEFORE_TWICE + 3

static int start(void **state)
{
	signal(SIGBUS, SIG_DFL); /* also in parsers, which would be taken for tests that fail */
	return readlink("/proc/self/exe", program, sizeof(program) - 1) <= 0 ||
	       privsep__start(&privsep);
}

static int stop(void **state)
{
	privsep__free(privsep);
	return 0;
}

static struct code_reader *new_reader(void)
{
	struct code_reader *reader;

	assert_int_equal(code_reader__new(privsep, &everything, &reader), 0);
	return reader;
}

/* This program, with a descriptor that cannot be read. */
static struct code_file *own_file(struct code_reader *reader)
{
	static int fd = -1;
	struct code_file *file;

	if (fd < 0)
		fd = open(program, O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(code_reader__file(reader, fd, program, &file), 0);
	return file;
}

static struct code *own_code(void)
{
	_cleanup_close_ int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct code *code;

	assert_int_equal(code__new(fd, program, NULL, &everything, &code), 0);
	return code;
}

static void assert_same_ranges(const struct code_ranges *a, const struct code_ranges *b)
{
	assert_true(a->ranges.n && a->ranges.n == b->ranges.n);
	assert_memory_equal(a->ranges.data, b->ranges.data, a->ranges.n * sizeof(*a->ranges.data));
}

static void ranges_are_those_of_code(void **state)
{
	struct code_reader *reader = new_reader();
	struct code_file *file = own_file(reader);
	struct code *code = own_code();
	struct code_ranges asked = {}, read = {};
	struct code_place place, there;
	const char *full, *full_there;
	uint64_t address;

	assert_int_equal(code_file__line(file, TWICE_LINE, &asked, &place), 0);
	assert_int_equal(code__line(code, TWICE_LINE, &read, &there), 0);
	assert_same_ranges(&asked, &read);
	assert_string_equal(place.file, there.file);
	assert_int_equal(place.line, there.line);
	asked.ranges.n = 0;
	assert_int_equal(code_file__function(file, "twice", &asked, &full), 0);
	assert_int_equal(code__function(code, "twice", &read, &full_there), 0);
	assert_same_ranges(&asked, &read);
	assert_string_equal(full, full_there);
	address = asked.ranges.data[0].start;
	assert_int_equal(code_file__places(file, &address, 1, &place), 0);
	code__place(code, address, &there);
	assert_string_equal(place.function, "twice");
	assert_ptr_equal(place.function, full); /* equal texts are one */
	assert_string_equal(place.file, there.file);
	assert_int_equal(place.line, there.line);
	assert_int_equal(place.in_scope, there.in_scope);
	assert_int_equal(code_file__function(file, "thrice", &asked, &full), -ENOENT);
	code_ranges__free(&asked);
	code_ranges__free(&read);
	code__free(code);
	code_file__free(file);
	code_reader__free(reader);
}

static void probes_are_those_of_code(void **state)
{
	struct code_reader *reader = new_reader();
	struct code_file *file = own_file(reader);
	struct code *code = own_code();
	struct found_functions found = {};
	struct code_entries entries = {};
	struct code_ranges there = {};
	struct function_probes probes = {};
	const char *names[5];

	assert_int_equal(code_file__functions(file, "twic?", true, &found), 0);
	assert_int_equal(found.functions.n, 1);
	assert_int_equal(code__function_entries(code, "twice", &there), 0);
	assert_int_equal(function_probes__find(code, there.ranges.data[0].start, &probes), 0);
	assert_string_equal(found.functions.data[0].name, "twice");
	assert_int_equal(found.functions.data[0].entry, probes.entry);
	assert_int_equal(found.functions.data[0].return_probe, probes.return_probe);
	assert_int_equal(found.functions.data[0].exits.n, probes.exits.n);
	assert_int_equal(code_file__entries(file, "twice", 0, &entries), 0);
	assert_int_equal(entries.entries.n, 1);
	assert_int_equal(entries.entries.data[0].address, there.ranges.data[0].start);
	assert_int_equal(code_file__suggest(file, "twcie", names, ARRAY_SIZE(names)), 1);
	assert_string_equal(names[0], "twice");
	found_functions__free(&found);
	function_probes__free(&probes);
	array__free(&entries.entries);
	code_ranges__free(&there);
	code__free(code);
	code_file__free(file);
	code_reader__free(reader);
}

static void files_that_are_no_programs_have_no_code(void **state)
{
	struct code_reader *reader = new_reader();
	_cleanup_close_ int fd = open(__FILE__, O_PATH | O_CLOEXEC);
	_cleanup_close_ int own = open(program, O_PATH | O_CLOEXEC);
	struct code_entries entries = {};
	struct code_ranges ranges = {};
	struct code_file *file;

	fd = fd < 0 ? open("/etc/passwd", O_PATH | O_CLOEXEC) : fd;
	assert_int_equal(code_reader__file(reader, fd, "/text", &file), 0);
	assert_int_equal(code_file__function(file, "twice", &ranges, NULL), -ENOEXEC);
	assert_null(code_file__diagnostic(file));
	assert_false(code_reader__is_program(reader, fd, "/text"));
	assert_true(code_reader__is_program(reader, own, program));
	assert_int_equal(code_reader__usdt(reader, own, program, NULL, "no", &entries), -ENOENT);
	assert_int_equal(code_reader__usdt(reader, fd, "/text", NULL, "no", &entries), -ENOEXEC);
	code_file__free(file);
	code_reader__free(reader);
}

static void make(const char *command)
{
	assert_int_equal(system(command), 0);
}

/* Whether code of the line is found in a program; *@missing: a debug file is missing. */
static int find_in(const char *path, bool *missing)
{
	struct code_reader *reader = new_reader();
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct code_ranges ranges = {};
	struct code_file *file;
	int err;

	assert_true(fd >= 0);
	assert_int_equal(code_reader__file(reader, fd, path, &file), 0);
	err = code_file__line(file, "there.c", 1, &ranges, NULL);
	*missing = code_file__diagnostic(file);
	code_ranges__free(&ranges);
	code_reader__free(reader);
	return err;
}

/* The parser is given debug files, by whichever library searches for them; and no others. */
static void debug_files_are_found(void **state)
{
	char folder[] = "/tmp/dwell-code-XXXXXX", command[1024], path[128];
	bool missing;

	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof(command),
		 "cd %s && export CCACHE_DISABLE=1 && echo 'int main(void) { return 0; }' >there.c "
		 "&& mkdir .debug &&"
		 "gcc -g -Wl,--build-id there.c -o whole && gcc -g -gsplit-dwarf -c there.c &&"
		 "gcc there.o -o split && objcopy --only-keep-debug whole .debug/app.debug &&"
		 "objcopy -S --add-gnu-debuglink=.debug/app.debug whole app &&"
		 "cp .debug/app.debug named && objcopy -S --add-gnu-debuglink=named whole other",
		 folder);
	make(command);
	snprintf(path, sizeof(path), "%s/app", folder);
	assert_int_equal(find_in(path, &missing), 0);
	assert_false(missing);
	snprintf(path, sizeof(path), "%s/split", folder);
	assert_int_equal(find_in(path, &missing), 0);
	assert_false(missing);
	/* Nothing says that "named" is a debug file. */
	snprintf(path, sizeof(path), "%s/other", folder);
	assert_int_equal(find_in(path, &missing), -ENODATA);
	assert_true(missing);
	/* A debug file that neither all nor the program's owner may read, by a link in its place.
	 */
	if (!geteuid()) {
		snprintf(command, sizeof(command),
			 "cd %s && mv .debug/app.debug secret && ln -s ../secret .debug/app.debug "
			 "&& chown 1 app && chmod 600 secret",
			 folder);
		make(command);
		snprintf(path, sizeof(path), "%s/app", folder);
		assert_int_equal(find_in(path, &missing), -ENODATA);
		assert_true(missing);
		snprintf(command, sizeof(command), "cd %s && chown 1 secret", folder);
		make(command);
		assert_int_equal(find_in(path, &missing), 0);
	}
	snprintf(command, sizeof(command), "cd %s && rm there.dwo && mkfifo there.dwo", folder);
	make(command);
	snprintf(path, sizeof(path), "%s/split", folder);
	(void)find_in(path, &missing); /* the lines are in the program */
	assert_true(missing);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	make(command);
}

/* It is reaped later. */
static bool has_ended(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], text[256] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	return !file || !fgets(text, sizeof(text), file) || strstr(text, ") Z") != NULL;
}

/* Who is killed between questions is replaced, and reads the file again. */
static void parsers_that_end_are_replaced(void **state)
{
	struct code_reader *reader = new_reader();
	struct code_file *file = own_file(reader);
	struct code_ranges ranges = {};
	const char *full;
	pid_t pid;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(code_file__function(file, "twice", &ranges, &full), 0);
		assert_string_equal(full, "twice");
		pid = code_reader__pid(reader);
		assert_int_equal(kill(pid, SIGKILL), 0);
		for (int j = 0; j < 10000 && !has_ended(pid); j++)
			usleep(1000);
	}
	code_ranges__free(&ranges);
	code_file__free(file);
	code_reader__free(reader);
}

/* A file that is cut short while a parser has it mapped kills the parser, and nothing else. */
static void files_that_are_cut_short_are_given_up(void **state)
{
	char path[] = "/tmp/dwell-code-XXXXXX", command[2 * PATH_MAX];
	struct code_reader *reader = new_reader();
	struct code_file *own = own_file(reader), *file;
	_cleanup_close_ int fd = mkstemp(path);
	struct code_ranges ranges = {};
	const struct privsep_failure *failures;
	uint64_t more;
	size_t n;

	snprintf(command, sizeof(command), "cat %s >%s", program, path);
	assert_int_equal(system(command), 0);
	assert_int_equal(code_reader__file(reader, fd, path, &file), 0);
	assert_int_equal(code_file__function(file, "nothing", &ranges, NULL), -ENOENT);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(code_file__line(file, TWICE_LINE, &ranges, NULL), -ENOEXEC);
	assert_int_equal(code_file__line(file, TWICE_LINE, &ranges, NULL), -ENOEXEC);
	failures = privsep__failures(privsep, &n, &more);
	assert_true(n >= 1);
	assert_string_equal(failures[n - 1].path, path);
	assert_int_equal(failures[n - 1].err, -EFAULT);
	assert_int_equal(code_file__line(own, TWICE_LINE, &ranges, NULL), 0);
	code_ranges__free(&ranges);
	unlink(path);
	code_reader__free(reader);
}

/* As a parser that was taken over may answer. */
static void check_damaged(const uint8_t *bytes, size_t size)
{
	const struct cursor cursor = {.at = bytes, .end = bytes + size};
	struct cursor at[4] = {cursor, cursor, cursor, cursor};
	struct found_functions found = {};
	struct strings strings = {};
	struct code_entries entries = {};
	struct code_ranges ranges = {};
	struct code_place place;
	struct code_names names;

	if (!code_answer__ranges(&at[0], &strings, &ranges, &place)) {
		assert_non_null(place.function);
		for (size_t i = 0; i < ranges.ranges.n; i++)
			assert_true(ranges.ranges.data[i].end > ranges.ranges.data[i].start &&
				    (!i ||
				     ranges.ranges.data[i].start > ranges.ranges.data[i - 1].end));
	}
	if (!code_answer__entries(&at[1], 5000, &entries))
		for (size_t i = 0; i < entries.entries.n; i++)
			assert_true(entries.entries.data[i].offset + entries.entries.data[i].skip <
					    5000 &&
				    entries.entries.data[i].semaphore < 5000);
	if (!code_answer__functions(&at[2], &strings, 5000, &found))
		for (size_t i = 0; i < found.functions.n; i++)
			assert_true(found.functions.data[i].name &&
				    found.functions.data[i].entry < 5000);
	if (!code_answer__names(&at[3], &strings, 3, &names))
		assert_true(names.n <= 3);
	code_ranges__free(&ranges);
	array__free(&entries.entries);
	found_functions__free(&found);
	strings__free(&strings);
}

static void put_answers(struct buffer answers[4])
{
	struct code_range range[] = {{100, 200}, {300, 301}};
	const struct code_ranges ranges = {{range, 2, 2}};
	const struct code_place place = {"/src/a.c", 7, "f", true};
	struct code_entry entry[] = {{.address = 7, .offset = 4000, .skip = 4}, {.offset = 1}};
	const struct code_entries entries = {{entry, 2, 2}};
	struct function_exit exit[] = {{4100, 0}, {4200, 21}};
	const struct found_function function = {.name = "f", .entry = 4000, .exits = {exit, 2, 2}};

	code_answer__put_ranges(&answers[0], &ranges, &place);
	code_answer__put_entries(&answers[1], &entries);
	buffer__varint(&answers[2], 1);
	code_answer__put_function(&answers[2], &function);
	buffer__varint(&answers[3], 2);
	code_answer__put_text(&answers[3], "one");
	code_answer__put_text(&answers[3], "two");
}

static void damaged_answers_are_refused(void **state)
{
	struct buffer answers[4] = {};
	unsigned int seed = 1;

	put_answers(answers);
	for (size_t i = 0; i < 4; i++) {
		for (size_t n = 0; n <= answers[i].n; n++)
			check_damaged(answers[i].data, n);
		for (unsigned int j = 0; j < rounds(20000); j++) {
			uint8_t bytes[256];

			assert_true(answers[i].n < sizeof(bytes));
			memcpy(bytes, answers[i].data, answers[i].n);
			for (unsigned int k = 0; k < 1 + j % 3; k++)
				bytes[(size_t)rand_r(&seed) % answers[i].n] =
					(uint8_t)rand_r(&seed);
			check_damaged(bytes, answers[i].n);
		}
		buffer__free(&answers[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_those_of_code),
		cmocka_unit_test(probes_are_those_of_code),
		cmocka_unit_test(files_that_are_no_programs_have_no_code),
		cmocka_unit_test(debug_files_are_found),
		cmocka_unit_test(parsers_that_end_are_replaced),
		cmocka_unit_test(files_that_are_cut_short_are_given_up),
		cmocka_unit_test(damaged_answers_are_refused),
	};

	return cmocka_run_group_tests_name("code_reader", tests, start, stop);
}
