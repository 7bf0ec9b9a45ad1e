// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Commands are no part of the library. */
#include "cmd/options.c"

struct choices {
	bool fast;
	bool fair;
	const char *output;
	uint64_t number;
	const char *order; /* "none" when given without a value */
	const char *list;
	unsigned n_added;
};

static int set_order(void *options, const char *value)
{
	if (value && !strcmp(value, "bad"))
		return error__set(-EINVAL, "bad is bad");
	((struct choices *)options)->order = value ? value : "none";
	return 0;
}

static int add(void *options, const char *value)
{
	((struct choices *)options)->n_added++;
	return 0;
}

static const struct option_row rows[] = {
	OPTION_GROUP("first"),
	OPTION_SWITCH("fast", 'f', struct choices, fast, "be fast"),
	OPTION_SWITCH("fair", 0, struct choices, fair, "be fair"),
	OPTION_TEXT("output", 'o', "FILE", struct choices, output, "where to"),
	OPTION_GROUP("second"),
	OPTION_NUMBER("number", 'n', "N", struct choices, number,
		      "how many, told in so many words that no terminal of eighty columns could "
		      "show them in a single line"),
	OPTION_CALL("order", 'g', "[ORDER]", "up|down", set_order, "which way"),
	OPTION_LIST("pid", 'p', "PID[,PID...]", struct choices, list, "which"),
	OPTION_ADD("target", 't', "WHAT", NULL, add, "what"),
	OPTION_END,
};

/* Parses words separated by blanks. */
static int parse(const char *line, struct choices *choices, int *first)
{
	static char copy[256];
	char *argv[16] = {"command"}, *rest = copy, *word;
	int argc = 1;

	*choices = (struct choices){};
	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&rest, " ")))
		argv[argc++] = word;
	return options__parse(rows, *line ? argc : 1, argv, choices, first);
}

static void values_in_every_form(void **state)
{
	static const char *const lines[] = {
		"-f -o x -n 7 -g up rest",
		"-fo x -n7 -gup rest",
		"-fox --number=7 --order=up rest",
		"--fast --output x --number 0x7 --order up rest",
		"--fas --out=x --num 7 -g up -- rest",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct choices choices;
		int first;

		assert_int_equal(parse(lines[i], &choices, &first), 0);
		assert_true(choices.fast);
		assert_false(choices.fair);
		assert_string_equal(choices.output, "x");
		assert_int_equal(choices.number, 7);
		assert_string_equal(choices.order, "up");
	}
}

static void argument_may_be_left_out(void **state)
{
	struct choices choices;
	int first;

	/* What follows is a value only when it is one that is offered. */
	assert_int_equal(parse("-g sideways", &choices, &first), 0);
	assert_string_equal(choices.order, "none");
	assert_int_equal(first, 2);
	assert_int_equal(parse("--order", &choices, &first), 0);
	assert_string_equal(choices.order, "none");
	assert_int_equal(parse("-g dow", &choices, &first), 0);
	assert_int_equal(first, 2);
	assert_int_equal(parse("-g down", &choices, &first), 0);
	assert_int_equal(first, 3);
}

/* A command to run keeps its own options. */
static void parsing_stops_at_the_first_word(void **state)
{
	struct choices choices;
	int first;

	assert_int_equal(parse("-f ls -n 3", &choices, &first), 0);
	assert_int_equal(first, 2);
	assert_int_equal(choices.number, 0);
	assert_int_equal(parse("- -f", &choices, &first), 0);
	assert_int_equal(first, 1);
	assert_int_equal(parse("", &choices, &first), 0);
	assert_int_equal(first, 1);
}

static void mistakes_are_told(void **state)
{
	static const struct {
		const char *line;
		const char *message;
	} cases[] = {
		{"--nothing", "there is no option --nothing"},
		{"-x", "there is no option -x"},
		{"--fa", "--fa could be --fast or --fair"},
		{"--output", "--output requires FILE"},
		{"-o", "-o requires FILE"},
		{"--fast=1", "--fast takes no value"},
		{"--number seven", "--number: 'seven' is not a number"},
		{"--number -7", "--number: '-7' is not a number"},
		{"--number 99999999999999999999",
		 "--number: '99999999999999999999' is not a number"},
		{"--order=bad", "--order: bad is bad"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct choices choices;
		int first;

		assert_int_equal(parse(cases[i].line, &choices, &first), -EINVAL);
		assert_string_equal(error__message(-EINVAL), cases[i].message);
	}
}

static void help_is_asked_for(void **state)
{
	struct choices choices;
	int first;

	assert_int_equal(parse("--help", &choices, &first), 1);
	assert_int_equal(parse("-f -h", &choices, &first), 1);
}

static void help_is_wrapped(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	options__print(rows, to);
	fclose(to);
	assert_string_equal(
		text, "first:\n"
		      "  -f, --fast              be fast\n"
		      "      --fair              be fair\n"
		      "  -o, --output FILE       where to\n"
		      "\n"
		      "second:\n"
		      "  -n, --number N          how many, told in so many words that no terminal "
		      "of\n"
		      "                          eighty columns could show them in a single line\n"
		      "  -g, --order[=ORDER]     which way\n"
		      "  -p, --pid PID[,PID...]  which\n"
		      "  -t, --target WHAT       what\n");
	free(text);
}

static void durations_have_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} fine[] = {{"1", 1000000000}, {"1.5s", 1500000000}, {"20ms", 20000000},    {"3us", 3000},
		    {"7ns", 7},	       {"2m", 120000000000}, {"1h", 3600000000000}, {"0", 0}};
	static const char *const wrong[] = {"", "s", "-1", "1x", "1 s", "nan", "inf", "1e300"};
	uint64_t ns;

	for (size_t i = 0; i < ARRAY_SIZE(fine); i++) {
		assert_int_equal(options__duration(fine[i].text, &ns), 0);
		assert_int_equal(ns, fine[i].ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(options__duration(wrong[i], &ns), -EINVAL);
}

/* What is given again adds up, or is refused: none is dropped. */
static void nothing_is_dropped(void **state)
{
	static const char *const refused[] = {"-o a -o b", "--output=a -o b", "-n 1 -n 2",
					      "-g up -g", "-g -g down"};
	struct choices choices;
	int first;

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_int_equal(parse(refused[i], &choices, &first), -EINVAL);
		assert_non_null(strstr(error__message(-EINVAL), "was given before"));
	}
	assert_int_equal(parse("-o a -o a -n 1 -n 1 -f -f -g up -g up", &choices, &first), 0);
	assert_int_equal(parse("-p 1 -p 2,3 --pid 4 -t a -t a -t b", &choices, &first), 0);
	assert_string_equal(choices.list, "1,2,3,4");
	assert_int_equal(choices.n_added, 3);
	free((char *)choices.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_in_every_form),
		cmocka_unit_test(nothing_is_dropped),
		cmocka_unit_test(argument_may_be_left_out),
		cmocka_unit_test(parsing_stops_at_the_first_word),
		cmocka_unit_test(mistakes_are_told),
		cmocka_unit_test(help_is_asked_for),
		cmocka_unit_test(help_is_wrapped),
		cmocka_unit_test(durations_have_units),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
