/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the probes of a function go. The kernel's return probes replace the return address on the
 * stack: an exception that passes ends the program, as the unwinder does not find the caller. In
 * files with exceptions, probes at the places where the function is left take their place.
 */
#pragma once

#include <stdbool.h>

#include "base/hash.h"
#include "collect/core/uprobes.h"
#include "symbols/code/code.h"

struct function_places {
	uint64_t entry;	     /* offset in the file; the stack pointer is as at the start */
	bool single_stepped; /* the kernel single-steps the instruction there: uprobe_offset.h */
	bool return_probe;   /* the function gets one; @exits is empty */
	/* Otherwise where it is left, with cookies of abi/probe_exit.h. */
	ARRAY(struct uprobe_place) exits;
};

/*
 * Of the function at linked @address in the file open at @fd. The caller has zeroed @places, and
 * frees it in any case. 0, -ENOENT (it has no code in the file), -ENOTSUP (it cannot have probes)
 * or -ENOMEM.
 */
int function_places__find(struct code *code, int fd, uint64_t address,
			  struct function_places *places);

/* Why, to a user, if it was -ENOTSUP. */
extern const char function_places__unsupported[];

void function_places__free(struct function_places *places);

/*
 * Adds the file open at @fd to those that were searched for functions, by device and inode. False:
 * it was among them, there is none, or memory ran out.
 */
bool function_places__is_new(struct map64 *searched, int fd);
