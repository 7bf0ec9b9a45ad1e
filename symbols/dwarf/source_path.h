/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths of source files, as compilers write them: relative to a directory,
 * with . and .. in them, different from unit to unit for one file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * @name in @directory in @unit_directory, as far as each is relative to the
 * next (NULL: none), made plain by source_path__plain(). Returns false when it
 * does not fit in @size bytes.
 */
bool source_path__join(const char *unit_directory, const char *directory, const char *name,
		       char *path, size_t size);

/* Takes "//", "/." and "/x/.." out, by their letters: symbolic links are not looked up. */
void source_path__plain(char *path);

/* Whether @path is @end, or ends with it from a / on. */
bool source_path__ends(const char *path, const char *end);
