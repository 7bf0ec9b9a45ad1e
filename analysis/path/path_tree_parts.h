/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of path_tree.c, for analysis/path only. Nodes are 0 without memory. */
#pragma once

#include "analysis/path/path_tree.h"

/*
 * The node of the stack @kernel and @user below @parent. Off the CPU only user functions are shown,
 * unless the thread has none: what it waits for says more than how the kernel waits. Of a thread
 * that had the CPU for others, only the function is shown that a profile names.
 */
uint32_t path_tree__add_stack(struct path_tree *tree, uint32_t parent, uint32_t kernel,
			      uint32_t user, bool off_cpu);

/* Whether it was added before, on the CPU. */
bool path_tree__has_stack(const struct path_tree *tree, uint32_t parent, uint32_t kernel,
			  uint32_t user);

/* The node of the outermost functions that two stacks share: the run between them was in these. */
uint32_t path_tree__add_common(struct path_tree *tree, uint32_t parent, uint32_t before,
			       uint32_t after);

/* Keeps the run @step of the thread at @node, which is in a group. 0 or -ENOMEM. */
int path_tree__add_run(struct path_tree *tree, uint32_t node, const struct path_step *step);

/* The node of the functions in which most samples of @group are. */
uint32_t path_tree__add_likely(struct path_tree *tree, uint32_t node, uint32_t group);

/* Divides among functions what was kept of runs, and forgets it. 0 or -ENOMEM. */
int path_tree__divide(struct path_tree *tree);
