/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a function is entered and left, for probes: by disassembly. */
#pragma once

#include <stdbool.h>

#include "symbols/code/code.h"

/* A place where a function is left. The stack pointer is what it was at the entry. */
struct code_exit {
	uint64_t address;
	/* 0: always. Otherwise a conditional jump to another function: arch/condition.h. */
	uint32_t condition;
};

struct code_exits {
	/*
	 * Instructions that every call executes once, from the entry on, with the stack pointer
	 * that it has there.
	 */
	ARRAY(uint64_t) prologue;
	ARRAY(struct code_exit) exits; /* returns, and jumps to other functions (tail calls) */
};

/*
 * Of the function that begins at @address, with the parts that the compiler split off. The caller
 * has zeroed @exits, and frees it in any case. 0, -ENOENT (no symbol begins there), -ENOTSUP
 * (another machine, or bytes that are no instructions) or -ENOMEM.
 */
int code__exits(struct code *code, uint64_t address, struct code_exits *exits);

static inline void code_exits__free(struct code_exits *exits)
{
	array__free(&exits->prologue);
	array__free(&exits->exits);
}

/* Whether functions of the file handle exceptions, so that these may pass through others. */
bool code__has_exceptions(const struct code *code);

/* Whether the file has functions of Go: the runtime moves their stacks. */
bool code__is_go(const struct code *code);
