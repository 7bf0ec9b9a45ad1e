/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files a parser may be given besides the one it is asked about: debug files of a program,
 * as gdb and libdw search for them. The parser names them, and may have been taken over.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#define DEBUG_ROOT "/usr/lib/debug"

/*
 * Whether @path can be a debug file of the program @program (its path), and is no more than that:
 * below DEBUG_ROOT; in a directory .dwz; a .dwo file; or a file beside the program, or in .debug
 * there, whose name says what it is. Sets @clean to the path without . and .. (of @path, not of
 * symbolic links).
 */
bool debug_path__is_allowed(const char *program, const char *path, char clean[PATH_MAX]);
