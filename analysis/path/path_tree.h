/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pseudo-stacks merged into one tree: a thread, its functions, what it waits for, the thread that
 * ends the wait, its functions, and so on. Recursive Systemic Profiler, sections 4.1 and 4.2.3.
 */
#pragma once

#include "analysis/callchain.h"
#include "analysis/path/path_walk.h"
#include "base/hash.h"

enum path_node_type {
	PATH_NODE_THREAD = 0, /* threads of that name, in processes of that name */
	PATH_NODE_FRAME,      /* a function on the stack of the thread above */
	PATH_NODE_WAIT,	      /* a wait of the thread above; below it is who ends it */
	/*
	 * What the thread does, or waits for, if that is no function. Below a wait for a CPU are
	 * the threads that had it.
	 */
	PATH_NODE_LEAF,
};

struct path_node {
	uint8_t type;	     /* enum path_node_type */
	uint8_t category;    /* LEAF: enum path_category */
	uint8_t class;	     /* WAIT: enum wait_class */
	bool kernel;	     /* FRAME */
	bool several;	     /* THREAD: more than one, */
	bool processes;	     /* of more than one process */
	bool had_cpu;	     /* THREAD: had the CPU that the one above waited for; for others */
	enum wait_kind kind; /* WAIT */
	uint32_t object;     /* WAIT */
	uint32_t name;	     /* THREAD, FRAME: string; a FRAME without one has 0, see location */
	uint32_t process;    /* THREAD: string, the name of its process */
	uint32_t thread;     /* THREAD: the first of them */
	uint32_t location;   /* FRAME: one of its addresses */
	uint32_t id;	     /* LEAF: as in struct path_step */
	uint32_t parent;     /* 0: the root */
	uint32_t child;	     /* the first */
	uint32_t next;	     /* sibling; after path_tree__finish() those with most time first */
	uint64_t count;	     /* times that it was entered */
	uint64_t self_ns;
	uint64_t total_ns;     /* after path_tree__finish(): self_ns and that of all below */
	uint64_t estimated_ns; /* part of self_ns: of runs that were not sampled themselves */
	bool is_estimated;     /* total_ns has such a part, too, and is not exact */
	/* Of what samples say of runs, in ns^2: of self_ns, and of total_ns. */
	double self_variance;
	double total_variance;
};

/* Runs of a thread of the tree between the same two waits: see run_groups.h. */
struct path_estimate {
	uint32_t node; /* of the thread */
	uint32_t group;
	uint64_t ns;	     /* that are to be divided among functions */
	uint64_t sampled_ns; /* other runs of it, or parts of runs, */
	uint64_t samples;    /* each with one of these */
};

/* Times of a node in the windows that others are compared with. */
struct path_node_times {
	uint64_t count;
	uint64_t self_ns;
	uint64_t total_ns;
};

/* What the tree keeps of a level while it is walked along. */
struct path_tree_level {
	uint32_t thread;
	uint32_t node;	   /* of the thread */
	uint32_t wait;	   /* the node of the wait, */
	uint32_t interval; /* of this number + 1, that was added last */
	uint32_t queue;	   /* the node of the wait for a CPU, */
	uint32_t queued;   /* in the interval of this number + 1, that was added last */
};

/* Bounds the memory of a tree, to about 0.5 GiB. */
#define PATH_TREE_NODES 2000000

struct path_tree {
	const struct model *model;
	size_t max_nodes; /* beyond these, new ones are not added: their time counts for the node
			     above */
	bool is_full;
	const struct wait_causes *causes;
	ARRAY(struct path_node) nodes;		/* [0] is the root, whose children are threads */
	ARRAY(struct path_node_times) compared; /* of each node, if there is a comparison */
	ARRAY(struct path_tree_level) levels;
	const struct run_groups *runs;
	ARRAY(struct path_estimate) estimates;
	struct map64 estimated; /* hash of node and group -> element of estimates */
	struct map64 children;	/* hash of parent and key -> node */
	struct map64 stacks;	/* hash of node and stacks -> node */
	struct map64 objects;	/* string, a name -> the first object that has it */
	struct map64 held;	/* the same of sockets on which TCP held data back, by hash */
	struct callchain chain;
	struct callchain other;
};

/* The caller has zeroed @tree. @runs: of the walk; may be NULL. 0 or -ENOMEM; it is to be freed in
 * any case. */
int path_tree__begin(struct path_tree *tree, const struct model *model,
		     const struct wait_causes *causes, const struct run_groups *runs);

/* Parts of a visitor of path__walk(). 0 or -ENOMEM. */
int path_tree__enter(struct path_tree *tree, const struct path_level *level);
int path_tree__step(struct path_tree *tree, const struct path_step *step, uint32_t *node);
void path_tree__leave(struct path_tree *tree);

/* What was added so far is what the rest is to be compared with. 0 or -ENOMEM. */
int path_tree__set_aside(struct path_tree *tree);

/* Sets the totals, and sorts siblings. 0 or -ENOMEM. */
int path_tree__finish(struct path_tree *tree);
void path_tree__free(struct path_tree *tree);
