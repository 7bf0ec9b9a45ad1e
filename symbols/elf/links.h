/* SPDX-License-Identifier: BSD-2-Clause */
/* Which libraries a program or library is linked with. */
#pragma once

#include <stdbool.h>

enum elf_link_kind {
	ELF_LINK_NEEDED,   /* the name of a library (DT_NEEDED) */
	ELF_LINK_RUN_PATH, /* folders to look for them (DT_RUNPATH, DT_RPATH), separated by colons
			    */
};

/* @text is valid during the call. True: enough. */
typedef bool (*elf_link_fn)(void *arg, enum elf_link_kind kind, const char *text);

/*
 * Calls @each for the links of the ELF file open at @fd, which stays the caller's. *@loads: it may
 * run code of other files as well: it is linked statically, so nothing is known; or it imports
 * functions that load libraries or execute programs. 0, or -errno as of elf_file__share().
 */
int elf_links__each(int fd, bool *loads, elf_link_fn each, void *arg);
