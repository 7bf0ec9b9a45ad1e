/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the instruction for a uprobe. The kernel replaces the instruction by a trap. It emulates
 * some instructions (of x86-64: push of a register, nop, relative jumps and calls). Any other
 * instruction it single-steps in a copy, which takes a second trap: in a virtual machine, a visit
 * costs 16 us instead of 0.75 us.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uprobe_offset {
	uint32_t bytes;	     /* from the entry to the instruction */
	bool single_stepped; /* the kernel cannot emulate the instruction */
};

/* uprobe_offset__choose() examines at most this much code. */
#define UPROBE_CODE_BYTES 8

/*
 * Chooses the offset for code whose entry is the start of @code, of which @n bytes are readable.
 */
struct uprobe_offset uprobe_offset__choose(const uint8_t *code, size_t n);

/* Chooses it for the code at @offset in the file open at @fd. */
struct uprobe_offset uprobe_offset__at(int fd, uint64_t offset);
