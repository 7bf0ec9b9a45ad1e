/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The path of a thread: what it was waiting for, and what that was waiting for, across processes,
 * as one tree, with an account of all its time. Recursive Systemic Profiler, sections 4 to 6.
 */
#pragma once

#include "analysis/own_strings.h"
#include "analysis/path/path_tree.h"

/* A time of a thread, the base, whose path is wanted. */
struct path_window {
	uint32_t thread;
	uint64_t from; /* ns, CLOCK_MONOTONIC: clipped to the thread's life */
	uint64_t until;
	bool continues; /* it and the window before count as one */
};

struct path_options {
	const struct path_window
		*windows; /* one, or those of several requests, which may overlap */
	size_t n_windows;
	const struct path_window *compared; /* others to compare them with; may be none */
	size_t n_compared;
	bool no_background; /* do not look for work that was not waited for */
	bool background;    /* make its tree, too */
	bool is_server;	    /* the base's waits for work are idle, and not followed */
};

/* What the windows that were compared with add up to. */
struct path_side {
	size_t n; /* windows */
	uint64_t wall_ns;
	uint64_t ns[PATH_CATEGORY_COUNT];
};

/* A time of which events were lost. */
struct path_gap {
	uint32_t thread;
	uint64_t from;
	uint64_t until;
};

/* Threads, each waiting for the next one; of each the node in the tree. */
struct path_chain {
	uint32_t node;	   /* THREAD: the innermost */
	uint32_t parent;   /* chain without it; 0: none, it is the base */
	uint32_t depth;	   /* 0: the base */
	uint64_t self_ns;  /* while it was all of the pseudo-stack */
	uint64_t total_ns; /* and of the chains that begin with it */
	uint64_t count;
};

/*
 * A thread that had a CPU for which a thread of the path waited, and did not work for the path.
 * They add up to PATH_RUN_QUEUE and PATH_PREEMPTED.
 */
struct path_competitor {
	uint32_t thread; /* 0: unknown */
	uint32_t user;	 /* stacks of the sample that most of it has; 0: none */
	uint32_t kernel;
	uint64_t ns;
	uint64_t stack_ns; /* in these stacks */
};

/* Work of a thread that the path started, or woke up for, and did not wait for. */
struct path_background {
	uint32_t thread;
	uint32_t starter; /* thread of the path, or of other work in the background */
	uint64_t ns;	  /* running, runnable, or waiting for no other thread */
	uint64_t count;	  /* times */
	uint64_t first;	  /* when it was started first */
};

struct path {
	const struct model *model;
	struct own_strings strings;
	struct wait_causes *causes;
	struct run_groups *runs;
	struct cpu_occupants *cpus;
	struct path_walk walk;
	uint32_t thread; /* the base of the first window */
	uint64_t from;	 /* the first window */
	uint64_t until;
	size_t n_windows; /* of which something lies in their threads' lives */
	uint64_t wall_ns; /* of all windows: what the categories add up to */
	struct path_side compared;
	uint64_t ns[PATH_CATEGORY_COUNT];
	uint64_t accounted_ns;
	uint64_t total_ns; /* with work in the background */
	struct path_tree tree;
	struct path_tree background_tree; /* empty unless it was asked for */
	ARRAY(struct path_chain) chains;  /* [0] is unused; a parent comes before its children */
	ARRAY(struct path_gap) gaps;
	ARRAY(struct path_competitor) competitors; /* those with most time first */
	ARRAY(struct path_background) background;  /* the same */
};

/*
 * Finds the path of @options->windows. @kinds and @model stay the caller's, and must outlive @path;
 * @idle (may be NULL) tells waits for work. The caller has zeroed @path. Returns 0, or
 * -ENOMEM, or -ENODATA if no window has anything of its thread's life; @path is to be freed in any
 * case.
 */
int path__find(const struct model *model, struct kinds *kinds, const struct idle_waits *idle,
	       const struct path_options *options, struct path *path);
void path__free(struct path *path);
