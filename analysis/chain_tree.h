/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Callchains as one tree: chains that share their outer functions share nodes, so that a chain is
 * the number of its innermost node. For formats that hold stacks as a table of caller and function.
 *
 * Nodes are numbered in the order in which they are added, a caller before what it calls; frames
 * likewise. What was added stays, so that a writer may write the new ones after each addition.
 */
#pragma once

#include "analysis/callchain.h"
#include "base/hash.h"

/* A function, at a line. */
struct chain_frame {
	uint64_t address; /* of code without a name: offset in the file, or absolute; else 0 */
	uint32_t name;	  /* string of the model; 0: none */
	uint32_t file;	  /* string: the source file; 0: unknown */
	uint32_t line;	  /* 0: unknown */
	uint32_t dso;	  /* in model->dsos; 0: in no known mapping */
	bool kernel;
	bool inlined; /* into its caller */
};

struct chain_node {
	uint32_t parent; /* the caller; 0: the root */
	uint32_t frame;
};

struct chain_tree {
	ARRAY(struct chain_node) nodes;	  /* [0] is the root: no stack */
	ARRAY(struct chain_frame) frames; /* [0]: a stack that could not be read */
	struct map64 chains;		  /* kernel, user and off_cpu -> node */
	struct map64 children;		  /* parent and frame -> node */
	struct map64 index;		  /* hash of a frame -> frame */
	struct callchain chain;
};

/*
 * The node of the innermost function of stacks @kernel and @user of @model, as callchain__set()
 * joins them; 0 if both are 0. The caller has zeroed @tree, uses it with one symbolized model only,
 * and frees it with chain_tree__free() in any case. Returns the node, below 2^31, or -ENOMEM.
 * Stacks seen before take one look-up.
 */
int64_t chain_tree__add(struct chain_tree *tree, const struct model *model, uint32_t kernel,
			uint32_t user, bool off_cpu);

void chain_tree__free(struct chain_tree *tree);

/* The name of @frame, its address ("0x12ab"), or "[unknown]". Valid until the next call with the
 * same @text. */
const char *chain_frame__text(const struct chain_frame *frame, const struct model *model,
			      char text[static 24]);
