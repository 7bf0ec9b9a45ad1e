// SPDX-License-Identifier: BSD-2-Clause
#include "cmd/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "render/format.h"

#define HELP_COLUMN 26
#define HELP_WIDTH  80

int options__percent(const char *text, double *percent)
{
	char *end;
	double value;

	if (!text)
		return error__set(-EINVAL, "a percentage is missing");
	value = strtod(text, &end);
	if (end == text || (*end && strcmp(end, "%") != 0) || !(value >= 0))
		return error__set(-EINVAL, "'%s' is not a percentage", text);
	*percent = value;
	return 0;
}

int options__number(const char *text, uint64_t *value)
{
	char *end;
	uint64_t parsed;

	if (!text)
		return error__set(-EINVAL, "a number is missing");
	errno = 0;
	parsed = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || *end || errno)
		return error__set(-EINVAL, "'%s' is not a number", text);
	*value = parsed;
	return 0;
}

int options__duration(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9},	  {"s", 1e9},  {"ms", 1e6},   {"us", 1e3},
		     {"ns", 1.0}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		double scaled = value * units[i].ns;

		if (end == text || strcmp(end, units[i].name) != 0)
			continue;
		/* Beyond 2^63 the conversion would be undefined. */
		if (!(scaled >= 0) || scaled > 9e18)
			break;
		*ns = (uint64_t)llround(scaled);
		return 0;
	}
	return error__set(-EINVAL, "'%s' is not a time: a number with ns, us, ms, s, m or h", text);
}

static bool value_is_optional(const struct option_row *row)
{
	return row->arg && row->arg[0] == '[';
}

/* Whether @text is one of @row's values, so that it belongs to the option: "-g callee". */
static bool offers_value(const struct option_row *row, const char *text)
{
	size_t n = text ? strlen(text) : 0;

	for (const char *at = row->values; n && at && *at; at += strcspn(at, "|") + 1) {
		if (!strncmp(at, text, n) && (at[n] == '|' || !at[n]))
			return true;
		if (!at[strcspn(at, "|")])
			break;
	}
	return false;
}

/* Whether the argument after @argv[@at] is the value of @row. */
static bool takes_next_argument(const struct option_row *row, int argc, char **argv, int at)
{
	if (!row->arg)
		return false;
	return !value_is_optional(row) || (at + 1 < argc && offers_value(row, argv[at + 1]));
}

/* An option on the command line, and whether it was given before. */
struct given {
	const struct option_row *row;
	const char *value; /* NULL: none */
};

struct parsing {
	const struct option_row *rows;
	int argc;
	char **argv;
	void *options;
	ARRAY(struct given) given;
};

/* Appends to a list that was given before. */
static int append(const struct parsing *parsing, const struct option_row *row, const char *value)
{
	char **list = (char **)((char *)parsing->options + row->offset), *joined;
	size_t before = 0;

	for (size_t i = 0; i < parsing->given.n; i++)
		before += parsing->given.data[i].row == row;
	if (asprintf(&joined, "%s,%s", *list, value) < 0)
		return -ENOMEM;
	if (before > 1) /* this made it */
		free(*list);
	*list = joined; /* lives as long as the command */
	return 0;
}

static int set_option(const struct parsing *parsing, const struct option_row *row,
		      const char *value)
{
	void *field = (char *)parsing->options + row->offset;

	switch (row->type) {
	case OPTION_TYPE_SWITCH:
		*(bool *)field = true;
		return 0;
	case OPTION_TYPE_TEXT:
		*(const char **)field = value;
		return 0;
	case OPTION_TYPE_LIST:
		if (*(const char **)field)
			return append(parsing, row, value);
		*(const char **)field = value;
		return 0;
	case OPTION_TYPE_NUMBER:
		return options__number(value, (uint64_t *)field);
	case OPTION_TYPE_PERCENT:
		return options__percent(value, (double *)field);
	case OPTION_TYPE_CALL:
		return row->set(parsing->options, value);
	default:
		return error__set(-EINVAL, "--%s cannot be set", row->name);
	}
}

bool options__may_be_repeated(const struct option_row *row)
{
	return row->adds || row->type == OPTION_TYPE_LIST;
}

static int check_repeated(const struct parsing *parsing, const struct option_row *row,
			  const char *value)
{
	if (options__may_be_repeated(row) || row->type == OPTION_TYPE_SWITCH)
		return 0;
	for (size_t i = 0; i < parsing->given.n; i++) {
		const struct given *given = &parsing->given.data[i];

		if (given->row == row &&
		    strcmp(given->value ? given->value : "", value ? value : "") != 0)
			return error__set(-EINVAL, "was given before, as '%s'; it takes one value",
					  given->value ? given->value : "");
	}
	return 0;
}

static int apply_option(struct parsing *parsing, const struct option_row *row, const char *value)
{
	const struct given given = {row, value};
	char message[512], hint[512];
	int err = check_repeated(parsing, row, value);

	err = err ? err : set_option(parsing, row, value);
	err = err ? err : array__push(&parsing->given, given);

	if (err) {
		snprintf(message, sizeof(message), "%s", error__message(err));
		snprintf(hint, sizeof(hint), "%s", error__hint_text(err));
		error__set(err, "--%s: %s", row->name, message);
		error__hint("%s", hint);
	}
	return err;
}

/* The row that @name[0..@n) names or is a unique prefix of; NULL after error__set(). */
static const struct option_row *find_option(const struct option_row *rows, const char *name,
					    size_t n)
{
	const struct option_row *found = NULL;

	for (const struct option_row *row = rows; row->type; row++) {
		if (!row->name || strncmp(row->name, name, n) != 0)
			continue;
		if (!row->name[n])
			return row;
		if (found) {
			error__set(-EINVAL, "--%.*s could be --%s or --%s", (int)n, name,
				   found->name, row->name);
			return NULL;
		}
		found = row;
	}
	if (!found) {
		error__set(-EINVAL, "there is no option --%.*s", (int)n, name);
		error__hint("--help lists them.");
	}
	return found;
}

static int parse_long(struct parsing *parsing, int *at)
{
	char **argv = parsing->argv;
	const char *name = argv[*at] + 2;
	size_t n = strcspn(name, "=");
	const char *value = name[n] ? name + n + 1 : NULL;
	const struct option_row *row;

	if (!strncmp(name, "help", n) && n >= 1 && !value)
		return 1;
	row = find_option(parsing->rows, name, n);
	if (!row)
		return -EINVAL;
	if (value && !row->arg)
		return error__set(-EINVAL, "--%s takes no value", row->name);
	if (!value && takes_next_argument(row, parsing->argc, argv, *at)) {
		if (*at + 1 >= parsing->argc)
			return error__set(-EINVAL, "--%s requires %s", row->name, row->arg);
		value = argv[++*at];
	}
	return apply_option(parsing, row, value);
}

/* Parses an argument of short options, "-gv" or "-ofile". */
static int parse_short(struct parsing *parsing, int *at)
{
	char **argv = parsing->argv;

	for (const char *letter = argv[*at] + 1; *letter; letter++) {
		const struct option_row *row = parsing->rows;
		const char *value = NULL;
		int err;

		while (row->type && row->letter != *letter)
			row++;
		if (*letter == 'h' && !row->type)
			return 1;
		if (!row->type) {
			error__set(-EINVAL, "there is no option -%c", *letter);
			error__hint("--help lists them.");
			return -EINVAL;
		}
		if (row->arg && (letter[1] || takes_next_argument(row, parsing->argc, argv, *at))) {
			value = letter[1]		  ? letter + 1
				: *at + 1 < parsing->argc ? argv[++*at]
							  : NULL;
			if (!value)
				return error__set(-EINVAL, "-%c requires %s", *letter, row->arg);
		}
		err = apply_option(parsing, row, value);
		if (err || value)
			return err;
	}
	return 0;
}

int options__parse(const struct option_row *rows, int argc, char **argv, void *options, int *first)
{
	struct parsing parsing = {.rows = rows, .argc = argc, .argv = argv, .options = options};
	int at = 1, err = 0;

	for (; !err && at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
		if (!strcmp(argv[at], "--")) {
			at++;
			break;
		}
		err = argv[at][1] == '-' ? parse_long(&parsing, &at) : parse_short(&parsing, &at);
	}
	array__free(&parsing.given);
	if (!err)
		*first = at;
	return err;
}

void options__print(const struct option_row *rows, FILE *to)
{
	for (const struct option_row *row = rows; row->type; row++) {
		char left[128];
		int n = 0;

		if (row->type == OPTION_TYPE_GROUP) {
			fprintf(to, "%s%s:\n", row == rows ? "" : "\n", row->help);
			continue;
		}
		n += snprintf(left, sizeof(left), row->letter ? "  -%c, " : "      ", row->letter);
		n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s", row->name);
		if (value_is_optional(row))
			n += snprintf(left + n, sizeof(left) - (size_t)n, "[=%s", row->arg + 1);
		else if (row->arg)
			n += snprintf(left + n, sizeof(left) - (size_t)n, " %s", row->arg);
		if (n + 2 > HELP_COLUMN)
			fprintf(to, "%s\n%*s", left, HELP_COLUMN, "");
		else
			fprintf(to, "%-*s", HELP_COLUMN, left);
		snprintf(left, sizeof(left), "%*s", HELP_COLUMN, "");
		format__wrapped(to, row->help, left, HELP_COLUMN, HELP_WIDTH);
	}
}
