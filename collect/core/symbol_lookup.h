/* SPDX-License-Identifier: BSD-2-Clause */
/* Where single functions of the running kernel lie, asked of the kernel itself (5.16). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct symbols_bpf;

/* The kernel's search; NULL: this kernel has none. Ends with symbol_lookup__close(). */
struct symbols_bpf *symbol_lookup__open(void);

/* The code of function @name, [range[0], range[1]). False: the kernel does not say. */
bool symbol_lookup__find(struct symbols_bpf *lookup, const char *name, uint64_t range[2]);

void symbol_lookup__close(struct symbols_bpf *lookup);
DEFINE_CLEANUP(struct symbols_bpf *, symbol_lookup__close)
