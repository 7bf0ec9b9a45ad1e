/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One program or library as the symbolizer sees it: its file, its debug file,
 * its functions and its DWARF, or as much of these as there is.
 */
#pragma once

#include "symbols/debuginfod.h"
#include "symbols/strings.h"
#include "symbols/symbols.h"

struct object;

struct object_context {
	struct symbolizer_options options; /* with a debug_root */
	struct strings strings;
	struct debuginfod debuginfod;
};

/*
 * Opens what @source names (ELF or vdso). An object comes back even when there
 * is nothing to open: it then names nothing and tells why. 0 or -ENOMEM.
 */
int object__open(struct object_context *context, const struct symbol_source *source,
		 struct object **out);

/* As symbolizer__resolve(); 0 when there is no name and no line. */
size_t object__resolve(struct object_context *context, struct object *object, uint64_t offset,
		       struct symbol_frame *frames, size_t max);

/* Why names or lines are missing, or NULL. */
const char *object__trouble(const struct object *object);

/* Of the program in use, "" when there is none. Objects with one build id are the same. */
const char *object__build_id(const struct object *object);

void object__free(struct object *object);
