/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shadow stacks: the calls in progress of a program built by dwell-cc, in memory that dwell can
 * map and scan (LDB, NSDI'24, section 3.2; docs/call-latency.md).
 *
 * An instrumented function pushes an entry at its begin, and pops it at its end. LDB keeps the same
 * words in the frames of the machine stack, where every unwinder has to know them.
 *
 * Each machine stack (of a thread, a coroutine, or signal handlers) has a shadow stack of its own,
 * which a push finds by its stack pointer. Code that switches between machine stacks needs no
 * support. The thread-local struct shadow_thread points to the next free entry. dwell cannot see
 * it. Instead, an entry is live if its generation is odd and greater than that of the entry below;
 * the first entry that is not live ends the stack.
 *
 * A stack has the size and the alignment of SHADOW_STACK_SIZE: a place at such a boundary means
 * that the stack is full, or (NULL) that the thread has none yet.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHADOW_STACK_SIZE 65536
#define SHADOW_MAGIC	  0x776f646168736c64ull
#define SHADOW_VERSION	  2

/* The name of the memory in /proc/PID/maps is "/memfd:dwell-shadow". */
#define SHADOW_MEMORY_NAME "dwell-shadow"

/* Stacks in one mapping; a process that needs more has several. */
#define SHADOW_STACKS 128

/* Bytes of struct shadow_stack before its entries. */
#define SHADOW_STACK_HEAD 128

/*
 * A call. Written by its thread in the order function, site, sp, generation. Each push of a thread
 * takes the next odd generation, so generations count calls; the pop writes 0. A scan is valid if
 * the deepest live entry is the same after it as before: what is below cannot have changed then.
 */
struct shadow_entry {
	uint64_t function; /* an address in the function, behind its push */
	uint64_t generation;
	uint64_t sp;   /* its stack pointer, less 1 */
	uint64_t site; /* the address that it returns to: behind the call */
};

/* Thread-local, __dwell_shadow. */
struct shadow_thread {
	struct shadow_entry *top;
	uint64_t generation; /* of the last push */
};

/* The first stack of a mapping that is SHADOW_FREE ends those to look at. */
enum shadow_state {
	SHADOW_FREE = 0,
	SHADOW_USED = 1, /* the other fields are valid */
	SHADOW_NEW = 2,	 /* a thread is initializing it */
	SHADOW_LEFT = 3, /* unused, but others behind it are not */
};

struct shadow_stack {
	struct shadow_entry full; /* what calls that find no room pop; not a part of the stack */
	uint32_t state;		  /* enum shadow_state */
	uint32_t tid;		  /* the thread whose first one it is, as it sees itself; or 0 */
	uint64_t low, high;	  /* stack pointers seen on this machine stack */
	uint64_t missed;	  /* calls that found no room */
	/*
	 * Raised before and after a push that does not take the next generation. If it was even
	 * before a scan, and is the same after a later one, generations between them count calls.
	 */
	uint64_t skips;
	/*
	 * Of the stack's thread; with begun 0, unknown. Its generation before its first push, what
	 * skips was after that, and the time stamp counter. begun is written last.
	 */
	uint64_t first, first_skips, begun;
	struct shadow_entry base; /* its sp is one that all entries lie below */
	struct shadow_entry
		entries[(SHADOW_STACK_SIZE - SHADOW_STACK_HEAD) / sizeof(struct shadow_entry)];
};

#define SHADOW_DEPTH ((SHADOW_STACK_SIZE - SHADOW_STACK_HEAD) / sizeof(struct shadow_entry))

/* The first stack's place in a mapping. */
struct shadow_memory {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;	 /* as the process sees itself */
	uint32_t stacks; /* number of them in this mapping */
	uint32_t reserved;
	uint64_t next; /* the address of the next mapping, or 0 */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct shadow_entry) == 32, "written by arch/shadow_asm.h");
_Static_assert(sizeof(struct shadow_stack) == SHADOW_STACK_SIZE, "a place tells its stack");
_Static_assert(SHADOW_DEPTH * sizeof(struct shadow_entry) + SHADOW_STACK_HEAD == SHADOW_STACK_SIZE,
	       "the last entry ends at a boundary");
_Static_assert(offsetof(struct shadow_stack, entries) ==
		       offsetof(struct shadow_stack, base) + sizeof(struct shadow_entry),
	       "the base lies before the entries");
#endif
