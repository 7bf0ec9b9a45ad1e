/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of paths share. */
#pragma once

#include "tests/unit/waits_support.h"

#include "analysis/path/path.h"

#include <errno.h>
#include <sys/syscall.h>

/* Whatever is recorded of these threads is in the path of the first. */
struct found {
	struct model *model;
	struct kinds *kinds;
	struct path path;
	int err;
};

static inline struct found find(struct model *model, const struct path_window *window)
{
	const struct path_options options = {.windows = window, .n_windows = 1};
	struct found found = {.model = model};

	assert_int_equal(kinds__new(model, &found.kinds), 0);
	found.err = path__find(model, found.kinds, NULL, &options, &found.path);
	return found;
}

static inline void found__free(struct found *found)
{
	path__free(&found->path);
	kinds__free(found->kinds);
	model__free(found->model);
}
#define _cleanup_found_ _cleanup_(found__free)

static inline uint32_t index_of(const struct model *model, uint32_t number)
{
	for (uint32_t t = 1; t < model->threads.n; t++)
		if (model->threads.data[t].number == number)
			return t;
	fail_msg("there is no thread %u", number);
	return 0;
}

/* The path of thread 1 in all of @program, which ends at @end. */
static inline struct found program__path(struct program *program, uint64_t end)
{
	struct model *model = synthetic__load(&program->made, end);
	const struct path_window window = {index_of(model, 1), 0, UINT64_MAX, false};

	return find(model, &window);
}

/* What an interval ended by a timer or a device has as the stack of its wakeup. */
static inline void put_wake(struct program *program, const struct record_interval *of,
			    const char *function)
{
	synthetic__put(&program->made,
		       (struct record){.type = RECORD_WAKE,
				       .wake = {.thread = of->thread,
						.waker = of->waker,
						.context = of->waker_context,
						.kernel_stack = KERNEL(program, function),
						.time = START + of->t_out + of->blocked_ns}});
}

static inline void check_conservation(const struct path *path)
{
	uint64_t sum = 0, self = 0;

	for (int i = 0; i < PATH_CATEGORY_COUNT; i++)
		sum += path->ns[i];
	for (size_t i = 1; i < path->tree.nodes.n; i++) {
		const struct path_node *node = &path->tree.nodes.data[i];
		uint64_t below = node->self_ns;

		self += node->self_ns;
		for (uint32_t child = node->child; child; child = path->tree.nodes.data[child].next)
			below += path->tree.nodes.data[child].total_ns;
		assert_true(below == node->total_ns);
	}
	assert_true(sum == path->wall_ns && self == path->wall_ns);
	assert_true(path->tree.nodes.data[0].total_ns == path->wall_ns);
	assert_true(path->accounted_ns <= path->wall_ns && path->total_ns >= path->wall_ns);
}

/*
 * The time of the nodes below those of @names, from the base on, each a thread, frame or wait;
 * "+A": thread A, which had the CPU.
 */
static inline uint64_t time_at(const struct found *found, const char *const *names)
{
	const struct path_node *nodes = found->path.tree.nodes.data;
	uint32_t at = 0;

	for (size_t i = 0; names[i]; i++) {
		uint32_t child = nodes[at].child;
		const char *name;

		for (; child; child = nodes[child].next) {
			if (nodes[child].type == PATH_NODE_WAIT)
				name = kind__name(nodes[child].kind);
			else if (nodes[child].type == PATH_NODE_LEAF)
				name = path_category__name(nodes[child].category);
			else
				name = model__string(found->model, nodes[child].name);
			if (names[i][0] == '+' && nodes[child].had_cpu &&
			    !strcmp(name, names[i] + 1))
				break;
			if (!nodes[child].had_cpu && !strcmp(name, names[i]))
				break;
		}
		if (!child)
			return 0;
		at = child;
	}
	return nodes[at].total_ns;
}

#define TIME_AT(found, ...) time_at((found), (const char *const[]){__VA_ARGS__, NULL})
