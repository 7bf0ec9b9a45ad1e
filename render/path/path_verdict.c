// SPDX-License-Identifier: BSD-2-Clause
/* The verdict: which thread's doing takes most of the time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "render/format.h"
#include "render/path/path_views.h"

/* The second largest part is named if it is at least this share of the time, in percent. */
#define MIN_SECOND 15

/* What a thread does, wherever on its stack: all nodes that say the same. */
struct doing {
	uint32_t thread; /* node */
	uint32_t what;	 /* node: a function, a wait, or a leaf */
	uint32_t depth;	 /* in processes from the base */
	double ns;	 /* more than in what is compared with, per request; or all of it */
};

typedef ARRAY(struct doing) doings;

static const struct path_node *node_at(const struct path_view *view, uint32_t node)
{
	return &view->path->tree.nodes.data[node];
}

/* The node that says best what is done at @node: the wait above a leaf. */
static uint32_t what_is_done(const struct path_view *view, uint32_t node)
{
	const struct path_node *leaf = node_at(view, node);

	if (leaf->type == PATH_NODE_LEAF && node_at(view, leaf->parent)->type == PATH_NODE_WAIT)
		return leaf->parent;
	return node;
}

static bool is_same_doing(const struct path_view *view, uint32_t a, uint32_t b)
{
	const struct path_node *x = node_at(view, a), *y = node_at(view, b);

	return x->type == y->type && x->name == y->name && x->kind == y->kind &&
	       x->object == y->object && x->category == y->category &&
	       (x->type != PATH_NODE_FRAME || x->name || x->location == y->location);
}

static bool is_same_thread(const struct path_view *view, uint32_t a, uint32_t b)
{
	const struct path_node *x = node_at(view, a), *y = node_at(view, b);

	return x->name == y->name && x->process == y->process && x->several == y->several &&
	       (x->several || x->thread == y->thread);
}

static uint64_t hash_doing(const struct path_view *view, uint32_t thread, uint32_t what)
{
	const struct path_node *t = node_at(view, thread), *w = node_at(view, what);
	uint64_t hash = hash__add(hash__add(1, t->name), t->process);

	hash = hash__add(hash__add(hash, w->type), w->name);
	return hash__add(hash__add(hash, w->kind << 8 | w->category), w->object);
}

/* The entry for what is done, added if it is new. NULL without memory. */
static struct doing *find_doing(const struct path_view *view, doings *all, struct map64 *index,
				uint32_t thread, uint32_t what)
{
	struct doing added = {.thread = thread, .what = what};
	uint64_t key = hash_doing(view, thread, what);
	struct doing *one;

	for (uint64_t *known; all->data && (known = map64__get(index, key)); key++) {
		one = &all->data[*known];
		if (is_same_thread(view, one->thread, thread) &&
		    is_same_doing(view, one->what, what))
			return one;
	}
	if (!map64__put(index, key, all->n))
		return NULL;
	one = array__add(all);
	if (one)
		*one = added;
	return one;
}

/* The time of @node alone; in a comparison, the difference per request. */
static double more_ns(const struct path_view *view, uint32_t node)
{
	const struct path *path = view->path;
	double ns = (double)node_at(view, node)->self_ns;

	if (!path->tree.compared.n)
		return ns;
	return ns / (double)path->n_windows -
	       (double)path->tree.compared.data[node].self_ns / (double)path->compared.n;
}

/* What more_ns() adds up to. */
static double whole_ns(const struct path_view *view)
{
	const struct path *path = view->path;

	if (!path->tree.compared.n)
		return (double)path->wall_ns;
	return (double)path->wall_ns / (double)path->n_windows -
	       (double)path->compared.wall_ns / (double)path->compared.n;
}

static int collect(const struct path_view *view, doings *all)
{
	const struct path_tree *tree = &view->path->tree;
	_cleanup_free_ uint32_t *thread_of = calloc(tree->nodes.n, sizeof(*thread_of));
	_cleanup_free_ uint32_t *depth_of = calloc(tree->nodes.n, sizeof(*depth_of));
	struct map64 index = {};
	int err = thread_of && depth_of ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < tree->nodes.n && !err; i++) {
		const struct path_node *node = node_at(view, i);
		bool is_thread = node->type == PATH_NODE_THREAD;
		struct doing *doing;
		double ns;

		thread_of[i] = is_thread ? i : thread_of[node->parent];
		depth_of[i] = depth_of[node->parent] + (is_thread && thread_of[node->parent]);
		ns = more_ns(view, i);
		if (ns == 0)
			continue;
		doing = find_doing(view, all, &index, thread_of[i], what_is_done(view, i));
		if (!doing) {
			err = -ENOMEM;
			break;
		}
		doing->ns += ns;
		doing->depth = depth_of[i];
	}
	map64__free(&index);
	return err;
}

static int compare_doings(const void *a, const void *b)
{
	const struct doing *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->what > y->what) - (x->what < y->what);
}

static void put_doing(const struct path_view *view, const struct doing *doing, char *text,
		      size_t size)
{
	static const char *const numbers[] = {"", "one", "two", "three", "four", "five", "six"};
	const struct path_node *what = node_at(view, doing->what);
	char thread[128], done[300];

	path_node__thread(view, node_at(view, doing->thread), thread, sizeof(thread));
	path_node__text(view, what, done, sizeof(done));
	format__append(text, size, "%.0f%% of %s is %s",
		       format__whole_percent(doing->ns / whole_ns(view)),
		       view->path->tree.compared.n ? "the difference" : "it", thread);
	if (what->type == PATH_NODE_FRAME)
		format__append(text, size, " running in %s", done);
	else if (what->type == PATH_NODE_WAIT)
		format__append(text, size, " in %s", done);
	else
		format__append(text, size, ": %s", done);
	if (doing->depth == 1)
		format__append(text, size, ", one wait away");
	else if (doing->depth && doing->depth < ARRAY_SIZE(numbers))
		format__append(text, size, ", %s waits away", numbers[doing->depth]);
	else if (doing->depth)
		format__append(text, size, ", %u waits away", doing->depth);
	format__append(text, size, ".");
}

int path_view__verdict(const struct path_view *view, char *text, size_t size)
{
	doings all = {};
	int err = collect(view, &all);

	*text = '\0';
	if (!err && all.n && whole_ns(view) > 0) {
		qsort(all.data, all.n, sizeof(*all.data), compare_doings);
		put_doing(view, &all.data[0], text, size);
		if (all.n > 1 && all.data[1].ns > 0 &&
		    100 * all.data[1].ns >= MIN_SECOND * whole_ns(view)) {
			format__append(text, size, " ");
			put_doing(view, &all.data[1], text, size);
		}
	}
	array__free(&all);
	return err;
}
