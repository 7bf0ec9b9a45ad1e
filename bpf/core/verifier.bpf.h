/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * What the compiler knows and the verifier does not. A compiler that sees that a function returns 0
 * or 1 leaves out the check whether that is so, by which the verifier would know it; a newer
 * compiler sees more.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

/* Zero, which the verifier does not know: it looks at what follows once for each known value. */
static volatile __u32 unknown_zero;

/*
 * A global function: verified once, not for each path that leads to it. The verifier knows nothing
 * of its result; nor does the compiler of what is weak, because it could be another one.
 */
#define GLOBAL __attribute__((noinline, weak))

/* The address in @pointer as a number: a global function takes no pointer to a kernel structure. */
static __always_inline __u64 address_in(const void *pointer)
{
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &pointer);
	return address;
}

/* The result of a callback of bpf_loop() and its like, which the verifier must see to be 0 or 1. */
static __always_inline long loop_ends(bool ends)
{
	long result = ends;

	asm volatile("%0 &= 1" : "+r"(result));
	return result;
}

/*
 * @index modulo @size, a power of two. Where the compiler sees that it is below @size, it leaves
 * out a mask; the verifier knows no more than the mask.
 */
static __always_inline __u64 masked(__u64 index, const __u64 size)
{
	asm volatile("%0 &= %1" : "+r"(index) : "i"(size - 1));
	return index;
}
