// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/code/code.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/code/code_names.h"
#include "symbols/code/code_unit.h"

int code__new(int fd, const char *path, const char *debug_root, const struct code_scope *scope,
	      struct code **out)
{
	_cleanup_code_ struct code *code = calloc(1, sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	code->scope = *scope;
	code->context.options.lines = true;
	code->context.local = true;
	code->context.options.debug_root = debug_root ? debug_root : "/usr/lib/debug";
	err = object__open_file(&code->context, fd, path, &code->object);
	if (err)
		return err == -ENOMEM ? err : -ENOEXEC;
	code->info = object__dwarf(code->object);
	code->functions.object = code->object;
	code->functions.strings = &code->context.strings;
	err = code__assign_units(code);
	if (err)
		return err;
	*out = TAKE_PTR(code);
	return 0;
}

static bool matches_any(const char *const *patterns, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (!fnmatch(patterns[i], text, 0))
			return true;
	return false;
}

static bool scope_contains(const struct code_scope *scope, const char *file)
{
	static const char *const foreign[] = {
		"/usr/include/*",
		"/usr/lib/*",
		"/rustc/*",
		"*/.cargo/registry/*",
	};

	if (matches_any(scope->without, scope->n_without, file))
		return false;
	if (scope->n_patterns)
		return matches_any(scope->patterns, scope->n_patterns, file);
	return !matches_any(foreign, ARRAY_SIZE(foreign), file);
}

bool code__file_in_scope(struct code *code, const char *file)
{
	const uint64_t *known;
	bool in_scope;

	if (!file)
		return !code->scope.n_patterns;
	known = map64__get(&code->scoped, (uintptr_t)file);
	if (known)
		return *known;
	in_scope = scope_contains(&code->scope, file);
	/* A failed insertion only costs time. */
	map64__put(&code->scoped, (uintptr_t)file, in_scope);
	return in_scope;
}

/* An inlined frame without file is attributed to the frame that it is inlined in. */
struct code_frame code__attribute(struct code *code, const struct code_unit *unit,
				  const struct code_segment *segment)
{
	struct code_frame frame = {
		.file = segment->file,
		.line = segment->line,
		.node = segment->node,
	};

	for (;;) {
		const struct code_node *node =
			frame.node ? &unit->nodes.data[frame.node - 1] : NULL;
		bool inlined = node && node->parent;

		frame.in_scope = (frame.file || !inlined) && code__file_in_scope(code, frame.file);
		if (frame.in_scope || !inlined)
			return frame;
		frame.file = node->call_file;
		frame.line = node->call_line;
		frame.node = node->parent;
	}
}

const char *code__symbol_name(struct code *code, struct symbol *symbol)
{
	_cleanup_free_ char *demangled = NULL;
	_cleanup_free_ char *stem = NULL;
	const char *name;

	if (symbol->shown)
		return symbol->shown;
	if (symbol->plt || !symbol->raw[code_name__stem(symbol->raw)]) {
		name = symbol__name(symbol, &code->context.strings);
		return name ? name : "";
	}
	stem = strndup(symbol->raw, code_name__stem(symbol->raw));
	demangled = stem ? symbols__demangle(stem) : NULL;
	name = demangled ? demangled : stem;
	symbol->shown = name ? strings__intern(&code->context.strings, name) : NULL;
	return symbol->shown ? symbol->shown : "";
}

const char *code__node_name(struct code *code, const struct code_unit *unit, uint32_t node,
			    uint64_t address)
{
	uint32_t function = node ? unit->nodes.data[node - 1].function : CODE_NO_FUNCTION;
	struct symbol *symbol;

	if (function != CODE_NO_FUNCTION)
		return code_functions__name(&code->functions, function);
	if (node && unit->nodes.data[node - 1].parent)
		return "";
	symbol = object__symbol(code->object, address);
	return symbol ? code__symbol_name(code, symbol) : "";
}

void code__place(struct code *code, uint64_t address, struct code_place *place)
{
	struct code_unit *unit = code__unit(code, address);
	const struct code_segment *segment = NULL;
	struct code_frame frame = {.in_scope = code__file_in_scope(code, NULL)};

	if (unit) {
		code__load(code, unit);
		segment = code_unit__segment(unit, address);
	}
	if (segment)
		frame = code__attribute(code, unit, segment);
	*place = (struct code_place){
		.file = frame.file,
		.line = frame.line,
		.function = code__node_name(code, unit, frame.node, address),
		.in_scope = frame.in_scope,
	};
}

int code__out_of_scope(struct code *code, uint64_t address, struct code_ranges *ranges)
{
	struct code_unit *unit = code__unit(code, address);
	int err = 0;

	ranges->ranges.n = 0;
	if (!unit || unit->reported)
		return 0;
	code__load(code, unit);
	for (size_t i = 0; i < unit->segments.n && !err; i++) {
		const struct code_segment *segment = &unit->segments.data[i];

		if (!code__attribute(code, unit, segment).in_scope)
			err = code_ranges__add(ranges, segment->start, segment->end);
	}
	code_ranges__seal(ranges);
	unit->reported = !err;
	return err;
}

int code__offset(const struct code *code, uint64_t address, uint64_t *offset)
{
	return elf_file__offset(object__program(code->object), address, offset);
}

const char *code__diagnostic(struct code *code)
{
	const char *diagnostic = object__diagnostic(code->object);

	if (diagnostic || !code->info || !code->info->context.missing_dwo || code->diagnostic)
		return diagnostic ? diagnostic : code->diagnostic;
	if (asprintf(&code->diagnostic,
		     "%s is missing, which has functions of the program, compiled with "
		     "-gsplit-dwarf: keep its .dwo files where they were written (.dwp files are "
		     "not read), or build without -gsplit-dwarf",
		     code->info->context.missing_dwo) < 0)
		code->diagnostic = NULL;
	return code->diagnostic;
}

int code_ranges__add(struct code_ranges *ranges, uint64_t start, uint64_t end)
{
	return array__push(&ranges->ranges, ((struct code_range){.start = start, .end = end}));
}

int code_range__compare(const void *a, const void *b)
{
	const struct code_range *x = a;
	const struct code_range *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void code_ranges__seal(struct code_ranges *ranges)
{
	struct code_range *data = ranges->ranges.data;
	size_t n = 0;

	if (ranges->ranges.n)
		qsort(data, ranges->ranges.n, sizeof(*data), code_range__compare);
	for (size_t i = 0; i < ranges->ranges.n; i++) {
		if (!n || data[i].start > data[n - 1].end)
			data[n++] = data[i];
		else if (data[i].end > data[n - 1].end)
			data[n - 1].end = data[i].end;
	}
	ranges->ranges.n = n;
}

void code__free(struct code *code)
{
	if (!code)
		return;
	for (size_t i = 0; code->units && i < code->n_units; i++) {
		array__free(&code->units[i].nodes);
		array__free(&code->units[i].segments);
	}
	free(code->units);
	free(code->owned);
	free(code->diagnostic);
	ranges__free(&code->unit_ranges);
	code_functions__free(&code->functions);
	map64__free(&code->scoped);
	object__free(code->object);
	strings__free(&code->context.strings);
	free(code);
}
