/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses of a recording that are to have names: those in its stacks, and those of locks that
 * were waited for. Each is kept once, with the file that it is in: how many there are depends on
 * the code that runs, not on how long it does, and the recording, which others may write to, is not
 * read back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/aging_map.h"
#include "base/array.h"
#include "base/hash.h"
#include "collect/stacks/address_spaces.h"

/* Of more, the names are left to views, which read the files. */
#define ADDRESSES_MAX	      (1U << 20)
#define ADDRESSES_MAX_ORIGINS (1U << 14)
#define ADDRESSES_MAX_JITS    (1U << 12) /* of them: each process that generates code is one */

struct kept_address {
	uint32_t origin; /* index in origins */
	bool data;
	uint64_t address; /* as of struct code_location; of the kernel, absolute */
};

/* An address in a process, which is to be located. */
struct raw_address {
	uint32_t pid; /* 0: that of thread */
	uint32_t thread;
	uint64_t time;
	uint64_t address;
	uint64_t stack; /* the hash of that which it is in; 0: none */
	bool data;
	uint8_t tries;
};

/* Who had a stack, and when. */
struct stack_user {
	uint32_t pid;	 /* 0: of thread */
	uint32_t thread; /* its number; 0 with pid 0: unknown */
	uint64_t time;
};

struct addresses {
	struct aging_map stacks;  /* hash of a user stack -> see addresses.c */
	struct aging_map futexes; /* hash of process and address */
	ARRAY(struct raw_address) raw;
	ARRAY(struct raw_address) unlocated; /* until another process has the stack */
	ARRAY(struct stack_user) others;     /* who have such stacks, too */
	struct map64 by_stack;		     /* hash -> index in others */
	ARRAY(struct kept_address) kept;
	struct map64 by_place;		   /* hash of a kept_address -> index in kept */
	ARRAY(struct code_origin) origins; /* with paths of their own, and no files */
	struct map64 by_number;		   /* of an origin -> index in origins */
	size_t n_jits;
	uint64_t left_out; /* above the limits, or for lack of memory */
};

/* Index of the kernel in origins, whose number, path etc. are not set. */
#define ADDRESSES_KERNEL 0

/* 0 or -ENOMEM. */
int addresses__init(struct addresses *addresses);

/*
 * An event refers to the user stack with this hash. @exact: its innermost frame is the address of
 * an instruction, not a return address. Its frames may be added earlier or later.
 */
void addresses__refer(struct addresses *addresses, const struct stack_user *user, uint64_t hash,
		      bool exact);

void addresses__add_user(struct addresses *addresses, const struct stack_user *user, uint64_t hash,
			 const uint64_t *frames, size_t depth);
void addresses__add_kernel(struct addresses *addresses, const uint64_t *frames, size_t depth);

/* A lock at @address was waited for. */
void addresses__add_futex(struct addresses *addresses, const struct stack_user *user,
			  uint64_t address);

/* The process of a thread, 0: not known (yet). */
typedef uint32_t (*address_process_fn)(void *arg, uint32_t thread);

/*
 * Locates what was added, by the mappings of now. To be called after each batch of events; what is
 * not found is tried again a few times, and when others refer to the stack: mappings of a process
 * that has just ended may be unknown, but those of its siblings, with the same stacks, are not.
 */
void addresses__locate(struct addresses *addresses, const struct address_spaces *spaces,
		       address_process_fn process_of, void *arg);

/* Forgets which stacks were seen, but for those since the last call: to be added again. */
void addresses__forget_unused(struct addresses *addresses);

/* Sorts kept by origin and address. Nothing can be added any more. */
void addresses__sort(struct addresses *addresses);

void addresses__free(struct addresses *addresses);
