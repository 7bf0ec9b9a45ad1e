// SPDX-License-Identifier: BSD-2-Clause
/* Completion scripts for shells, and the OPTIONS section of each man page, from the tables of
 * options. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cmd/completion.h"

struct completion_options {
	const char *man;
};

#define SHELLS "bash|zsh|fish"

static const struct shell {
	const char *name;
	void (*print)(const struct command *const *commands, size_t n);
} shells[] = {
	{"bash", completion__print_bash},
	{"zsh", completion__print_zsh},
	{"fish", completion__print_fish},
};

static const struct option_row completion_rows[] = {
	OPTION_TEXT("man", 0, "COMMAND", struct completion_options, man,
		    "print the OPTIONS section of COMMAND's man page instead"),
	OPTION_END,
};

/* @text with the characters that are special in troff escaped. */
static void print_man_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '-')
			printf("\\-");
		else if (*text == '\\')
			printf("\\e");
		else
			putchar(*text);
	}
}

static void print_man_option(const struct option_row *row)
{
	if (row->type == OPTION_TYPE_GROUP) {
		printf(".SS ");
		print_man_text(row->help);
		printf("\n");
		return;
	}
	printf(".TP\n");
	if (row->letter)
		printf("\\fB\\-%c\\fR, ", row->letter);
	printf("\\fB\\-\\-");
	print_man_text(row->name);
	printf("\\fR");
	if (row->arg) {
		bool may_omit = row->arg[0] == '[';

		printf(may_omit ? "[=\\fI" : " \\fI");
		print_man_text(row->arg + may_omit);
		printf("\\fR");
	}
	printf("\n");
	print_man_text(row->help);
	printf("\n");
}

static int print_man(const struct command *command)
{
	for (const struct option_row *row = command->options; row->type; row++)
		print_man_option(row);
	return EXIT_FINE;
}

static const struct shell *find_shell(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (!strcmp(shells[i].name, name))
			return &shells[i];
	return NULL;
}

static int completion_run(int argc, char **argv)
{
	struct completion_options options = {};
	const struct command *const *commands;
	const struct shell *shell;
	const char *name = NULL;
	int status;
	size_t n;

	if (!command__parse_input(&command_completion, argc, argv, &options, &name, "shell",
				  &status))
		return status;
	commands = command__all(&n);
	for (size_t i = 0; options.man && i < n; i++)
		if (!strcmp(commands[i]->name, options.man))
			return print_man(commands[i]);
	if (options.man)
		return command__fail(error__set(-EINVAL, "there is no command '%s'", options.man));
	shell = find_shell(name ? name : "bash");
	if (!shell)
		return command__reject(error__set(
			-EINVAL, "there is no completion for '%s': bash, zsh or fish", name));
	shell->print(commands, n);
	return EXIT_FINE;
}

const struct command command_completion = {
	.name = "completion",
	.summary = "print a completion script for bash, zsh or fish",
	.usage = "[" SHELLS "] > /etc/bash_completion.d/dwell",
	.words = SHELLS,
	.options = completion_rows,
	.run = completion_run,
};
