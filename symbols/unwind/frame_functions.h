/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bounds of functions from unwind information, which remains in stripped programs. Parts that
 * a compiler split off a function have bounds of their own. Go programs have function names, too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "symbols/elf/elf_file.h"

struct frame_function {
	uint64_t start;	  /* linked address */
	uint64_t end;	  /* not included */
	const char *name; /* NULL: unknown */
};

struct frame_functions {
	ARRAY(struct frame_function) list; /* in file order */
	uint8_t *names;			   /* the names point into it */
};

/*
 * Reads @file, before libdw opens it (see unwind_input__read()). A file without unwind
 * information, or with damaged one, has no functions. Returns 0 or -ENOMEM; @functions must be
 * freed in any case.
 */
int frame_functions__read(const struct elf_file *file, struct frame_functions *functions);
void frame_functions__free(struct frame_functions *functions);
