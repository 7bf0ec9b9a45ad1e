/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places where a thread waits or computes below a known chain of functions: NAME_outer,
 * NAME_middle and NAME_inner. Their frames differ: the first has memory whose size is known
 * at run time only, the second uses all callee-saved registers, the third has an array.
 *
 * True by construction: no function is inlined, cloned or left by a jump, so the stack of a
 * thread in a place holds the functions of the chain, in that order.
 */
#pragma once

#include "tests/programs/common/disk_file.h"

#include <alloca.h>
#include <malloc.h>
#include <poll.h>

#define RECURSION 400

struct slot {
	const struct place *place;
	pthread_t thread;
	pid_t tid;
	uint64_t rounds;
	uint64_t random;
	int fd;
	void *memory;
};

struct place {
	const char *name;  /* of the thread too */
	const char *chain; /* of functions, outermost first, below run_place */
	const char *class; /* of its waits; cpu: it computes */
	void (*run)(struct slot *slot);
};

/* In the plugin. */
void plugin_enter(struct slot *slot);

extern volatile bool over;
extern uint64_t loops_of_1_us;

/* Keeps the compiler from removing @memory. */
#define USE(memory) __asm__ volatile("" : : "r"(memory) : "memory")

#define PLACE(name, ...)                                                                           \
	KEEP void name##_inner(struct slot *slot)                                                  \
	{                                                                                          \
		char room[40];                                                                     \
                                                                                                   \
		USE(room);                                                                         \
		(void)slot;                                                                        \
		__VA_ARGS__;                                                                       \
		NO_TAIL_CALL();                                                                    \
	}                                                                                          \
                                                                                                   \
	KEEP uint64_t name##_middle(struct slot *slot, uint64_t a, uint64_t b, uint64_t c)         \
	{                                                                                          \
		uint64_t d = a * 3, e = b * 5, f = c * 7;                                          \
                                                                                                   \
		name##_inner(slot);                                                                \
		return (a ^ d) + (b ^ e) + (c ^ f);                                                \
	}                                                                                          \
                                                                                                   \
	KEEP void name##_outer(struct slot *slot)                                                  \
	{                                                                                          \
		char *room = alloca(16 + slot->rounds % 64);                                       \
                                                                                                   \
		USE(room);                                                                         \
		slot->random += name##_middle(slot, slot->rounds, slot->random, 11);               \
		USE(room);                                                                         \
	}

#define CHAIN(name) #name "_outer " #name "_middle " #name "_inner"
