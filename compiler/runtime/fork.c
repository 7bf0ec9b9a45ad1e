// SPDX-License-Identifier: BSD-2-Clause
/*
 * A child process must not write to its parent's shadow stacks. It gets a mapping of its own at the
 * same address, with a copy of the stack of the thread that called fork().
 */
#include <pthread.h>

#include "arch/cycles.h"
#include "compiler/runtime/shadow_memory.h"
#include "compiler/runtime/system.h"

/* Whether the handlers are there, of this copy or another one. */
SHARED int __dwell_shadow_forks;

/* As it was when fork() was called: the parent goes on while its child begins. */
static __thread struct shadow_stack *copy __attribute__((tls_model("initial-exec")));

static void copy_entries(struct shadow_stack *to, const struct shadow_stack *from, size_t n)
{
	to->tid = from->tid;
	to->low = from->low;
	to->high = from->high;
	to->missed = from->missed;
	to->base = from->base;
	for (size_t i = 0; i < n; i++)
		to->entries[i] = from->entries[i];
}

static void before_fork(void)
{
	struct shadow_entry *top = __dwell_shadow.top;
	struct shadow_stack *stack = top ? shadow__stack_of(top) : NULL;

	copy = stack && stack->state == SHADOW_USED ? system__map(NULL, sizeof(*copy), -1) : NULL;
	if (copy)
		copy_entries(copy, stack, (size_t)(top - stack->entries));
}

static void after_fork(void)
{
	if (copy)
		system__unmap(copy, sizeof(*copy));
	copy = NULL;
}

/* The stacks before @stack, which are those of threads that the child does not have. */
static void leave_others(struct shadow_memory *memory, const struct shadow_stack *stack)
{
	struct shadow_stack *stacks = (struct shadow_stack *)memory;

	if (stack < stacks || stack >= stacks + memory->stacks)
		return;
	for (uint32_t i = 1; &stacks[i] < stack; i++)
		stacks[i].state = SHADOW_LEFT;
}

static void in_child(void)
{
	struct shadow_entry *top = __dwell_shadow.top;
	struct shadow_stack *stack = top ? shadow__stack_of(top) : NULL;

	for (struct shadow_memory *memory = __dwell_shadow_memory; memory;) {
		struct shadow_memory *next = shadow_memory__next(memory, 0);

		shadow_memory__renew(memory, (uint64_t)next);
		if (copy && stack)
			leave_others(memory, stack);
		memory = next;
	}
	if (copy && stack) {
		copy_entries(stack, copy, (size_t)(top - stack->entries));
		stack->tid = copy->tid ? system__tid() : 0;
		stack->first = __dwell_shadow.generation;
		stack->first_skips = stack->skips;
		stack->begun = stack->tid ? read_cycles() : 0;
		stack->state = SHADOW_USED;
	} else {
		__dwell_shadow.top = NULL;
	}
	after_fork();
}

/* Before the constructors of the program: handlers of the child run in this order. */
__attribute__((constructor(101))) static void begin(void)
{
	if (!__atomic_exchange_n(&__dwell_shadow_forks, 1, __ATOMIC_RELAXED))
		pthread_atfork(before_fork, after_fork, in_child);
}
