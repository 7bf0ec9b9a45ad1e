/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shadow stacks of the process: part of every program that dwell-cc links. Safe in signal
 * handlers, and without locks.
 */
#pragma once

#include "abi/shadow_stack.h"

#define HIDDEN __attribute__((visibility("hidden")))

/*
 * Programs and libraries that dwell-cc links all have a copy of these; the dynamic linker chooses
 * one of them for all.
 */
#define SHARED __attribute__((visibility("default"), weak))

extern SHARED __thread struct shadow_thread __dwell_shadow
	__attribute__((tls_model("initial-exec")));

/* NULL as long as nothing was pushed. */
extern SHARED struct shadow_memory *__dwell_shadow_memory;

/* The stack that a place belongs to, which may be right behind its last entry. */
static inline struct shadow_stack *shadow__stack_of(const struct shadow_entry *place)
{
	return (struct shadow_stack *)(((uintptr_t)place - 1) &
				       ~(uintptr_t)(SHADOW_STACK_SIZE - 1));
}

/*
 * The first mapping is made if there is none. A mapping that follows another one begins like it:
 * its first stack is taken by struct shadow_memory. NULL if there is no memory.
 */
HIDDEN struct shadow_memory *shadow_memory__first(void);

/* The next mapping after @memory; makes one if @make. */
HIDDEN struct shadow_memory *shadow_memory__next(struct shadow_memory *memory, int make);

/* Puts an empty mapping in the place of @memory, with @next behind it. */
HIDDEN void shadow_memory__renew(struct shadow_memory *memory, uint64_t next);

/* Allocates an unused stack, in state SHADOW_NEW; NULL if there is none. */
HIDDEN struct shadow_stack *shadow_memory__take(void);

/* Whether it was the first stack of a thread that is gone. */
HIDDEN int shadow_stack__is_abandoned(const struct shadow_stack *stack);

/*
 * The same, or of a thread that is about to be: pthread_join() returns, and others get its machine
 * stack, before the kernel has removed it. Reads a file in /proc.
 */
HIDDEN int shadow_stack__is_ended(const struct shadow_stack *stack);

/*
 * Changes the state of @stack, whose thread has ended, from SHADOW_USED to SHADOW_NEW. Returns 0
 * if another thread did so first.
 */
HIDDEN int shadow_stack__claim(struct shadow_stack *stack);

/* The end of the live entries of @stack. */
HIDDEN struct shadow_entry *shadow_stack__end(struct shadow_stack *stack);

/* Ends all calls of @stack. */
HIDDEN void shadow_stack__clear(struct shadow_stack *stack);

/*
 * A push that is not the plain case. @top: the thread's place of the next entry; @sp: of the
 * function; @site: its return address. Returns the function's own entry. Called by shadow_enter.S.
 */
HIDDEN struct shadow_entry *__dwell_shadow_push(struct shadow_entry *top, uint64_t function,
						uint64_t sp, uint64_t site);
