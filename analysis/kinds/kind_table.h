/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions and system calls that tell kinds of waiting; for analysis/ alone. */
#pragma once

#include "analysis/kinds/kinds.h"

enum kind_strength {
	/* Holds when nothing farther out on the stack says more. */
	KIND_WEAK = 1,
	/* Decides; the innermost one wins. */
	KIND_STRONG = 2,
	/* Says more about a wait of one kind (->over), wherever it stands. */
	KIND_REFINES = 3,
	/* A write is under way: what reads as "disk read" is a disk write. */
	KIND_WRITING = 4,
};

struct kind_row {
	const char *function; /* without ".isra.0" and the like */
	enum wait_kind kind;
	enum kind_strength strength;
	enum wait_kind over; /* KIND_REFINES */
};

struct kind_syscall {
	const char *name;
	enum wait_kind kind;
};

extern const struct kind_row kind_rows[];
extern const size_t n_kind_rows;
extern const struct kind_syscall kind_syscalls[];
extern const size_t n_kind_syscalls;
