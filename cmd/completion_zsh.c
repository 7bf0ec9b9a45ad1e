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
	if (row->letter && row->type != OPTION_TYPE_CALL)
		printf("(-%c --%s)", row->letter, row->name);
	else if (row->type == OPTION_TYPE_CALL)
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

/* "'name:summary' ..." of the commands that begin with @group, or of all if it is NULL. */
static void print_names(const struct command *const *commands, size_t n, const char *group)
{
	size_t skip = group ? strcspn(group, " ") + 1 : 0;

	printf("commands=(\n");
	for (size_t i = 0; i < n; i++) {
		const char *name = commands[i]->name;
		int length = completion__word_length(commands[i]);

		if (group ? strncmp(name, group, skip) != 0 : completion__is_listed(commands, i))
			continue;
		printf("\t\t'");
		print_quoted(name + skip, group ? (int)strlen(name + skip) : length, "");
		printf(":");
		print_quoted(commands[i]->summary, (int)strlen(commands[i]->summary), "\\:");
		printf("'\n");
	}
	printf("\t)\n");
}

void completion__print_zsh(const struct command *const *commands, size_t n)
{
	printf("#compdef dwell\n# zsh completion for dwell, made by `dwell completion zsh`\n\n"
	       "_dwell()\n{\n\tlocal command=$words[2]\n\tlocal -a commands\n\n\t");
	print_names(commands, n, NULL);
	printf("\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	       "\tcase $command in\n");
	for (size_t i = 0; i < n; i++) {
		int length = completion__word_length(commands[i]);

		if (!commands[i]->name[length] || completion__is_listed(commands, i))
			continue;
		printf("\t%.*s)\n\t\t", length, commands[i]->name);
		print_names(commands, n, commands[i]->name);
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
