/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One program or library: its file, its debug file, its symbol table and its DWARF, as far as
 * they were found.
 */
#pragma once

#include "base/cleanup.h"
#include "symbols/elf/debuginfod.h"
#include "symbols/dwarf/dwarf_info.h"
#include "symbols/elf/elf_file.h"
#include "symbols/strings.h"
#include "symbols/symbol_files.h"
#include "symbols/symbols.h"
#include "symbols/symtab.h"

struct object;

struct object_context {
	struct symbolizer_options options; /* with a debug_root */
	struct strings strings;
	struct debuginfod debuginfod;
	bool local; /* do not use debuginfod, and do not suggest it */
};

/* Opens a file of @source, as its options say. A descriptor, the caller's, or -errno. */
int object_context__open(struct object_context *context, const struct symbol_source *source,
			 const struct symbol_file_request *request);

/*
 * Opens @source (ELF or vdso). When its file cannot be opened, the result has no names and a
 * diagnostic. 0 or -ENOMEM.
 */
int object__open(struct object_context *context, const struct symbol_source *source,
		 struct object **out);

/*
 * Opens exactly the ELF file open at @fd, which stays the caller's; @path is used to find its
 * debug file and in messages. 0, -ENOEXEC or another -errno.
 */
int object__open_file(struct object_context *context, int fd, const char *path,
		      struct object **out);

/* As symbolizer__resolve(), but returns 0 if neither name nor line is known. */
size_t object__resolve(struct object_context *context, struct object *object, uint64_t offset,
		       struct symbol_frame *frames, size_t max);

/* As symbolizer__variable(). */
const char *object__variable(struct object_context *context, struct object *object,
			     uint64_t address);

/* Why names or lines are missing, with a hint; or NULL. */
const char *object__diagnostic(const struct object *object);

/* The build id of the program, or "". Objects with the same build id are interchangeable. */
const char *object__build_id(const struct object *object);

/* The function or PLT stub that contains the linked address, or NULL. */
struct symbol *object__symbol(const struct object *object, uint64_t address);

/* The program (or NULL), its symbols without PLT stubs, its DWARF (or NULL). The object's. */
const struct elf_file *object__program(const struct object *object);
const struct symtab *object__symtab(const struct object *object);
struct dwarf_info *object__dwarf(const struct object *object);

void object__free(struct object *object);
DEFINE_CLEANUP(struct object *, object__free)
#define _cleanup_object_ _cleanup_(object__freep)
