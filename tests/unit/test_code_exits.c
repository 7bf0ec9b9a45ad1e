// SPDX-License-Identifier: BSD-2-Clause
/* Where functions are left: as objdump disassembles them, and functions whose exits are known. */
#include "tests/unit/test_code_support.h"

#include "symbols/code/code_exits.h"

#define EXITS CODE_SOURCES "/exits.c"

struct known {
	const char *function;
	size_t exits;	   /* at -O2 */
	size_t tail_calls; /* of them */
};

/* Whether there is a return at linked @address of the program. */
static bool is_return(const char *path, uint64_t address)
{
	const struct segment text = read_code(path);
	uint8_t code[2] = {};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(address >= text.vaddr && address < text.vaddr + text.size);
	assert_true(pread(fd, code, 2, (off_t)(address - text.vaddr + text.offset)) == 2);
	close(fd);
	return code[0] == 0xc3 || (code[0] == 0xf3 && code[1] == 0xc3);
}

static void exits_of_known_functions(void **state)
{
	static const struct known all[] = {
		{"tail_call", 1, 1},
		{"tail_call_by_pointer", 1, 1},
		{"loop", 1, 0},
		{"with_cold_part", 1, 0},
	};
	static const char *const flags[] = {"-O2", "-O2 -fcf-protection", "-O2 -no-pie"};

	for (size_t f = 0; f < sizeof(flags) / sizeof(*flags); f++) {
		char *path = build_code("gcc", flags[f], EXITS, "exits");
		struct code *code = open_code(path, NULL);

		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
			struct code_ranges entries = {};
			struct code_exits exits = {};
			size_t tail_calls = 0;

			assert_int_equal(code__function_entries(code, all[i].function, &entries),
					 0);
			assert_int_equal(code__exits(code, entries.ranges.data[0].start, &exits),
					 0);
			assert_int_equal(exits.exits.n, all[i].exits);
			for (size_t k = 0; k < exits.exits.n; k++)
				tail_calls += !is_return(path, exits.exits.data[k].address);
			assert_int_equal(tail_calls, all[i].tail_calls);
			code_exits__free(&exits);
			code_ranges__free(&entries);
		}
		code__free(code);
	}
}

/* A jump by a table is none; a visit of a loop's begin is not a call. */
static void switches_and_loops(void **state)
{
	char *path = build_code("gcc", "-O2", EXITS, "exits");
	struct code *code = open_code(path, NULL);
	struct code_ranges entries = {};
	struct code_exits exits = {};

	assert_int_equal(code__function_entries(code, "choose", &entries), 0);
	assert_int_equal(code__exits(code, entries.ranges.data[0].start, &exits), 0);
	assert_true(exits.exits.n > 1);
	for (size_t i = 0; i < exits.exits.n; i++)
		assert_true(is_return(path, exits.exits.data[i].address));
	code_exits__free(&exits);
	exits = (struct code_exits){};
	assert_int_equal(code__function_entries(code, "loop", &entries), 0);
	assert_int_equal(code__exits(code, entries.ranges.data[0].start, &exits), 0);
	assert_int_equal(exits.prologue.data[0], entries.ranges.data[0].start);
	code_exits__free(&exits);
	code_ranges__free(&entries);
	code__free(code);
}

/* A function in objdump's output. */
struct listed {
	char name[256];
	uint64_t start;
	ARRAY(uint64_t) exits; /* returns, and direct jumps elsewhere, without conditional ones */
};

/* Whether the operands of a jump, "1234 <name+0x10>", are outside of the function. */
static bool jumps_out(const struct listed *function, const char *operands)
{
	const char *open = strchr(operands, '<');
	size_t length = strlen(function->name);

	if (!open || strchr(operands, '*'))
		return false;
	open++;
	return strncmp(open, function->name, length) != 0 ||
	       (open[length] != '+' && open[length] != '>' &&
		strncmp(open + length, ".cold", 5) != 0);
}

static size_t compare(struct code *code, struct listed *function)
{
	struct code_exits exits = {};
	int err = code__exits(code, function->start, &exits);

	/* An alias has another name in the symbol table, or it is no function. */
	for (size_t i = 0; i < function->exits.n && !err; i++) {
		bool found = false;

		for (size_t k = 0; k < exits.exits.n; k++)
			found |= exits.exits.data[k].address == function->exits.data[i];
		if (!found)
			fail_msg("%s has an exit at %lx", function->name, function->exits.data[i]);
	}
	code_exits__free(&exits);
	array__free(&function->exits);
	return !err;
}

/* This test itself, which is a large program. */
static void as_objdump_has_it(void **state)
{
	struct listed function = {};
	struct code *code;
	size_t n = 0, failed = 0;
	char line[1024];
	FILE *lines;

	if (!COMPARES_TOOLS)
		return;
	need_tool("objdump");
	code = open_code("/proc/self/exe", NULL);
	lines = lines_of("objdump -d --no-show-raw-insn -j .text /proc/%d/exe", getpid());
	while (fgets(line, sizeof(line), lines)) {
		char mnemonic[32], operands[512];
		uint64_t address;

		if (sscanf(line, "%lx <%255[^>]>:", &address, function.name) == 2) {
			if (function.start)
				compare(code, &function) ? n++ : failed++;
			function.start = address;
		}
		*operands = '\0';
		if (sscanf(line, " %lx: %31s %511[^\n]", &address, mnemonic, operands) < 2)
			continue;
		if (!strcmp(mnemonic, "ret") ||
		    (!strcmp(mnemonic, "jmp") && jumps_out(&function, operands)))
			assert_int_equal(array__push(&function.exits, address), 0);
	}
	pclose(lines);
	array__free(&function.exits);
	code__free(code);
	print_message("%zu functions compared, %zu unknown\n", n, failed);
	assert_true(n > 300 && failed < n / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exits_of_known_functions),
		cmocka_unit_test(switches_and_loops),
		cmocka_unit_test(as_objdump_has_it),
	};

	return cmocka_run_group_tests(tests, scratch__make, scratch__remove);
}
