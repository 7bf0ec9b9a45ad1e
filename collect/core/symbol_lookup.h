/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the code of single functions of the running kernel, by a BPF program (5.16 and later). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct symbols_bpf;

/* Loads the program; NULL: this kernel cannot. To be closed with symbol_lookup__close(). */
struct symbols_bpf *symbol_lookup__open(void);

/* Sets @range to the code of function @name, [range[0], range[1]). False: not found. */
bool symbol_lookup__find(struct symbols_bpf *lookup, const char *name, uint64_t range[2]);

void symbol_lookup__close(struct symbols_bpf *lookup);
DEFINE_CLEANUP(struct symbols_bpf *, symbol_lookup__close)
