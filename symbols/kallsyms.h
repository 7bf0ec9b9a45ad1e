/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of the running kernel, its modules and BPF programs, from /proc/kallsyms.
 */
#pragma once

#include "symbols/symtab.h"

struct kallsyms {
	char *text;
	struct symtab symtab;
};

/*
 * Reads @path, in the format of /proc/kallsyms, with code that the kernel generated (BPF
 * programs, trampolines) only if @generated. Returns 0, -EPERM when all addresses are hidden
 * (kptr_restrict), or another -errno.
 */
int kallsyms__read(struct kallsyms *kallsyms, const char *path, bool generated);

void kallsyms__free(struct kallsyms *kallsyms);
