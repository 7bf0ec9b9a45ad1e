// SPDX-License-Identifier: BSD-2-Clause
/*
 * The verdict: which thread's doing takes most of the time, function by function; if no function or
 * wait takes much, which thread runs, or waits for something, for most of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/duration.h"
#include "render/format.h"
#include "render/path/path_views.h"

/* A function or a wait is worth a sentence if it has more than this share of the time, in percent.
 */
#define MIN_SINGLE 20
/* The second largest part is named if it is at least this share of the time, in percent. */
#define MIN_SECOND 15

/* What a thread does, wherever on its stack: all nodes that say the same. */
struct doing {
	uint32_t thread; /* node, one of them */
	uint32_t what;	 /* node: a function, a wait, or a leaf; 0: all of a category */
	uint8_t category;
	bool several;	/* threads, */
	bool processes; /* of several processes */
	bool depths;	/* it comes at several depths */
	uint32_t depth; /* in processes from the base */
	double ns;	/* more than in what is compared with, per request; or all of it */
};

typedef ARRAY(struct doing) doings;

/* What each node stands for, and the sums. */
struct collection {
	const struct path_view *view;
	bool by_category;
	doings all;
	struct map64 index;
	uint32_t *thread_of; /* by node: its thread, the node above it that waits for the CPU, */
	uint32_t *queue_of;
	uint32_t *depth_of; /* and its depth */
};

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

/* One of the categories that are said in the same words. */
static enum path_category category_of(const struct path_node *node)
{
	if (node->type != PATH_NODE_LEAF)
		return PATH_RUNNING;
	switch ((enum path_category)node->category) {
	case PATH_ESTIMATED:
	case PATH_NOT_SAMPLED:
		return PATH_RUNNING;
	case PATH_DISK_QUEUED:
		return PATH_DISK_ACTIVE;
	case PATH_PREEMPTED:
		return PATH_RUN_QUEUE;
	default:
		return (enum path_category)node->category;
	}
}

static const char *const category_words[PATH_CATEGORY_COUNT] = {
	[PATH_RUNNING] = "running",
	[PATH_DISK_ACTIVE] = "waiting for disks",
	[PATH_STOPPED] = "not allowed to run",
	[PATH_TCP] = "waiting for what TCP held back or sent again",
	[PATH_RUN_QUEUE] = "waiting for a CPU",
	[PATH_CPU_IDLE] = "waiting for an idle CPU to wake up",
	[PATH_SLEEP] = "sleeping",
	[PATH_TIMEOUT] = "in waits that timed out",
	[PATH_PEER] = "waiting for network peers",
	[PATH_INTERRUPT] = "waiting for interrupts",
	[PATH_DELIVERY] = "waiting for wakeups under way",
	[PATH_IDLE] = "waiting for work",
	[PATH_OTHER_PATH] = "waiting for threads further out, which wait, too",
	[PATH_NOT_RECORDED] = "waiting for threads that were not recorded",
	[PATH_GAP] = "in gaps, where events were lost",
	[PATH_UNKNOWN] = "in states that are not known",
};

static bool is_same_doing(const struct path_view *view, uint32_t a, uint32_t b)
{
	const struct path_node *x = node_at(view, a), *y = node_at(view, b);

	return x->type == y->type && x->name == y->name && x->kind == y->kind &&
	       x->object == y->object && x->category == y->category && x->id == y->id &&
	       (x->type != PATH_NODE_FRAME || x->name || x->location == y->location);
}

/* @by_name: threads of the same name are not told apart. */
static bool is_same_thread(const struct path_view *view, uint32_t a, uint32_t b, bool by_name)
{
	const struct path_node *x = node_at(view, a), *y = node_at(view, b);

	return x->name == y->name && x->process == y->process &&
	       (by_name || (x->several == y->several && (x->several || x->thread == y->thread)));
}

static uint64_t hash_doing(const struct path_view *view, const struct doing *doing)
{
	const struct path_node *t = node_at(view, doing->thread), *w = node_at(view, doing->what);
	uint64_t hash = hash__add(hash__add(1, t->name), t->process);

	if (!doing->what)
		return hash__add(hash, doing->category);
	hash = hash__add(hash__add(hash, w->type), w->name);
	return hash__add(hash__add(hash, w->kind << 8 | w->category), w->object);
}

/* The entry like @doing, added if it is new. NULL without memory. */
static struct doing *find_doing(struct collection *to, const struct doing *doing)
{
	const struct path_view *view = to->view;
	uint64_t key = hash_doing(view, doing);
	struct doing *one;

	for (uint64_t *known; to->all.data && (known = map64__get(&to->index, key)); key++) {
		one = &to->all.data[*known];
		if (is_same_thread(view, one->thread, doing->thread, to->by_category) &&
		    (to->by_category ? one->category == doing->category
				     : is_same_doing(view, one->what, doing->what)))
			return one;
	}
	if (!map64__put(&to->index, key, to->all.n))
		return NULL;
	one = array__add(&to->all);
	if (one)
		*one = *doing;
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

/* Adds @ns of node @i to what it stands for. */
static int add_ns(struct collection *to, uint32_t i, double ns)
{
	const struct path_view *view = to->view;
	uint32_t node = to->queue_of[i] ? to->queue_of[i] : i;
	const struct path_node *thread = node_at(view, to->thread_of[i]);
	struct doing added = {
		.thread = to->thread_of[i],
		.what = to->by_category ? 0 : what_is_done(view, node),
		.category = (uint8_t)category_of(node_at(view, node)),
		.several = thread->several,
		.processes = thread->processes,
		.depth = to->depth_of[i],
	};
	struct doing *doing = find_doing(to, &added);
	const struct path_node *known;

	if (!doing)
		return -ENOMEM;
	known = node_at(view, doing->thread);
	doing->ns += ns;
	doing->depths |= doing->depth != added.depth;
	doing->several |= added.several || known->thread != thread->thread;
	doing->processes |=
		added.processes || view->model->threads.data[known->thread].tgid !=
					   view->model->threads.data[thread->thread].tgid;
	return 0;
}

static int collect(struct collection *to)
{
	const struct path_view *view = to->view;
	const struct path_tree *tree = &view->path->tree;
	_cleanup_free_ uint32_t *thread_of = calloc(tree->nodes.n, sizeof(*thread_of));
	_cleanup_free_ uint32_t *queue_of = calloc(tree->nodes.n, sizeof(*queue_of));
	_cleanup_free_ uint32_t *depth_of = calloc(tree->nodes.n, sizeof(*depth_of));
	int err = thread_of && depth_of && queue_of ? 0 : -ENOMEM;

	to->thread_of = thread_of;
	to->queue_of = queue_of;
	to->depth_of = depth_of;
	for (uint32_t i = 1; i < tree->nodes.n && !err; i++) {
		const struct path_node *node = node_at(view, i);
		bool is_thread = node->type == PATH_NODE_THREAD && !node->had_cpu;
		double ns = more_ns(view, i);

		/* What has the CPU is no doing of its own: the thread above waits for it. */
		queue_of[i] = node->had_cpu ? node->parent : queue_of[node->parent];
		thread_of[i] = is_thread ? i : thread_of[node->parent];
		depth_of[i] = depth_of[node->parent] + (is_thread && thread_of[node->parent]);
		if (ns != 0)
			err = add_ns(to, i, ns);
	}
	map64__free(&to->index);
	return err;
}

static int compare_doings(const void *a, const void *b)
{
	const struct doing *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->what > y->what) - (x->what < y->what);
}

/* "paths/12 running in f" */
static void put_what(const struct path_view *view, const struct doing *doing, char *text,
		     size_t size)
{
	struct path_node thread = *node_at(view, doing->thread);
	const struct path_node *what = node_at(view, doing->what);
	char name[128], done[300];

	thread.several = doing->several;
	thread.processes = doing->processes;
	path_node__thread(view, &thread, name, sizeof(name));
	format__append(text, size, "%s", name);
	if (!doing->what) {
		const char *words = category_words[doing->category];

		format__append(text, size, " %s",
			       words ? words
				     : path_category__text((enum path_category)doing->category));
		return;
	}
	path_node__text(view, what, done, sizeof(done));
	if (what->type == PATH_NODE_FRAME)
		format__append(text, size, " running in %s", done);
	else if (what->type == PATH_NODE_WAIT)
		format__append(text, size, " in %s", done);
	else if (what->type == PATH_NODE_THREAD)
		format__append(text, size, " running");
	else
		format__append(text, size, ": %s", done);
}

static void put_doing(const struct path_view *view, const struct doing *doing, char *text,
		      size_t size)
{
	static const char *const numbers[] = {"", "one", "two", "three", "four", "five", "six"};
	bool compares = view->path->tree.compared.n;
	char ns[24];

	if (doing->ns > whole_ns(view)) { /* in a comparison: less of others */
		format__append(text, size, "More than all of the difference, %s per request, is ",
			       duration__text((uint64_t)doing->ns, ns));
	} else {
		format__append(text, size, "%.0f%% of %s is ",
			       format__whole_percent(doing->ns / whole_ns(view)),
			       compares ? "the difference" : "it");
	}
	put_what(view, doing, text, size);
	if (doing->depths)
		;
	else if (doing->depth == 1)
		format__append(text, size, ", one wait away");
	else if (doing->depth && doing->depth < ARRAY_SIZE(numbers))
		format__append(text, size, ", %s waits away", numbers[doing->depth]);
	else if (doing->depth)
		format__append(text, size, ", %u waits away", doing->depth);
	format__append(text, size, ".");
}

/* Finds what takes most time, first function by function. 0 or -ENOMEM. */
static int find_most(struct collection *to)
{
	int err = 0;

	for (int by_category = 0; by_category < 2 && !err; by_category++) {
		array__free(&to->all);
		to->by_category = by_category;
		err = collect(to);
		if (err || !to->all.n)
			break;
		qsort(to->all.data, to->all.n, sizeof(*to->all.data), compare_doings);
		if (100 * to->all.data[0].ns > MIN_SINGLE * whole_ns(to->view))
			break;
	}
	return err;
}

int path_view__verdict(const struct path_view *view, char *text, size_t size)
{
	struct collection found = {.view = view};
	const doings *all = &found.all;
	int err = 0;

	*text = '\0';
	if (whole_ns(view) > 0)
		err = find_most(&found);
	if (!err && all->n) {
		put_doing(view, &all->data[0], text, size);
		if (all->n > 1 && all->data[1].ns > 0 &&
		    100 * all->data[1].ns >= MIN_SECOND * whole_ns(view)) {
			format__append(text, size, " ");
			put_doing(view, &all->data[1], text, size);
		}
	}
	array__free(&found.all);
	return err;
}
