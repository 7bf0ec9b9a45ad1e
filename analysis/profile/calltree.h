/* SPDX-License-Identifier: BSD-2-Clause */
/* Call trees: callchains merged by their common prefixes. */
#pragma once

#include "analysis/callchain.h"
#include "base/hash.h"

enum calltree_order {
	CALLTREE_NONE = 0,
	CALLTREE_CALLER, /* roots are the outermost functions */
	CALLTREE_CALLEE, /* roots are the innermost functions */
};

struct calltree_node {
	uint32_t name; /* string; 0: none, see address */
	uint32_t dso;
	uint64_t address;
	uint32_t next;	/* next sibling; after calltree__sort(), those with most time first */
	uint32_t child; /* first child */
	bool kernel;
	char letter;	  /* at the innermost frame of off-CPU chains: that of the class; else 0 */
	uint64_t self_ns; /* of chains that end here */
	uint64_t total_ns;
};

struct calltree {
	ARRAY(struct calltree_node) nodes; /* [0] is unused */
	struct map64 children;		   /* hash of parent and frame -> node */
};

/* A new root; 0 when out of memory. */
uint32_t calltree__root(struct calltree *tree);

/*
 * Adds frames [@from, @to) of @chain below @root, with @ns of time. The innermost frame of the
 * whole chain gets @letter. Returns 0 or -ENOMEM.
 */
int calltree__add(struct calltree *tree, uint32_t root, const struct model *model,
		  const struct callchain *chain, size_t from, size_t to, enum calltree_order order,
		  char letter, uint64_t ns);

/* Sorts all siblings, those with most time first. Returns 0 or -ENOMEM. */
int calltree__sort(struct calltree *tree);
void calltree__free(struct calltree *tree);
