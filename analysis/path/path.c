// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/path/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/path_parts.h"
#include "base/cleanup.h"

/* More threads do not wait for each other in real programs; a tree of them would be unreadable. */
#define MAX_DEPTH 256

/* What is collected while the path is walked along. */
struct finder {
	struct path *path;
	path_pieces covered;
	struct path_competitors competitors;
};

static int on_enter(void *context, const struct path_level *level)
{
	struct finder *finder = context;
	struct path_piece piece = {level->thread, level->from, level->until};
	int err = path_tree__enter(&finder->path->tree, level);

	return err || level->relation == PATH_HAS_CPU ? err : array__push(&finder->covered, piece);
}

static int on_step(void *context, const struct path_step *step)
{
	struct finder *finder = context;
	struct path *path = finder->path;
	struct path_gap gap = {step->thread, step->from, step->until};
	uint32_t node;
	int err = path_tree__step(&path->tree, step, &node);

	path->ns[step->category] += step->until - step->from;
	if (!err && step->category == PATH_GAP)
		err = array__push(&path->gaps, gap);
	if (!err && (step->category == PATH_RUN_QUEUE || step->category == PATH_PREEMPTED))
		err = path_competitors__step(&finder->competitors, path, step);
	return err;
}

static int on_leave(void *context, const struct path_level *level)
{
	struct finder *finder = context;

	path_tree__leave(&finder->path->tree);
	return 0;
}

/* Threads that wait for each other, without what they do. */
static int find_chains(struct path *path)
{
	const struct path_node *nodes = path->tree.nodes.data;
	_cleanup_free_ uint32_t *chain_of = calloc(path->tree.nodes.n, sizeof(*chain_of));

	if (!chain_of || !array__add(&path->chains))
		return -ENOMEM;
	for (uint32_t i = 1; i < path->tree.nodes.n; i++) {
		uint32_t outer = chain_of[nodes[i].parent];
		struct path_chain chain = {.node = i,
					   .parent = outer,
					   .depth = outer ? path->chains.data[outer].depth + 1 : 0,
					   .total_ns = nodes[i].total_ns,
					   .count = nodes[i].count};

		chain_of[i] = outer;
		if (nodes[i].type == PATH_NODE_THREAD && !nodes[i].had_cpu) {
			chain_of[i] = (uint32_t)path->chains.n;
			if (array__push(&path->chains, chain))
				return -ENOMEM;
		}
		path->chains.data[chain_of[i]].self_ns += nodes[i].self_ns;
	}
	return 0;
}

static void add_up(struct path *path)
{
	for (int i = 0; i < PATH_CATEGORY_COUNT; i++)
		if (path_category__is_accounted((enum path_category)i))
			path->accounted_ns += path->ns[i];
	path->total_ns = path->wall_ns;
	for (size_t i = 0; i < path->background.n; i++)
		if (__builtin_add_overflow(path->total_ns, path->background.data[i].ns,
					   &path->total_ns))
			path->total_ns = UINT64_MAX; /* a damaged recording */
}

/* Clips @window to its thread's life. False: nothing is left of it. */
static bool clip(const struct model *model, const struct path_window *window,
		 struct path_window *clipped)
{
	const struct model_thread *thread = &model->threads.data[window->thread];
	uint64_t end = thread->has_totals ? thread->ended : model->end;

	*clipped = *window;
	if (clipped->from < thread->created)
		clipped->from = thread->created;
	if (clipped->until > end)
		clipped->until = end;
	return clipped->from < clipped->until;
}

static int prepare(struct path *path, const struct model *model, struct kinds *kinds,
		   const struct idle_waits *idle, const struct path_options *options)
{
	int err;

	path->model = model;
	path->strings.model = model;
	err = wait_causes__new(&path->strings, kinds, &path->causes);
	err = err ? err : run_groups__new(model, kinds, &path->runs);
	err = err ? err : cpu_occupants__new(model, &path->cpus);
	path->walk = (struct path_walk){
		.model = model,
		.causes = path->causes,
		.kinds = kinds,
		.idle = options->is_server ? idle : NULL,
		.runs = path->runs,
		.cpus = path->cpus,
		.slack_ns = path__slack(model),
		.max_depth = MAX_DEPTH,
	};
	return err ? err : path_tree__begin(&path->tree, model, path->causes, path->runs);
}

static int walk_windows(struct finder *finder, const struct path_options *options)
{
	const struct path_visitor visitor = {on_enter, on_step, on_leave, finder};
	struct path *path = finder->path;
	struct path_window window;
	bool counted = false;
	int err = 0;

	for (size_t i = 0; i < options->n_windows && !err; i++) {
		counted = counted && options->windows[i].continues;
		if (!clip(path->model, &options->windows[i], &window))
			continue;
		if (!path->n_windows) {
			path->thread = window.thread;
			path->from = window.from;
			path->until = window.until;
		}
		path->n_windows += !counted;
		counted = true;
		path->wall_ns += window.until - window.from;
		err = path__walk(&path->walk, window.thread, window.from, window.until, &visitor);
	}
	return err || path->n_windows ? err : -ENODATA;
}

/* Walks along the windows to compare with: only their times are kept. */
static int walk_compared(struct finder *finder, const struct path_options *options)
{
	struct path *path = finder->path;
	struct path_side *side = &path->compared;
	const struct path_options compared = {.windows = options->compared,
					      .n_windows = options->n_compared};
	int err = walk_windows(finder, &compared);

	if (err)
		return err;
	side->n = path->n_windows;
	side->wall_ns = path->wall_ns;
	memcpy(side->ns, path->ns, sizeof(side->ns));
	memset(path->ns, 0, sizeof(path->ns));
	path->n_windows = path->wall_ns = 0;
	path->gaps.n = finder->covered.n = 0;
	path_competitors__clear(&finder->competitors, path);
	return path_tree__set_aside(&path->tree);
}

int path__find(const struct model *model, struct kinds *kinds, const struct idle_waits *idle,
	       const struct path_options *options, struct path *path)
{
	struct finder finder = {.path = path};
	int err = prepare(path, model, kinds, idle, options);

	err = err ? err : path_competitors__begin(&finder.competitors, model->threads.n);
	if (!err && options->n_compared)
		err = walk_compared(&finder, options);
	err = err ? err : walk_windows(&finder, options);
	err = err ? err : path_tree__finish(&path->tree);
	err = err ? err : find_chains(path);
	if (!err && !options->no_background)
		err = path_background__find(path, idle, &finder.covered, options->background);
	path_competitors__finish(path);
	if (!err)
		add_up(path);
	array__free(&finder.covered);
	path_competitors__free(&finder.competitors);
	return err;
}

void path__free(struct path *path)
{
	path_tree__free(&path->tree);
	path_tree__free(&path->background_tree);
	array__free(&path->chains);
	array__free(&path->gaps);
	array__free(&path->competitors);
	array__free(&path->background);
	wait_causes__free(path->causes);
	run_groups__free(path->runs);
	cpu_occupants__free(path->cpus);
	own_strings__free(&path->strings);
}
