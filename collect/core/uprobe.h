/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a uprobe goes. The kernel replaces an instruction by a trap; some (a push of a
 * register, jumps, calls) it does in place of the processor, any other it has to step over
 * in a copy, by a second trap: 16 us instead of 0.75 us a visit in a virtual machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uprobe_place {
	uint32_t skip; /* bytes behind the entry */
	bool stepped;  /* the kernel has to step */
};

/* As much code as uprobe__place() looks at. */
#define UPROBE_CODE 8

/*
 * The place for code that is entered at the begin of @code, of which there are @n bytes. Not
 * at endbr64, which functions begin with for the sake of indirect jumps and which has to be
 * stepped over, when a push follows: code that runs the one runs the other.
 */
struct uprobe_place uprobe__place(const uint8_t *code, size_t n);
