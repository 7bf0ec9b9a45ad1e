// SPDX-License-Identifier: BSD-2-Clause
/* Completion for zsh: a specification for _arguments of each command. */
#include <stdio.h>
#include <string.h>

#include "cmd/completion.h"

/* The first @n bytes of @text, within single quotes, and with a backslash before each of @special.
 */
static void print_quoted(const char *text, int n, const char *special)
{
	for (int i = 0; i < n; i++) {
		if (strchr(special, text[i]))
			putchar('\\');
		if (text[i] == '\'')
			printf("'\\''");
		else
			putchar(text[i]);
	}
}

/* ":message:action" of the value of @row. */
static void print_value(const struct option_row *row)
{
	bool may_omit = row->arg[0] == '[';

	printf("%s", may_omit ? "::" : ":");
	print_quoted(row->arg + may_omit, (int)strcspn(row->arg + may_omit, "]"), ":");
	if (row->values && completion__takes_list(row)) {
		printf(":_sequence compadd - ");
		completion__print_words(row->values, ":");
	} else if (row->values) {
		printf(":(");
		completion__print_words(row->values, ":");
		printf(")");
	} else {
		printf(":%s", completion__takes_file(row) ? "_files" : "");
	}
}

static void print_option(const struct option_row *row)
{
	const char *ending = !row->arg ? "" : row->arg[0] == '[' ? "=-" : "=";

	if (row->type == OPTION_TYPE_GROUP)
		return;
	printf("\t\t\t'");
	/* Both names, of which one excludes the other unless it may be given again. */
	if (row->letter && !options__may_be_repeated(row))
		printf("(-%c --%s)", row->letter, row->name);
	else if (options__may_be_repeated(row))
		printf("*");
	if (row->letter)
		printf("'{-%c%s,--%s%s}'", row->letter, row->arg ? "+" : "", row->name, ending);
	else
		printf("--%s%s", row->name, ending);
	printf("[");
	print_quoted(row->help, completion__summary_length(row->help), "[]:\\");
	printf("]");
	if (row->arg)
		print_value(row);
	printf("' \\\n");
}

static void print_command(const struct command *command)
{
	printf("\t'%s')\n\t\t_arguments -s -S \\\n", command->name);
	for (const struct option_row *row = command->options; row->type; row++)
		print_option(row);
	printf("\t\t\t'--help[explain the command]' \\\n");
	if (command->words) {
		printf("\t\t\t'1:what:(");
		completion__print_words(command->words, ":");
		printf(")' ;;\n");
	} else if (completion__runs_command(command)) {
		printf("\t\t\t'*::command:_normal' ;;\n");
	} else {
		printf("\t\t\t'*:file:_files' ;;\n");
	}
}

static void print_name(const char *name, int length, const char *summary)
{
	printf("\t\t'");
	print_quoted(name, length, "");
	printf(":");
	print_quoted(summary, (int)strlen(summary), "\\:");
	printf("'\n");
}

/* The first words of all commands, each once. */
static void print_first_words(const struct command *const *commands, size_t n)
{
	printf("commands=(\n");
	for (size_t i = 0; i < n; i++)
		if (!completion__is_listed(commands, i))
			print_name(commands[i]->name, completion__word_length(commands[i]),
				   commands[i]->summary);
	printf("\t)\n");
}

/* The second words of the commands that begin with the same word as @group. */
static void print_second_words(const struct command *const *commands, size_t n,
			       const struct command *group)
{
	size_t skip = (size_t)completion__word_length(group) + 1;

	printf("commands=(\n");
	for (size_t i = 0; i < n; i++)
		if (!strncmp(commands[i]->name, group->name, skip))
			print_name(commands[i]->name + skip, (int)strlen(commands[i]->name + skip),
				   commands[i]->summary);
	printf("\t)\n");
}

void completion__print_zsh(const struct command *const *commands, size_t n)
{
	printf("#compdef dwell\n# zsh completion for dwell, made by `dwell completion zsh`\n\n"
	       "_dwell()\n{\n\tlocal command=$words[2]\n\tlocal -a commands\n\n\t");
	print_first_words(commands, n);
	printf("\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	       "\tcase $command in\n");
	for (size_t i = 0; i < n; i++) {
		int length = completion__word_length(commands[i]);

		if (!commands[i]->name[length] || completion__is_listed(commands, i))
			continue;
		printf("\t%.*s)\n\t\t", length, commands[i]->name);
		print_second_words(commands, n, commands[i]);
		printf("\t\tif ((CURRENT == 3)); then\n\t\t\t_describe command commands\n"
		       "\t\t\treturn\n\t\tfi\n"
		       "\t\tcommand+=\" $words[3]\"\n\t\tshift words\n\t\t((CURRENT--)) ;;\n");
	}
	printf("\tesac\n\tshift words\n\t((CURRENT--))\n\tcase $command in\n");
	for (size_t i = 0; i < n; i++)
		print_command(commands[i]);
	printf("\tesac\n}\n\n"
	       "# As a file of $fpath it is the function, otherwise it defines it.\n"
	       "if [[ $funcstack[1] == _dwell ]]; then\n\t_dwell \"$@\"\nelse\n"
	       "\tcompdef _dwell dwell\nfi\n");
}
