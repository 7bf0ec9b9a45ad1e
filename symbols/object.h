/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One program or library as the symbolizer sees it: its file, its debug file,
 * its functions and its DWARF, or as much of these as there is.
 */
#pragma once

#include "base/cleanup.h"
#include "symbols/elf/debuginfod.h"
#include "symbols/dwarf/dwarf_info.h"
#include "symbols/elf/elf_file.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"
#include "symbols/symtab.h"

struct object;

struct object_context {
	struct symbolizer_options options; /* with a debug_root */
	struct strings strings;
	struct debuginfod debuginfod;
	bool local; /* servers are not asked even when there are some */
};

/*
 * Opens what @source names (ELF or vdso). An object comes back even when there
 * is nothing to open: it then names nothing and tells why. 0 or -ENOMEM.
 */
int object__open(struct object_context *context, const struct symbol_source *source,
		 struct object **out);

/*
 * The ELF file open at @fd (which stays the caller's), and no other in its
 * place; @path is for its debug file and for messages. 0, -ENOEXEC or another -errno.
 */
int object__open_file(struct object_context *context, int fd, const char *path,
		      struct object **out);

/* As symbolizer__resolve(); 0 when there is no name and no line. */
size_t object__resolve(struct object_context *context, struct object *object, uint64_t offset,
		       struct symbol_frame *frames, size_t max);

/* Why names or lines are missing, or NULL. */
const char *object__trouble(const struct object *object);

/* Of the program in use, "" when there is none. Objects with one build id are the same. */
const char *object__build_id(const struct object *object);

/* The function around the linked address, or the stub that jumps to one; or NULL. */
struct symbol *object__symbol(const struct object *object, uint64_t address);

/* The program (or NULL), its functions without stubs, its DWARF (or NULL): the object's. */
const struct elf_file *object__program(const struct object *object);
const struct symtab *object__symtab(const struct object *object);
struct dwarf_info *object__dwarf(const struct object *object);

void object__free(struct object *object);
DEFINE_CLEANUP(struct object *, object__free)
#define _cleanup_object_ _cleanup_(object__freep)
