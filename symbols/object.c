// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/object.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "symbols/elf/debug_file.h"
#include "symbols/dwarf/dwarf_info.h"
#include "symbols/elf/elf_symbols.h"

struct object {
	struct elf_file *program; /* NULL: only the debug file was found */
	struct elf_file *debug;
	struct elf_file *mini;
	struct elf_file *alternate;
	struct symtab symtab;
	struct symtab stubs;
	Dwarf *dwarf;
	Dwarf *dwarf_alternate;
	struct dwarf_info *info;
	const char *trouble;
};

static const char *source__name(const struct symbol_source *source)
{
	return source->kind == SYMBOL_SOURCE_VDSO ? "[vdso]" : source->path ? source->path : "?";
}

/* What was told first stays: it is nearest to the cause. */
static void __attribute__((format(printf, 3, 4)))
object__complain(struct object *object, struct object_context *context, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	if (object->trouble)
		return;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (text)
		object->trouble = strings__keep(&context->strings, text);
}

static bool source__has_build_id(const struct symbol_source *source)
{
	return source->build_id && *source->build_id;
}

/*
 * The places a program can be, best first. The path in our own file system can
 * be another file than in the process's: only a build id can tell.
 */
static int open_place(const struct symbol_source *source, int place, struct elf_file **out)
{
	/* "[heap]", "memfd:..." and the like are no paths. */
	bool has_path = source->path && source->path[0] == '/';

	switch (place) {
	case 0:
		return source->fd < 0
			       ? -ENOENT
			       : elf_file__share(source->fd, source->path ? source->path : "", out);
	case 1:
		return has_path ? elf_file__open(source->root, source->path, out) : -ENOENT;
	case 2:
		if (!has_path || !source->root || !source__has_build_id(source))
			return -ENOENT;
		return elf_file__open(NULL, source->path, out);
	default:
		return -ENOENT;
	}
}

/* The program, if one with the right build id is there; else @object tells why not. */
static void object__find_program(struct object *object, struct object_context *context,
				 const struct symbol_source *source)
{
	const char *name = source__name(source);
	bool replaced = false;
	int worst = -ENOENT;

	for (int place = 0; place < 3 && !object->program; place++) {
		_cleanup_elf_file_ struct elf_file *file = NULL;
		int err = open_place(source, place, &file);

		if (err && err != -ENOENT)
			worst = err;
		if (err)
			continue;
		if (source__has_build_id(source) && strcmp(source->build_id, file->build_id) != 0)
			replaced = true;
		else
			object->program = TAKE_PTR(file);
	}
	if (object->program)
		return;
	if (replaced)
		object__complain(
			object, context,
			"%s was replaced since it ran (its build id was %s): record again, or "
			"install the debug symbols of the version that ran",
			name, source->build_id);
	else if (worst == -ENOEXEC)
		object__complain(object, context, "%s is no ELF file, or a damaged one", name);
	else
		object__complain(object, context, "cannot open %s: %s", name, strerror(-worst));
}

static bool elf_file__has_dwarf(const struct elf_file *file)
{
	return file && (elf_file__has(file, ".debug_info") || elf_file__has(file, ".zdebug_info"));
}

static void object__find_files(struct object *object, struct object_context *context,
			       const struct symbol_source *source,
			       const struct debug_search *search)
{
	const char *build_id = source->build_id ? source->build_id : "";
	bool has_symbols;
	bool has_lines;

	if (!object->program && *build_id)
		debug_file__program(search, build_id, &object->program);
	if (object->program)
		build_id = object->program->build_id;
	has_symbols = object->program && elf_file__has(object->program, ".symtab");
	has_lines = !context->options.lines || elf_file__has_dwarf(object->program);
	if (!has_symbols || !has_lines)
		debug_file__find(search, object->program, build_id, &object->debug);
	if (object->program && !object->debug && !has_symbols)
		elf_file__mini(object->program, &object->mini);
	/* Whoever has the old version's debug symbols needs no mend. */
	if (object->program || object->debug)
		object->trouble = NULL;
}

static int object__read_symbols(struct object *object, struct elf_symbols_found *found)
{
	const struct elf_file *files[] = {object->program, object->debug, object->mini};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && !err; i++)
		if (files[i])
			err = elf_symbols__add(&object->symtab, files[i], found);
	if (!err)
		err = symtab__seal(&object->symtab);
	if (!err && object->program)
		err = plt__add(&object->stubs, object->program, &object->symtab);
	if (!err)
		err = symtab__seal(&object->stubs);
	return err;
}

static int object__read_dwarf(struct object *object, struct object_context *context,
			      const struct debug_search *search)
{
	struct elf_file *file =
		elf_file__has_dwarf(object->program) ? object->program : object->debug;

	if (!elf_file__has_dwarf(file))
		return 0;
	object->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (!object->dwarf)
		return 0;
	if (!debug_file__alternate(search, file, object->dwarf, &object->alternate))
		object->dwarf_alternate =
			dwarf_begin_elf(object->alternate->elf, DWARF_C_READ, NULL);
	if (object->dwarf_alternate)
		dwarf_setalt(object->dwarf, object->dwarf_alternate);
	return dwarf_info__new(object->dwarf, file, &context->strings, &object->info);
}

static void object__judge(struct object *object, struct object_context *context,
			  const struct symbol_source *source, const struct elf_symbols_found *found)
{
	static const char remote[] = "install its debug symbols (its -dbgsym, -dbg or -debuginfo "
				     "package) or set DEBUGINFOD_URLS";
	static const char local[] = "install its debug symbols (its -dbgsym, -dbg or -debuginfo "
				    "package)";
	const char *mend = context->local ? local : remote;
	const char *name = source__name(source);

	if (source->kind == SYMBOL_SOURCE_VDSO || (!object->program && !object->debug))
		return;
	if (!found->symtab && !object->info && found->dynsym)
		object__complain(object, context,
				 "%s is stripped, only its exported functions have names: %s", name,
				 mend);
	else if (!found->symtab && !object->info)
		object__complain(object, context, "%s is stripped, it has no function names: %s",
				 name, mend);
	else if (context->options.lines && !object->info)
		object__complain(object, context,
				 "%s has no debug information, so no source lines and inlined "
				 "functions: build it with -g, or %s",
				 name, mend);
}

static int object__read(struct object *object, struct object_context *context,
			const struct symbol_source *source)
{
	struct debug_search search = {
		.debug_root = context->options.debug_root,
		.root = source->root,
		.path = source->path ? source->path : "",
		.debuginfod = &context->debuginfod,
	};
	struct elf_symbols_found found = {};
	int err;

	if (source->kind == SYMBOL_SOURCE_ELF)
		object__find_files(object, context, source, &search);
	err = object__read_symbols(object, &found);
	if (!err && context->options.lines)
		err = object__read_dwarf(object, context, &search);
	if (!err)
		object__judge(object, context, source, &found);
	return err;
}

static void object__find_vdso(struct object *object, struct object_context *context,
			      const struct symbol_source *source)
{
	int err = elf_file__vdso(&object->program);

	if (err) {
		object__complain(object, context, "cannot read the vdso: %s", strerror(-err));
	} else if (source__has_build_id(source) &&
		   strcmp(source->build_id, object->program->build_id) != 0) {
		object__complain(object, context,
				 "[vdso] is that of another kernel than the one running here");
		elf_file__free(object->program);
		object->program = NULL;
	}
}

int object__open(struct object_context *context, const struct symbol_source *source,
		 struct object **out)
{
	_cleanup_object_ struct object *object = calloc(1, sizeof(*object));
	int err;

	if (!object)
		return -ENOMEM;
	if (source->kind == SYMBOL_SOURCE_VDSO)
		object__find_vdso(object, context, source);
	else
		object__find_program(object, context, source);
	err = object__read(object, context, source);
	if (err)
		return err;
	*out = TAKE_PTR(object);
	return 0;
}

int object__open_file(struct object_context *context, int fd, const char *path, struct object **out)
{
	struct symbol_source source = {.kind = SYMBOL_SOURCE_ELF, .path = path, .fd = fd};
	_cleanup_object_ struct object *object = calloc(1, sizeof(*object));
	int err;

	if (!object)
		return -ENOMEM;
	err = elf_file__share(fd, path, &object->program);
	if (err)
		return err;
	err = object__read(object, context, &source);
	if (err)
		return err;
	*out = TAKE_PTR(object);
	return 0;
}

struct symbol *object__symbol(const struct object *object, uint64_t address)
{
	struct symbol *symbol = symtab__find(&object->symtab, address);

	return symbol ? symbol : symtab__find(&object->stubs, address);
}

size_t object__resolve(struct object_context *context, struct object *object, uint64_t offset,
		       struct symbol_frame *frames, size_t max)
{
	struct elf_file *file = object->program ? object->program : object->debug;
	const char *symbol = NULL;
	struct symbol *found;
	uint64_t address;
	size_t n = 0;

	if (!file || elf_file__vaddr(file, !object->program, offset, &address))
		return 0;
	found = object__symbol(object, address);
	if (found)
		symbol = symbol__name(found, &context->strings);
	if (object->info)
		n = dwarf_info__resolve(object->info, address, symbol, frames, max);
	if (!n && symbol) {
		frames[0] = (struct symbol_frame){.name = symbol};
		n = 1;
	}
	return n;
}

const char *object__trouble(const struct object *object)
{
	return object->trouble;
}

const char *object__build_id(const struct object *object)
{
	return object->program ? object->program->build_id : "";
}

const struct elf_file *object__program(const struct object *object)
{
	return object->program;
}

const struct symtab *object__symtab(const struct object *object)
{
	return &object->symtab;
}

struct dwarf_info *object__dwarf(const struct object *object)
{
	return object->info;
}

void object__free(struct object *object)
{
	if (!object)
		return;
	dwarf_info__free(object->info);
	dwarf_end(object->dwarf);
	dwarf_end(object->dwarf_alternate);
	symtab__free(&object->symtab);
	symtab__free(&object->stubs);
	elf_file__free(object->program);
	elf_file__free(object->debug);
	elf_file__free(object->mini);
	elf_file__free(object->alternate);
	free(object);
}
