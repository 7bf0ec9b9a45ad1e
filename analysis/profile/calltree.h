/* SPDX-License-Identifier: BSD-2-Clause */
/* Call trees: callchains merged where they begin alike. */
#pragma once

#include "analysis/callchain.h"
#include "base/hash.h"

enum calltree_order {
	CALLTREE_NONE = 0,
	CALLTREE_CALLER, /* from the outermost function inwards */
	CALLTREE_CALLEE, /* from the innermost function outwards */
};

struct calltree_node {
	uint32_t name; /* string; 0: the address stands for it */
	uint32_t dso;
	uint64_t address;
	uint32_t next;	/* sibling: most time first once sorted */
	uint32_t child; /* the first one */
	bool kernel;
	char letter;	  /* of the class, at the innermost frame of what is off the CPU; or 0 */
	uint64_t self_ns; /* of chains that end here */
	uint64_t total_ns;
};

struct calltree {
	ARRAY(struct calltree_node) nodes; /* [0]: none */
	struct map64 children;		   /* hash of parent and frame -> node */
};

/* A new root; 0 when out of memory. */
uint32_t calltree__root(struct calltree *tree);

/*
 * Adds frames [@from, @to) of @chain below @root with time @ns; @letter marks
 * the innermost frame of the whole chain. Returns 0 or -ENOMEM.
 */
int calltree__add(struct calltree *tree, uint32_t root, const struct model *model,
		  const struct callchain *chain, size_t from, size_t to, enum calltree_order order,
		  char letter, uint64_t ns);

/* Brings all siblings into order. Returns 0 or -ENOMEM. */
int calltree__sort(struct calltree *tree);
void calltree__free(struct calltree *tree);
