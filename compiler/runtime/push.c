// SPDX-License-Identifier: BSD-2-Clause
/*
 * A push that is not the plain case: finds the shadow stack of the machine stack, and removes what
 * exceptions and longjmp have left behind.
 */
#include "arch/cycles.h"
#include "compiler/runtime/shadow_memory.h"
#include "compiler/runtime/system.h"

/*
 * A stack pointer this close to those seen on a machine stack is taken to be on it. To take another
 * one for the same would end calls that go on; to take the same for another one only
 * hides the caller of a call. So it is little but for a thread's first stack, the only one
 * that is known to be large.
 */
#define NEAR		   8192
#define NEAR_A_FIRST_STACK (256 << 10)

/* Pops of calls that found no shadow stack end up here: at a boundary, so that each push does. */
static struct shadow_stack nowhere[2] __attribute__((aligned(SHADOW_STACK_SIZE)));

static uint64_t distance(const struct shadow_stack *stack, uint64_t sp)
{
	if (sp < stack->low)
		return stack->low - sp;
	return sp > stack->high ? sp - stack->high : 0;
}

static void set_up(struct shadow_stack *stack, uint64_t sp, uint32_t tid)
{
	shadow_stack__clear(stack);
	stack->tid = tid;
	stack->low = stack->high = sp;
	stack->missed = 0;
	stack->begun = 0;
	__atomic_store_n(&stack->state, SHADOW_USED, __ATOMIC_RELEASE);
}

/* The used stack that @sp is closest to, if closer than @limit. */
static struct shadow_stack *closest(uint64_t sp, uint64_t limit)
{
	struct shadow_stack *found = NULL;

	for (struct shadow_memory *memory = __dwell_shadow_memory; memory;
	     memory = shadow_memory__next(memory, 0)) {
		struct shadow_stack *stacks = (struct shadow_stack *)memory;

		for (uint32_t i = 1; i < memory->stacks && stacks[i].state != SHADOW_FREE; i++)
			if (stacks[i].state == SHADOW_USED && distance(&stacks[i], sp) < limit) {
				found = &stacks[i];
				limit = distance(found, sp);
			}
	}
	return found;
}

/*
 * The stack of a thread that has not pushed anything yet. Machine stacks are used again: the shadow
 * stack of a thread that had this one, and has ended, must not stay beside the new one's.
 */
static struct shadow_stack *first_stack(uint64_t sp)
{
	struct shadow_stack *stack = closest(sp, NEAR_A_FIRST_STACK);

	if (stack && distance(stack, sp) && !shadow_stack__is_ended(stack))
		stack = NULL;
	if (!stack || !shadow_stack__claim(stack))
		stack = shadow_memory__take();
	if (stack)
		set_up(stack, sp, system__tid());
	return stack;
}

static struct shadow_stack *other_stack(struct shadow_stack *current, uint64_t sp)
{
	struct shadow_entry *end = shadow_stack__end(current);
	struct shadow_stack *stack;

	/* Pushes that are the plain case do not tell how deep they are. */
	if (end > current->entries && end[-1].sp < current->low)
		current->low = end[-1].sp;
	stack = closest(sp, NEAR);
	if (!stack && distance(current, sp) < (current->tid ? NEAR_A_FIRST_STACK : NEAR))
		stack = current;
	if (stack)
		return stack;
	stack = shadow_memory__take();
	if (stack)
		set_up(stack, sp, 0);
	return stack;
}

/* The end of @stack, after removal of entries that are not above @sp: their functions have ended.
 */
static struct shadow_entry *remove_ended(struct shadow_stack *stack, uint64_t sp)
{
	struct shadow_entry *end = shadow_stack__end(stack);

	while (end > stack->entries && end[-1].sp < sp) {
		end--;
		end->generation = 0;
	}
	return end;
}

/*
 * Whether a push on @stack may take the thread's next generation: it is the thread's own stack, on
 * which its last push or pop was. Then generations count its calls. They do not if it has used
 * another stack in between.
 */
static int counts(const struct shadow_stack *stack, const struct shadow_entry *top,
		  const struct shadow_entry *entry)
{
	return stack->tid && top && shadow__stack_of(top) == stack &&
	       (entry == stack->entries || entry[-1].generation <= __dwell_shadow.generation);
}

/*
 * Greater than that of any call before, of other threads too: it is not ahead of the time stamp
 * counter, since that counts faster than a thread can push. So generations rise on a machine stack
 * that several threads use in turn.
 */
static uint64_t next_generation(const struct shadow_thread *thread)
{
	uint64_t now = read_cycles();

	return (now > thread->generation + 2 ? now : thread->generation + 2) | 1;
}

/* The first push of the thread whose stack this is takes @generation. */
static void begin_thread(struct shadow_stack *stack, uint64_t generation)
{
	stack->first = generation - 2;
	stack->first_skips = stack->skips + 1;
	__atomic_store_n(&stack->begun, read_cycles(), __ATOMIC_RELEASE);
}

struct shadow_entry *__dwell_shadow_push(struct shadow_entry *top, uint64_t function, uint64_t sp,
					 uint64_t site)
{
	struct shadow_stack *stack = top ? shadow__stack_of(top) : NULL;
	struct shadow_thread *thread = &__dwell_shadow;
	struct shadow_entry *entry;
	uint64_t skips;

	if (!top || stack == nowhere)
		stack = first_stack(sp);
	else if (distance(stack, sp))
		stack = other_stack(stack, sp);
	if (!stack)
		return thread->top = &nowhere[1].full;
	if (sp < stack->low)
		stack->low = sp;
	if (sp > stack->high)
		stack->high = sp;
	entry = remove_ended(stack, sp);
	if (entry == stack->entries + SHADOW_DEPTH) {
		stack->missed++;
		return thread->top = entry;
	}
	thread->top = entry + 1;
	skips = !counts(stack, top, entry);
	__atomic_fetch_add(&stack->skips, skips, __ATOMIC_RELEASE);
	thread->generation = skips ? next_generation(thread) : thread->generation + 2;
	if (skips && stack->tid && !stack->begun)
		begin_thread(stack, thread->generation);
	/* The next call from the same place is the plain case then. */
	if (entry == stack->entries)
		stack->base.sp = sp + NEAR / 2;
	entry->function = function;
	entry->site = site;
	entry->sp = sp - 1;
	__atomic_store_n(&entry->generation, thread->generation, __ATOMIC_RELEASE);
	__atomic_fetch_add(&stack->skips, skips, __ATOMIC_RELEASE);
	return entry;
}
