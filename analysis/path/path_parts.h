/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of path__find(): the background (path_background.c) and who had the CPUs
 * (path_competitors.c). For analysis/path only. All return 0 or -ENOMEM.
 */
#pragma once

#include "analysis/path/path.h"

/* A piece of a thread's time that is on the path, or in the background. */
struct path_piece {
	uint32_t thread;
	uint64_t from;
	uint64_t until;
};

typedef ARRAY(struct path_piece) path_pieces;

/* Sums by thread, added while the path is walked along. The caller has zeroed it. */
struct path_competitors {
	uint32_t *known;     /* by thread: 1 + index in the path's competitors */
	struct map64 stacks; /* hash of thread and stacks -> ns */
};

int path_competitors__begin(struct path_competitors *competitors, size_t n_threads);
void path_competitors__free(struct path_competitors *competitors);

/* Adds @step, which is RUN_QUEUE or PREEMPTED, to @path->competitors. */
int path_competitors__step(struct path_competitors *competitors, struct path *path,
			   const struct path_step *step);

/* Removes the competitors that were added so far from @path->competitors. */
void path_competitors__clear(struct path_competitors *competitors, struct path *path);

/* Sorts @path->competitors. */
void path_competitors__finish(struct path *path);

/*
 * Sets @path->background, from the windows of all levels of the path. Makes its tree only if
 * @tree.
 */
int path_background__find(struct path *path, const struct idle_waits *idle,
			  const path_pieces *covered, bool tree);
