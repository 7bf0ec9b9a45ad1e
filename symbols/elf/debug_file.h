/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Separate debug files: where distributions and people put them.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbols/elf/debuginfod.h"
#include "symbols/elf/elf_file.h"

struct debug_search {
	const char *debug_root; /* such as /usr/lib/debug */
	const char *root;	/* prefix of the mount namespace, or NULL */
	const char *path;	/* of the program, as its process saw it */
	struct debuginfod *debuginfod;
};

/*
 * The debug file of the program with @build_id (hex, "": none), which is
 * @program where it is at hand (else NULL): by build id in the debug
 * directories, by .gnu_debuglink beside the program and in the debug
 * directories, and from debuginfod. A file found is checked by build id or, for
 * want of one, by the CRC in the link. Returns 0 or -ENOENT.
 */
int debug_file__find(const struct debug_search *search, const struct elf_file *program,
		     const char *build_id, struct elf_file **out);

/* The program itself, in the debug directories or from debuginfod. Returns 0 or -ENOENT. */
int debug_file__program(const struct debug_search *search, const char *build_id,
			struct elf_file **out);

/* The file that .gnu_debugaltlink of @dwarf, read from @file, names (dwz). 0 or -ENOENT. */
int debug_file__alternate(const struct debug_search *search, const struct elf_file *file,
			  Dwarf *dwarf, struct elf_file **out);
