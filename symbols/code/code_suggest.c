// SPDX-License-Identifier: BSD-2-Clause
/* Suggestions for mistyped names. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/code/code_names.h"
#include "symbols/code/code_unit.h"

#define MAX_SUGGESTIONS 32

/* The best suggestions so far, nearest first. */
struct nearest {
	struct code *code;
	size_t n;
	size_t max;
	struct {
		const char *name;
		uint64_t distance;
	} items[MAX_SUGGESTIONS];
};

/* Whether a suggestion at @distance would be kept. */
static bool nearest_would_keep(const struct nearest *nearest, uint64_t distance)
{
	return nearest->n < nearest->max ||
	       (nearest->n && distance < nearest->items[nearest->n - 1].distance);
}

static void nearest_add(struct nearest *nearest, const char *text, uint64_t distance)
{
	const char *name;
	size_t at;

	if (!nearest_would_keep(nearest, distance))
		return;
	name = strings__intern(&nearest->code->context.strings, text);
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

/* Parses FILE:LINE; false if @text is something else. */
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
	char text[MAX_CODE_PATH + 16];

	if (nearest_would_keep(nearest, distance) &&
	    snprintf(text, sizeof(text), "%s:%u", file, line) < (int)sizeof(text))
		nearest_add(nearest, text, distance);
}

static uint64_t line_distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

struct nearest_line {
	const char *file;
	uint32_t line;
};

/* Adds the nearest line of every matching file, or several lines if there is only one. */
static void nearest_add_lines(struct nearest *nearest, const struct code_file_query *lines,
			      uint32_t wanted)
{
	struct code *code = nearest->code;
	struct nearest_line best[MAX_SUGGESTIONS];
	struct nearest single = {.code = code, .max = nearest->max};
	size_t n = 0;

	for (size_t i = 0; i < lines->units.n; i++) {
		const struct code_unit *unit = &code->units[lines->units.data[i]];

		for (size_t j = 0; j < unit->segments.n; j++) {
			struct code_frame frame =
				code__attribute(code, unit, &unit->segments.data[j]);
			uint64_t distance = line_distance(frame.line, wanted);
			size_t at = 0;

			if (!frame.in_scope || !frame.line ||
			    !code_file_query__match(lines, frame.file))
				continue;
			while (at < n && best[at].file != frame.file)
				at++;
			if (at == MAX_SUGGESTIONS)
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

/* The maximum distance of a suggestion: a third of the characters, in halves. */
static unsigned int name_tolerance(const char *name)
{
	return 2 * (unsigned int)(strlen(name) / 3 + 1) + 1;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void nearest_add_file(struct nearest *nearest, const struct line_file *file,
			     const char *directory, const char *wanted)
{
	unsigned int tolerance = name_tolerance(wanted);
	char path[2 * MAX_CODE_PATH];
	uint64_t distance;
	const char *kept;

	if (!file->name)
		return;
	distance = code_name__distance(last_component(file->name), wanted, tolerance);
	if (distance >= tolerance || !nearest_would_keep(nearest, 2 * distance) ||
	    !line_file__path(file, directory, path, sizeof(path)))
		return;
	kept = strings__intern(&nearest->code->context.strings, path);
	if (kept)
		nearest_add(nearest, path,
			    2 * distance + !code__file_in_scope(nearest->code, kept));
}

static void nearest_add_files(struct nearest *nearest, const char *name)
{
	struct code_headers headers = {.code = nearest->code};

	while (code_headers__next(&headers))
		for (size_t j = 0; j < headers.header.files.n; j++)
			nearest_add_file(nearest, &headers.header.files.data[j], headers.directory,
					 last_component(name));
	line_header__free(&headers.header);
}

/*
 * Compares by the last component, which users usually get right, then by the whole name. A name
 * that contains the query counts as near.
 */
static void nearest_add_function(struct nearest *nearest, const struct code_query *query,
				 const struct code_function *function)
{
	unsigned int tolerance = name_tolerance(query->last);
	_cleanup_free_ char *name = NULL;
	char plain[MAX_CODE_NAME];
	uint64_t distance = 0;

	if (function->source_name) {
		code_name__strip(function->source_name, plain);
		distance = code_name__distance(plain, query->last, tolerance);
		if (distance > 2 && strlen(query->last) > 2 && strcasestr(plain, query->last))
			distance = 2;
		if (distance >= tolerance || !nearest_would_keep(nearest, distance << 8))
			return;
	}
	name = code_function__copy_name(function);
	if (!name)
		return;
	code_name__strip(name, plain);
	if (!function->source_name)
		distance = code_name__distance(code_name__last(plain), query->last, tolerance);
	if (distance < tolerance)
		nearest_add(nearest, name,
			    (distance << 8) + code_name__distance(plain, query->plain, 255));
}

static void nearest_add_functions(struct nearest *nearest, const char *text)
{
	const struct symtab *symtab = object__symtab(nearest->code->object);
	struct code_functions *functions = &nearest->code->functions;
	struct code_query query;

	code_query__set(&query, text);
	code_functions__scan(functions);
	for (size_t i = 0; i < functions->list.n; i++)
		nearest_add_function(nearest, &query, &functions->list.data[i]);
	/* Demangling all symbols is slow and adds little to what DWARF has. */
	for (size_t i = 0; i < symtab->n; i++) {
		const char *raw = symtab->data[i].raw;
		bool mangled = raw && raw[0] == '_' && (raw[1] == 'Z' || raw[1] == 'R');
		struct code_function function = {.source_name = mangled ? NULL : raw,
						 .linkage_name = mangled ? raw : NULL};

		if (raw && !symbol__is_too_long(&symtab->data[i]) && !raw[code_name__stem(raw)] &&
		    (!mangled || !functions->list.n))
			nearest_add_function(nearest, &query, &function);
	}
}

/* If the last component exists as given, keeps only functions with it. */
static void nearest_keep_exact(struct nearest *nearest)
{
	size_t n = 0;

	while (n < nearest->n && nearest->items[n].distance < 1 << 8)
		n++;
	if (n)
		nearest->n = n;
}

size_t code__suggest(struct code *code, const char *text, const char **names, size_t max)
{
	struct nearest nearest = {.code = code,
				  .max = max < MAX_SUGGESTIONS ? max : MAX_SUGGESTIONS};
	struct code_file_query lines = {};
	char file[MAX_CODE_PATH];
	uint32_t line;

	if (parse_line(text, file, sizeof(file), &line)) {
		if (!code__find_file(code, file, &lines))
			nearest_add_lines(&nearest, &lines, line);
		if (!nearest.n)
			nearest_add_files(&nearest, file);
		code_file_query__free(&lines);
	} else {
		nearest_add_functions(&nearest, text);
		nearest_keep_exact(&nearest);
		if (!nearest.n)
			nearest_add_files(&nearest, text);
	}
	for (size_t i = 0; i < nearest.n; i++)
		names[i] = nearest.items[i].name;
	return nearest.n;
}
