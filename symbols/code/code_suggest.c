// SPDX-License-Identifier: BSD-2-Clause
/* What else a name can have meant. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/code/code_names.h"
#include "symbols/code/code_unit.h"

#define MOST_NAMES 32

/* The best so far, nearest first. */
struct nearest {
	struct code *code;
	size_t n;
	size_t max;
	struct {
		const char *name;
		uint64_t distance;
	} items[MOST_NAMES];
};

/* Whether something at @distance would still come in. */
static bool nearest__wants(const struct nearest *nearest, uint64_t distance)
{
	return nearest->n < nearest->max ||
	       (nearest->n && distance < nearest->items[nearest->n - 1].distance);
}

static void nearest__add(struct nearest *nearest, const char *text, uint64_t distance)
{
	const char *name;
	size_t at;

	if (!nearest__wants(nearest, distance))
		return;
	name = strings__keep(&nearest->code->context.strings, text);
	if (!name)
		return;
	for (size_t i = 0; i < nearest->n; i++)
		if (nearest->items[i].name == name)
			return;
	at = nearest->n < nearest->max ? nearest->n++ : nearest->n - 1;
	for (; at && nearest->items[at - 1].distance > distance; at--)
		nearest->items[at] = nearest->items[at - 1];
	nearest->items[at].name = name;
	nearest->items[at].distance = distance;
}

/* FILE:LINE in @text; false: it is something else. */
static bool parse_line(const char *text, char *file, size_t size, uint32_t *line)
{
	const char *colon = strrchr(text, ':');
	char *end;

	if (!colon || colon == text || !isdigit((unsigned char)colon[1]) ||
	    (size_t)(colon - text) >= size)
		return false;
	*line = (uint32_t)strtoul(colon + 1, &end, 10);
	memcpy(file, text, (size_t)(colon - text));
	file[colon - text] = '\0';
	return !*end;
}

static void add_line(struct nearest *nearest, const char *file, uint32_t line, uint64_t distance)
{
	char text[LONGEST_CODE_PATH + 16];

	if (nearest__wants(nearest, distance) &&
	    snprintf(text, sizeof(text), "%s:%u", file, line) < (int)sizeof(text))
		nearest__add(nearest, text, distance);
}

static uint64_t line_distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

struct nearest_line {
	const char *file;
	uint32_t line;
};

/* Of every file that matches, its nearest line; of a single one, several lines. */
static void nearest__add_lines(struct nearest *nearest, const struct code_lines *lines,
			       uint32_t wanted)
{
	struct code *code = nearest->code;
	struct nearest_line best[MOST_NAMES];
	struct nearest single = {.code = code, .max = nearest->max};
	size_t n = 0;

	for (size_t i = 0; i < lines->units.n; i++) {
		const struct code_unit *unit = &code->units[lines->units.data[i]];

		for (size_t j = 0; j < unit->segments.n; j++) {
			struct code_frame frame =
				code__attribute(code, unit, &unit->segments.data[j]);
			uint64_t distance = line_distance(frame.line, wanted);
			size_t at = 0;

			if (!frame.in_scope || !frame.line || !code_lines__match(lines, frame.file))
				continue;
			while (at < n && best[at].file != frame.file)
				at++;
			if (at == MOST_NAMES)
				continue;
			if (at == n)
				best[n++] = (struct nearest_line){frame.file, frame.line};
			else if (distance < line_distance(best[at].line, wanted))
				best[at].line = frame.line;
			if (n == 1)
				add_line(&single, frame.file, frame.line, distance);
		}
	}
	if (n == 1)
		*nearest = single;
	for (size_t i = 0; n > 1 && i < n; i++)
		add_line(nearest, best[i].file, best[i].line, line_distance(best[i].line, wanted));
}

/* How far off a name may be to be worth a mention: a third of its characters, in halves. */
static unsigned int name_tolerance(const char *name)
{
	return 2 * (unsigned int)(strlen(name) / 3 + 1) + 1;
}

static const char *path__last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void nearest__add_file(struct nearest *nearest, const struct line_file *file,
			      const char *directory, const char *wanted)
{
	unsigned int tolerance = name_tolerance(wanted);
	char path[2 * LONGEST_CODE_PATH];
	uint64_t distance;
	const char *kept;

	if (!file->name)
		return;
	distance = code_name__distance(path__last(file->name), wanted, tolerance);
	if (distance >= tolerance || !nearest__wants(nearest, 2 * distance) ||
	    !line_file__path(file, directory, path, sizeof(path)))
		return;
	kept = strings__keep(&nearest->code->context.strings, path);
	if (kept)
		nearest__add(nearest, path,
			     2 * distance + !code__file_in_scope(nearest->code, kept));
}

static void nearest__add_files(struct nearest *nearest, const char *name)
{
	struct code *code = nearest->code;
	struct line_header header = {};
	uint64_t left;

	if (!code->info)
		return;
	left = 4 * code->info->context.lines.line.size;
	for (size_t i = 0; i < code->info->units.n; i++) {
		const char *directory;
		uint64_t offset;

		if (!dwarf_unit__line_offset(&code->info->units.data[i], &offset, &directory) ||
		    line_header__read(&code->info->context.lines, offset, &header))
			continue;
		if (header.size > left)
			break;
		left -= header.size;
		for (size_t j = 0; j < header.files.n; j++)
			nearest__add_file(nearest, &header.files.data[j], directory,
					  path__last(name));
	}
	line_header__free(&header);
}

/*
 * By the last component, for that is what people get right; among equals by the
 * whole. A part of the name is near, too.
 */
static void nearest__add_function(struct nearest *nearest, const struct code_query *query,
				  const struct code_function *function)
{
	unsigned int tolerance = name_tolerance(query->last);
	_cleanup_free_ char *name = NULL;
	char plain[LONGEST_CODE_NAME];
	uint64_t distance = 0;

	if (function->source) {
		code_name__plain(function->source, plain);
		distance = code_name__distance(plain, query->last, tolerance);
		if (distance > 2 && strlen(query->last) > 2 && strcasestr(plain, query->last))
			distance = 2;
		if (distance >= tolerance || !nearest__wants(nearest, distance << 8))
			return;
	}
	name = code_function__copy_name(function);
	if (!name)
		return;
	code_name__plain(name, plain);
	if (!function->source)
		distance = code_name__distance(code_name__last(plain), query->last, tolerance);
	if (distance < tolerance)
		nearest__add(nearest, name,
			     (distance << 8) + code_name__distance(plain, query->plain, 255));
}

static void nearest__add_functions(struct nearest *nearest, const char *text)
{
	const struct symtab *symtab = object__symtab(nearest->code->object);
	struct code_functions *functions = &nearest->code->functions;
	struct code_query query;

	code_query__set(&query, text);
	code_functions__scan(functions);
	for (size_t i = 0; i < functions->list.n; i++)
		nearest__add_function(nearest, &query, &functions->list.data[i]);
	/* To demangle all symbols takes long, and adds little to what DWARF has. */
	for (size_t i = 0; i < symtab->n; i++) {
		const char *raw = symtab->data[i].raw;
		bool mangled = raw && raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R');
		struct code_function function = {.source = mangled ? NULL : raw,
						 .linkage = mangled ? raw : NULL};

		if (raw && !symbol__is_too_long(&symtab->data[i]) && !raw[code_name__stem(raw)] &&
		    (!mangled || !functions->list.n))
			nearest__add_function(nearest, &query, &function);
	}
}

/* When the last component is one that there is, who gave it did not mean another. */
static void nearest__keep_exact(struct nearest *nearest)
{
	size_t n = 0;

	while (n < nearest->n && nearest->items[n].distance < 1 << 8)
		n++;
	if (n)
		nearest->n = n;
}

size_t code__suggest(struct code *code, const char *text, const char **names, size_t max)
{
	struct nearest nearest = {.code = code, .max = max < MOST_NAMES ? max : MOST_NAMES};
	struct code_lines lines = {};
	char file[LONGEST_CODE_PATH];
	uint32_t line;

	if (parse_line(text, file, sizeof(file), &line)) {
		if (!code__mentions(code, file, &lines))
			nearest__add_lines(&nearest, &lines, line);
		if (!nearest.n)
			nearest__add_files(&nearest, file);
		code_lines__free(&lines);
	} else {
		nearest__add_functions(&nearest, text);
		nearest__keep_exact(&nearest);
		if (!nearest.n)
			nearest__add_files(&nearest, text);
	}
	for (size_t i = 0; i < nearest.n; i++)
		names[i] = nearest.items[i].name;
	return nearest.n;
}
