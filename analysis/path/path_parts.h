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

/* A thread of the path waited for CPU @cpu (its number + 1). */
struct path_queued {
	uint32_t cpu;
	uint32_t previous; /* thread that had the CPU at the end of it; 0: unknown */
	uint64_t from;
	uint64_t until;
	uint64_t explained; /* ns of it in which a recorded thread had the CPU */
};

typedef ARRAY(struct path_queued) path_queued_times;

/* Sets @path->competitors. Sorts @queued. */
int path_competitors__find(struct path *path, path_queued_times *queued);

/*
 * Sets @path->background, from the windows of all levels of the path. Makes its tree only if
 * @tree.
 */
int path_background__find(struct path *path, const struct idle_waits *idle,
			  const path_pieces *covered, bool tree);
