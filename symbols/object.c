// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/object.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "symbols/elf/debug_file.h"
#include "symbols/dwarf/dwarf_info.h"
#include "symbols/elf/elf_symbols.h"
#include "symbols/unwind/frame_functions.h"
#include "symbols/variables.h"

struct object {
	struct elf_file *program; /* the file with the code; NULL: not found */
	struct elf_file *debug;
	struct elf_file *minidebug;
	struct elf_file *alternate;
	struct symtab symtab;
	struct symtab stubs;
	Dwarf *dwarf;
	Dwarf *dwarf_alternate;
	struct dwarf_info *info;
	struct variables *variables; /* NULL: not needed yet */
	const char *diagnostic;
};

static const char *source_name(const struct symbol_source *source)
{
	return source->kind == SYMBOL_SOURCE_VDSO ? "[vdso]" : source->path ? source->path : "?";
}

/* The first diagnostic is kept: it is closest to the cause. */
static void __attribute__((format(printf, 3, 4)))
object_set_diagnostic(struct object *object, struct object_context *context, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	if (object->diagnostic)
		return;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	if (text)
		object->diagnostic = strings__intern(&context->strings, text);
}

static bool has_build_id(const struct symbol_source *source)
{
	return source->build_id && *source->build_id;
}

/* Opens files in this process, as symbol_file_open_fn. */
static int open_here(void *arg, const struct symbol_source *source,
		     const struct symbol_file_request *request)
{
	struct object_context *context = arg;

	if (request->kind == SYMBOL_FILE_FETCH_DEBUG)
		return debuginfod__fetch(&context->debuginfod, DEBUGINFOD_DEBUG_FILE,
					 request->name);
	if (request->kind == SYMBOL_FILE_FETCH_PROGRAM)
		return debuginfod__fetch(&context->debuginfod, DEBUGINFOD_PROGRAM, request->name);
	return symbol_file__open(source, context->options.debug_root, request);
}

int object_context__open(struct object_context *context, const struct symbol_source *source,
			 const struct symbol_file_request *request)
{
	const struct symbolizer_options *options = &context->options;

	return options->open_file ? options->open_file(options->open_context, source, request)
				  : open_here(context, source, request);
}

static int open_any(void *context, const struct symbol_source *source,
		    const struct symbol_file_request *request)
{
	return object_context__open(context, source, request);
}

/*
 * The places to look for the program, best first. In dwell's own mount namespace, the path may
 * be another file than in the process's, so a build id is required there.
 */
static const struct symbol_file_request places[] = {
	{.kind = SYMBOL_FILE_MAPPED},
	{.kind = SYMBOL_FILE_PROGRAM},
	{.kind = SYMBOL_FILE_PROGRAM, .outside = true},
};

static int open_place(struct object_context *context, const struct symbol_source *source,
		      const struct symbol_file_request *place, struct elf_file **out)
{
	const char *path = source->path ? source->path : "";
	_cleanup_close_ int fd = -1;
	int err;

	if (place->kind == SYMBOL_FILE_MAPPED ? source->fd < 0 : path[0] != '/')
		return -ENOENT;
	if (place->outside && (!source->root || !has_build_id(source)))
		return -ENOENT;
	fd = object_context__open(context, source, place);
	if (fd < 0)
		return fd;
	err = elf_file__adopt(fd, path, out);
	if (!err)
		TAKE_FD(fd);
	return err;
}

/* Opens the program with the right build id, or sets the diagnostic. */
static void object_find_program(struct object *object, struct object_context *context,
				const struct symbol_source *source)
{
	const char *name = source_name(source);
	bool replaced = false;
	int worst = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(places) && !object->program; i++) {
		_cleanup_elf_file_ struct elf_file *file = NULL;
		int err = open_place(context, source, &places[i], &file);

		if (err && err != -ENOENT)
			worst = err;
		if (err)
			continue;
		if (has_build_id(source) && strcmp(source->build_id, file->build_id) != 0)
			replaced = true;
		else
			object->program = TAKE_PTR(file);
	}
	if (object->program)
		return;
	if (replaced)
		object_set_diagnostic(
			object, context,
			"%s was replaced since it ran (its build id was %s): record again, or "
			"install the debug symbols of the version that ran",
			name, source->build_id);
	else if (worst == -ENOEXEC)
		object_set_diagnostic(object, context, "%s is not an ELF file, or is damaged",
				      name);
	else
		object_set_diagnostic(object, context, "cannot open %s: %s", name,
				      strerror(-worst));
}

static bool has_dwarf(const struct elf_file *file)
{
	return file && (elf_file__has(file, ".debug_info") || elf_file__has(file, ".zdebug_info"));
}

static void object_find_files(struct object *object, struct object_context *context,
			      const struct symbol_source *source, const struct debug_search *search)
{
	const char *build_id = source->build_id ? source->build_id : "";
	bool has_symbols;
	bool has_lines;

	if (!object->program && *build_id)
		debug_file__program(search, build_id, &object->program);
	if (object->program)
		build_id = object->program->build_id;
	has_symbols = object->program && elf_file__has(object->program, ".symtab");
	has_lines = !context->options.lines || has_dwarf(object->program);
	if (!has_symbols || !has_lines)
		debug_file__find(search, object->program, build_id, &object->debug);
	if (object->program && !object->debug && !has_symbols)
		elf_file__minidebuginfo(object->program, &object->minidebug);
	/* If the program that ran was found after all, the replaced file does not matter. */
	if (object->program || object->debug)
		object->diagnostic = NULL;
}

/* PLT sections, whose stubs are named after their targets. */
static const char *const stub_sections[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd"};

struct stubs {
	GElf_Shdr sections[ARRAY_SIZE(stub_sections)];
	size_t n;
};

static void find_stubs(const struct elf_file *file, struct stubs *stubs)
{
	stubs->n = 0;
	for (size_t i = 0; i < ARRAY_SIZE(stub_sections); i++)
		if (elf_file__section(file, stub_sections[i], &stubs->sections[stubs->n]))
			stubs->n++;
}

static bool is_stub(const struct stubs *stubs, uint64_t address)
{
	for (size_t i = 0; i < stubs->n; i++) {
		const GElf_Shdr *section = &stubs->sections[i];

		if (address >= section->sh_addr && address - section->sh_addr < section->sh_size)
			return true;
	}
	return false;
}

/*
 * Adds synthetic names for the functions of a stripped program: file name and address, as in
 * "memcached+0x1a2b0". Real names for the same address are preferred.
 */
static int object_add_synthetic(struct object *object, struct object_context *context,
				const char *path)
{
	const struct elf_file *file = object->program;
	struct frame_functions functions = {};
	const char *name = strrchr(path, '/');
	struct stubs stubs;
	int err = frame_functions__read(file, &functions);

	find_stubs(file, &stubs);

	for (size_t i = 0; i < functions.list.n && !err; i++) {
		const struct frame_function *function = &functions.list.data[i];
		struct symbol symbol = {
			.start = function->start,
			.size = function->end - function->start,
			.function = true,
			.synthetic = !function->name,
		};
		char text[512];

		if (is_stub(&stubs, function->start))
			continue;
		snprintf(text, sizeof(text), "%s+0x%" PRIx64, name ? name + 1 : path,
			 function->start);
		symbol.raw =
			strings__intern(&context->strings, function->name ? function->name : text);
		err = symbol.raw ? symtab__add(&object->symtab, &symbol) : -ENOMEM;
	}
	frame_functions__free(&functions);
	return err;
}

static int object_read_symbols(struct object *object, struct object_context *context,
			       const struct symbol_source *source, struct elf_symbols_found *found)
{
	const struct elf_file *files[] = {object->program, object->debug, object->minidebug};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files) && !err; i++)
		if (files[i])
			err = elf_symbols__add(&object->symtab, files[i], found);
	if (source->resolved && !found->symtab)
		object->symtab.n = 0; /* as it was when the recording ended */
	else if (!err && object->program && !found->symtab && source->path)
		err = object_add_synthetic(object, context, source->path);
	if (!err)
		err = symtab__seal(&object->symtab);
	if (!err && object->program)
		err = plt__add(&object->stubs, object->program, &object->symtab);
	if (!err)
		err = symtab__seal(&object->stubs);
	return err;
}

static int object_read_dwarf(struct object *object, struct object_context *context,
			     const struct debug_search *search)
{
	struct elf_file *file = has_dwarf(object->program) ? object->program : object->debug;

	if (!has_dwarf(file))
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

static void object_diagnose(struct object *object, struct object_context *context,
			    const struct symbol_source *source,
			    const struct elf_symbols_found *found)
{
	static const char remote[] = "install its debug symbols (its -dbgsym, -dbg or -debuginfo "
				     "package) or set DEBUGINFOD_URLS";
	static const char local[] = "install its debug symbols (its -dbgsym, -dbg or -debuginfo "
				    "package)";
	const char *hint = context->local ? local : remote;
	const char *name = source_name(source);

	if (source->kind == SYMBOL_SOURCE_VDSO || (!object->program && !object->debug))
		return;
	if (!found->symtab && !object->info && object->program &&
	    elf_file__is_cut_short(object->program))
		object_set_diagnostic(object, context,
				      "%s is cut short, or damaged: install it again, and record",
				      name);
	else if (!found->symtab && !object->info && found->dynsym)
		object_set_diagnostic(object, context,
				      "%s is stripped, only its exported functions have names: %s",
				      name, hint);
	else if (!found->symtab && !object->info)
		object_set_diagnostic(object, context,
				      "%s is stripped, it has no function names: %s", name, hint);
	else if (context->options.lines && !object->info)
		object_set_diagnostic(object, context,
				      "%s has no debug information, so no source lines and inlined "
				      "functions: build it with -g, or %s",
				      name, hint);
}

static int object_read(struct object *object, struct object_context *context,
		       const struct symbol_source *source)
{
	struct debug_search search = {
		.source = source,
		.debug_root = context->options.debug_root,
		.open = open_any,
		.context = context,
	};
	struct elf_symbols_found found = {};
	int err;

	if (source->kind == SYMBOL_SOURCE_ELF)
		object_find_files(object, context, source, &search);
	err = object_read_symbols(object, context, source, &found);
	if (!err && context->options.lines)
		err = object_read_dwarf(object, context, &search);
	if (!err)
		object_diagnose(object, context, source, &found);
	return err;
}

static void object_find_vdso(struct object *object, struct object_context *context,
			     const struct symbol_source *source)
{
	int err = elf_file__vdso(&object->program);

	if (err) {
		object_set_diagnostic(object, context, "cannot read the vdso: %s", strerror(-err));
	} else if (has_build_id(source) &&
		   strcmp(source->build_id, object->program->build_id) != 0) {
		object_set_diagnostic(object, context,
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
		object_find_vdso(object, context, source);
	else
		object_find_program(object, context, source);
	err = object_read(object, context, source);
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
	err = object_read(object, context, &source);
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

const char *object__variable(struct object_context *context, struct object *object,
			     uint64_t address)
{
	if (!object->variables &&
	    (!object->program || variables__new(object->program, object->debug, object->info,
						&context->strings, &object->variables)))
		return NULL;
	return variables__name(object->variables, address);
}

const char *object__diagnostic(const struct object *object)
{
	return object->diagnostic;
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
	variables__free(object->variables);
	dwarf_info__free(object->info);
	dwarf_end(object->dwarf);
	dwarf_end(object->dwarf_alternate);
	symtab__free(&object->symtab);
	symtab__free(&object->stubs);
	elf_file__free(object->program);
	elf_file__free(object->debug);
	elf_file__free(object->minidebug);
	elf_file__free(object->alternate);
	free(object);
}
