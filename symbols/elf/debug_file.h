/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding separate debug files.
 */
#pragma once

#include <elfutils/libdw.h>

#include "symbols/elf/elf_file.h"
#include "symbols/symbol_files.h"

struct debug_search {
	const struct symbol_source *source; /* of the program */
	const char *debug_root;		    /* such as /usr/lib/debug */
	symbol_file_open_fn open;
	void *context; /* of open */
};

/*
 * Finds the debug file of the program with @build_id (hex; "": none). @program is the program
 * itself, or NULL if it was not found. Searches by build id in the debug directories, by
 * .gnu_debuglink next to the program and in the debug directories, then with debuginfod. The
 * build id of the file must match or, if there is none, the CRC of the link. 0 or -ENOENT.
 */
int debug_file__find(const struct debug_search *search, const struct elf_file *program,
		     const char *build_id, struct elf_file **out);

/* Finds the program itself in the debug directories or with debuginfod. 0 or -ENOENT. */
int debug_file__program(const struct debug_search *search, const char *build_id,
			struct elf_file **out);

/* Finds the file named by .gnu_debugaltlink (dwz) of @dwarf, which is of @file. 0 or -ENOENT. */
int debug_file__alternate(const struct debug_search *search, const struct elf_file *file,
			  Dwarf *dwarf, struct elf_file **out);
