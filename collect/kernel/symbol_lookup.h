/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds and names single functions of the running kernel, by BPF programs (5.16 and later). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct symbols_bpf;

/* Loads the programs; NULL: this kernel cannot. To be closed with symbol_lookup__close(). */
struct symbols_bpf *symbol_lookup__open(void);

/* Sets @range to the code of function @name, [range[0], range[1]). False: not found. */
bool symbol_lookup__find(struct symbols_bpf *lookup, const char *name, uint64_t range[2]);

/*
 * Sets @name to that of the function at @address, as in /proc/kallsyms, of the kernel, of a module
 * or generated; "" if there is none. 0 or a negative errno.
 */
int symbol_lookup__name(struct symbols_bpf *lookup, uint64_t address, char *name, size_t size);

void symbol_lookup__close(struct symbols_bpf *lookup);
DEFINE_CLEANUP(struct symbols_bpf *, symbol_lookup__close)
