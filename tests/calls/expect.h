/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that dwell-cc compiles, which compare their own shadow stack with what it must be. Each
 * prints a TAP line a check.
 */
#pragma once

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/shadow_stack.h"
#include "include/dwell.h"

#ifdef __cplusplus
#define C_NAME extern "C"
extern "C" {
#else
#define C_NAME
#endif

/* A function that stays one, with a name of its own. */
#ifdef __clang__
#define FUNCTION C_NAME __attribute__((noinline))
#else
#define FUNCTION C_NAME __attribute__((noinline, noclone))
#endif

extern struct shadow_memory *__dwell_shadow_memory;
extern __thread struct shadow_thread __dwell_shadow __attribute__((tls_model("initial-exec")));

/* The stack that the thread's pointer is on. */
DWELL_UNTIMED static inline const struct shadow_stack *shadow__owner(const struct shadow_entry *top)
{
	return (const struct shadow_stack *)(((uintptr_t)top - 1) &
					     ~(uintptr_t)(SHADOW_STACK_SIZE - 1));
}

/* The shadow stack of the machine stack that @sp is on. */
DWELL_UNTIMED static const struct shadow_stack *shadow_stack_at(uint64_t sp)
{
	const struct shadow_stack *found = NULL;
	uint64_t closest = UINT64_MAX;

	for (const struct shadow_memory *memory = __dwell_shadow_memory; memory;
	     memory = (const struct shadow_memory *)memory->next) {
		const struct shadow_stack *stacks = (const struct shadow_stack *)memory;

		for (unsigned i = 1; i < memory->stacks; i++) {
			uint64_t away =
				sp > stacks[i].high ? sp - stacks[i].high : stacks[i].high - sp;

			if (stacks[i].state == SHADOW_USED && away < closest) {
				found = &stacks[i];
				closest = away;
			}
		}
	}
	return found;
}

/* The entries of the shadow stack as a scanner sees them: "main outer inner". */
DWELL_UNTIMED static void shadow_text(char *text, size_t size)
{
	const struct shadow_stack *stack = shadow_stack_at((uint64_t)__builtin_frame_address(0));
	uint64_t below = 0;
	size_t length = 0;

	*text = '\0';
	for (size_t i = 0; i < SHADOW_DEPTH; i++) {
		const struct shadow_entry *entry = &stack->entries[i];
		Dl_info info;

		if (!(entry->generation & 1) || entry->generation < below)
			break;
		below = entry->generation;
		if (!dladdr((void *)entry->function, &info) || !info.dli_sname)
			info.dli_sname = "?";
		length += (size_t)snprintf(text + length, length < size ? size - length : 0, "%s%s",
					   length ? " " : "", info.dli_sname);
		if (length >= size)
			break;
	}
}

static int expected, failed;

/* The shadow stack ends with @wanted, or is it if that begins with "main". */
DWELL_UNTIMED static void expect(const char *what, const char *wanted)
{
	char text[4096];
	size_t length, size = strlen(wanted);
	int good;

	shadow_text(text, sizeof(text));
	length = strlen(text);
	good = length >= size && !strcmp(text + length - size, wanted) &&
	       (length == size || (strncmp(wanted, "main", 4) && text[length - size - 1] == ' '));
	__atomic_add_fetch(&failed, !good, __ATOMIC_RELAXED);
	printf("%s %d - %s\n", good ? "ok" : "not ok",
	       __atomic_add_fetch(&expected, 1, __ATOMIC_RELAXED), what);
	if (!good)
		printf("# %s, not %s\n", text, wanted);
	fflush(stdout);
}

DWELL_UNTIMED static void check(const char *what, int good)
{
	__atomic_add_fetch(&failed, !good, __ATOMIC_RELAXED);
	printf("%s %d - %s\n", good ? "ok" : "not ok",
	       __atomic_add_fetch(&expected, 1, __ATOMIC_RELAXED), what);
	fflush(stdout);
}

DWELL_UNTIMED static int end(void)
{
	printf("1..%d\n", expected);
	return failed != 0;
}

/* Keeps the call before it from being a tail call. */
#define NO_TAIL_CALL __asm__ volatile("")

#ifdef __cplusplus
}
#endif
