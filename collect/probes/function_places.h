/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the probes of a function go: symbols/code/function_probes.h. */
#pragma once

#include <stdbool.h>

#include "base/hash.h"
#include "collect/probes/uprobes.h"
#include "privsep/code_reader.h"

struct function_places {
	uint64_t entry;	     /* offset in the file; the stack pointer is as at the start */
	bool single_stepped; /* the kernel single-steps the instruction there:
				arch/uprobe_offset.h */
	bool return_probe;   /* the function gets one; @exits is empty */
	/* Otherwise where it is left, with cookies of abi/probe_exit.h. */
	ARRAY(struct uprobe_place) exits;
};

/*
 * Of a function that a parser found. The caller has zeroed @places, and frees it in any case. 0,
 * -ENOENT (it has no code in the file), -ENOTSUP (it cannot have probes) or -ENOMEM.
 */
int function_places__set(const struct found_function *function, struct function_places *places);

/* Why, to a user, if it was -ENOTSUP. */
extern const char function_places__unsupported[];

void function_places__free(struct function_places *places);

/*
 * Adds the file open at @fd to those that were searched for functions, by device and inode. False:
 * it was among them, there is none, or memory ran out.
 */
bool function_places__is_new(struct map64 *searched, int fd);
