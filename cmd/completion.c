// SPDX-License-Identifier: BSD-2-Clause
/* Bash completion, and the OPTIONS section of each man page, from the tables of options. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cmd/cmd.h"

struct completion_options {
	const char *man;
};

static const struct option_row completion_rows[] = {
	OPTION_TEXT("man", 0, "COMMAND", struct completion_options, man,
		    "print the OPTIONS section of COMMAND's man page instead"),
	OPTION_END,
};

/* "--name -x" of an option. */
static void print_option_words(const struct option_row *row)
{
	if (row->name)
		printf(" --%s", row->name);
	if (row->letter)
		printf(" -%c", row->letter);
}

/* A case of the completion script: the values of option @row. */
static void print_argument(const char *command, const struct option_row *row)
{
	if (!row->arg || row->arg[0] == '[')
		return;
	printf("\t'%s':--%s", command, row->name);
	if (row->letter)
		printf(" | '%s':-%c", command, row->letter);
	if (row->values) {
		printf(") words='");
		for (const char *at = row->values; *at; at++)
			putchar(*at == '|' ? ' ' : *at);
		printf("' ;;\n");
	} else if (strstr(row->arg, "FILE") || strstr(row->arg, "PATH")) {
		printf(") files=1 ;;\n");
	} else {
		printf(") return ;;\n");
	}
}

/* Whether an earlier command has the same first word as @commands[@i]. */
static bool is_listed(const struct command *const *commands, size_t i)
{
	size_t n = strcspn(commands[i]->name, " ");

	for (size_t k = 0; k < i; k++)
		if (strcspn(commands[k]->name, " ") == n &&
		    !strncmp(commands[k]->name, commands[i]->name, n))
			return true;
	return false;
}

/* The cases that complete the second word of two-word commands. */
static void print_groups(const struct command *const *commands, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = commands[i]->name;
		int length = (int)strcspn(name, " ");

		if (!name[length] || is_listed(commands, i))
			continue;
		printf("\t%.*s)\n\t\tcommand+=\" ${COMP_WORDS[2]}\"\n\t\t((COMP_CWORD == 2)) && "
		       "words='",
		       length, name);
		for (size_t k = i; k < n; k++)
			if (!strncmp(commands[k]->name, name, (size_t)length + 1))
				printf("%s%s", k == i ? "" : " ", commands[k]->name + length + 1);
		printf("' ;;\n");
	}
}

static void print_bash(const struct command *const *commands, size_t n)
{
	printf("# bash completion for dwell, made by `dwell completion`\n\n"
	       "_dwell()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
	       "\tlocal command=${COMP_WORDS[1]} words= files=\n\n"
	       "\tCOMPREPLY=()\n\t((COMP_CWORD == 1)) && words='");
	for (size_t i = 0; i < n; i++)
		if (!is_listed(commands, i))
			printf("%s%.*s", i ? " " : "", (int)strcspn(commands[i]->name, " "),
			       commands[i]->name);
	printf("'\n\tcase $command in\n");
	print_groups(commands, n);
	printf("\tesac\n\tif [[ $words ]]; then\n"
	       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
	       "\t\treturn\n\tfi\n\tcase $command:$before in\n");
	for (size_t i = 0; i < n; i++)
		for (const struct option_row *row = commands[i]->options; row->type; row++)
			print_argument(commands[i]->name, row);
	printf("\t*)\n\t\tcase $command in\n");
	for (size_t i = 0; i < n; i++) {
		printf("\t\t'%s') words='", commands[i]->name);
		for (const struct option_row *row = commands[i]->options; row->type; row++)
			print_option_words(row);
		printf(" --help' ;;\n");
	}
	printf("\t\tesac\n\t\t[[ $word == -* ]] || files=1\n\t\t;;\n\tesac\n"
	       "\tmapfile -t COMPREPLY < <(compgen ${files:+-f} -W \"${files:-$words}\" -- "
	       "\"$word\")\n"
	       "}\n\ncomplete -o filenames -F _dwell dwell\n");
}

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

static int completion_run(int argc, char **argv)
{
	struct completion_options options = {};
	const struct command *const *commands;
	size_t n;
	int first, status;

	if (!command__parse(&command_completion, argc, argv, &options, &first, &status))
		return status;
	commands = command__all(&n);
	for (size_t i = 0; options.man && i < n; i++)
		if (!strcmp(commands[i]->name, options.man))
			return print_man(commands[i]);
	if (options.man)
		return command__fail(error__set(-1, "there is no command '%s'", options.man));
	print_bash(commands, n);
	return EXIT_FINE;
}

const struct command command_completion = {
	.name = "completion",
	.summary = "print a bash completion script",
	.usage = "> /etc/bash_completion.d/dwell",
	.options = completion_rows,
	.run = completion_run,
};
