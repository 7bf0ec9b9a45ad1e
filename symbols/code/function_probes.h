/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the probes of a function go. The kernel's return probes replace the return address on the
 * stack: an exception that passes ends the program, as the unwinder does not find the caller. In
 * files with exceptions, probes at the places where the function is left take their place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "symbols/code/code_exits.h"
#include "arch/uprobe_offset.h"

struct function_probes {
	uint64_t entry;	     /* offset in the file; the stack pointer is as at the start */
	bool single_stepped; /* the kernel single-steps the instruction there: uprobe_offset.h */
	bool return_probe;   /* the function gets one; @exits is empty */
	/* Otherwise where it is left: here, addresses are offsets in the file. */
	ARRAY(struct code_exit) exits;
};

/*
 * Of the function at linked @address. The caller has zeroed @probes, and frees it in any case. 0,
 * -ENOENT (it has no code in the file), -ENOTSUP (it cannot have probes) or -ENOMEM.
 */
int function_probes__find(struct code *code, uint64_t address, struct function_probes *probes);

/*
 * The file offset of linked address @address, and the choice for a uprobe there. 0, or -ENOENT.
 */
int code__uprobe(const struct code *code, uint64_t address, uint64_t *offset,
		 struct uprobe_offset *choice);

static inline void function_probes__free(struct function_probes *probes)
{
	array__free(&probes->exits);
}
