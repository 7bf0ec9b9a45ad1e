/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths of source files in debug information: relative to a directory, with . and .. components,
 * and written differently in different units.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Joins @unit_directory, @directory (NULL: none) and @name, as far as the latter are relative, and
 * normalizes the result. False if it needs more than @size bytes.
 */
bool source_path__join(const char *unit_directory, const char *directory, const char *name,
		       char *path, size_t size);

/* Removes "//", "/." and "/x/.." in place, lexically: symbolic links are not resolved. */
void source_path__normalize(char *path);

/* Whether the last components of @path are @end. */
bool source_path__ends(const char *path, const char *end);
