// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/path/path_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/kinds/tcp_holds.h"
#include "analysis/path/path_tree_parts.h"
#include "base/cleanup.h"

int path_tree__begin(struct path_tree *tree, const struct model *model,
		     const struct wait_causes *causes, const struct run_groups *runs)
{
	tree->model = model;
	tree->causes = causes;
	tree->runs = runs;
	tree->max_nodes = PATH_TREE_NODES;
	return array__add(&tree->nodes) ? 0 : -ENOMEM;
}

void path_tree__free(struct path_tree *tree)
{
	array__free(&tree->nodes);
	array__free(&tree->compared);
	array__free(&tree->levels);
	array__free(&tree->estimates);
	map64__free(&tree->estimated);
	map64__free(&tree->children);
	map64__free(&tree->stacks);
	map64__free(&tree->objects);
	map64__free(&tree->held);
	callchain__free(&tree->chain);
	callchain__free(&tree->other);
}

static bool is_same(const struct path_node *a, const struct path_node *b)
{
	return a->type == b->type && a->category == b->category && a->class == b->class &&
	       a->had_cpu == b->had_cpu && a->kernel == b->kernel && a->kind == b->kind &&
	       a->object == b->object && a->name == b->name && a->process == b->process &&
	       a->id == b->id &&
	       (a->type != PATH_NODE_FRAME || a->name || a->location == b->location);
}

static uint64_t hash_of(uint32_t parent, const struct path_node *node)
{
	uint64_t hash = hash__add(parent, (uint64_t)node->type << 40 | node->category << 16 |
						  node->class << 8 | node->kernel);

	hash = hash__add(hash,
			 (uint64_t)node->had_cpu << 63 | (uint64_t)node->kind << 32 | node->object);
	hash = hash__add(hash, (uint64_t)node->name << 32 | node->process);
	if (node->type == PATH_NODE_FRAME && !node->name)
		hash = hash__add(hash, node->location);
	return hash__add(hash, node->id);
}

/* The child of @parent like @node, which is added if it is new. 0 without memory. */
static uint32_t child_of(struct path_tree *tree, uint32_t parent, const struct path_node *node)
{
	uint64_t key = hash_of(parent, node);
	struct path_node *added;
	uint32_t index;

	for (uint64_t *known; (known = map64__get(&tree->children, key)); key++) {
		const struct path_node *one = &tree->nodes.data[*known];

		if (one->parent == parent && is_same(one, node))
			return (uint32_t)*known;
	}
	if (tree->nodes.n > tree->max_nodes && parent) {
		tree->is_full = true;
		return parent;
	}
	added = array__add(&tree->nodes);
	if (!added)
		return 0;
	index = (uint32_t)(tree->nodes.n - 1);
	*added = *node;
	added->parent = parent;
	added->next = tree->nodes.data[parent].child;
	tree->nodes.data[parent].child = index;
	return map64__put(&tree->children, key, index) ? index : 0;
}

static uint32_t add_frame(struct path_tree *tree, uint32_t parent,
			  const struct callchain_frame *frame)
{
	struct path_node node = {.type = PATH_NODE_FRAME,
				 .name = frame->name,
				 .location = frame->location,
				 .kernel = frame->kernel};

	return child_of(tree, parent, &node);
}

/* Adds frames [@from, @to) of @chain, which are counted from the innermost. */
static uint32_t add_frames(struct path_tree *tree, uint32_t node, const struct callchain *chain,
			   size_t from, size_t to)
{
	for (size_t i = to; i-- > from;) {
		node = add_frame(tree, node, &chain->frames.data[i]);
		if (!node)
			return 0;
	}
	return node;
}

static uint64_t stack_key(uint32_t parent, uint32_t kernel, uint32_t user, bool off_cpu)
{
	return hash__add(hash__add(hash__add(1, parent), (uint64_t)kernel << 32 | user), off_cpu);
}

bool path_tree__has_stack(const struct path_tree *tree, uint32_t parent, uint32_t kernel,
			  uint32_t user)
{
	return map64__get(&tree->stacks, stack_key(parent, kernel, user, false));
}

uint32_t path_tree__add_stack(struct path_tree *tree, uint32_t parent, uint32_t kernel,
			      uint32_t user, bool off_cpu)
{
	uint64_t key = stack_key(parent, kernel, user, off_cpu);
	uint64_t *known = map64__get(&tree->stacks, key);
	size_t first;
	uint32_t node;
	ssize_t row;

	if (known)
		return (uint32_t)*known;
	if (callchain__set(&tree->chain, tree->model, kernel, user, off_cpu))
		return 0;
	if (tree->nodes.data[parent].had_cpu) {
		row = callchain__row(&tree->chain, tree->model, off_cpu, false);
		node = row < 0 ? parent : add_frame(tree, parent, &tree->chain.frames.data[row]);
		return node && map64__put(&tree->stacks, key, node) ? node : 0;
	}
	first = off_cpu && tree->chain.n_kernel < tree->chain.frames.n ? tree->chain.n_kernel : 0;
	node = add_frames(tree, parent, &tree->chain, first, tree->chain.frames.n);
	return node && map64__put(&tree->stacks, key, node) ? node : 0;
}

uint32_t path_tree__add_common(struct path_tree *tree, uint32_t parent, uint32_t before,
			       uint32_t after)
{
	uint64_t key = hash__add(hash__add(2, parent), (uint64_t)before << 32 | after);
	uint64_t *known = map64__get(&tree->stacks, key);
	struct callchain *one = &tree->chain, *other = &tree->other;
	size_t n = 0;
	uint32_t node;

	if (known)
		return (uint32_t)*known;
	if (callchain__set(one, tree->model, 0, before, true) ||
	    callchain__set(other, tree->model, 0, after, true))
		return 0;
	while (n < one->frames.n && n < other->frames.n) {
		const struct callchain_frame *a = &one->frames.data[one->frames.n - 1 - n];
		const struct callchain_frame *b = &other->frames.data[other->frames.n - 1 - n];

		if (a->name != b->name || (!a->name && a->location != b->location))
			break;
		n++;
		if (a->location != b->location)
			break; /* different calls in the same function */
	}
	node = add_frames(tree, parent, one, one->frames.n - n, one->frames.n);
	return node && map64__put(&tree->stacks, key, node) ? node : 0;
}

static const struct model_thread *thread_at(const struct path_tree *tree, uint32_t thread)
{
	return &tree->model->threads.data[thread];
}

static uint32_t add_thread(struct path_tree *tree, uint32_t parent, uint32_t thread, uint64_t time,
			   bool had_cpu)
{
	const struct model_thread *of = thread_at(tree, thread);
	uint32_t leader = tree->model->processes.data[of->process].leader;
	struct path_node node = {
		.type = PATH_NODE_THREAD,
		.name = model_thread__comm(of, time),
		.thread = thread,
		.had_cpu = had_cpu,
	};
	uint32_t index;

	node.process = leader ? model_thread__comm(thread_at(tree, leader), time) : node.name;
	index = child_of(tree, parent, &node);
	if (index && index != parent && tree->nodes.data[index].thread != thread) {
		struct path_node *known = &tree->nodes.data[index];

		known->several = true;
		known->processes |= thread_at(tree, known->thread)->tgid != of->tgid;
	}
	return index;
}

static struct path_tree_level *innermost(struct path_tree *tree)
{
	return &tree->levels.data[tree->levels.n - 1];
}

/*
 * The object to tell waits apart by: a file or a server. Locks, and clients of a server, have
 * addresses that are different for each.
 */
static uint32_t telling_object(struct path_tree *tree, uint32_t index)
{
	const struct model_object *object = &tree->model->objects.data[index];
	const uint64_t *first;

	if (!object->name || (object->type != OBJECT_FILE && object->type != OBJECT_SOCKET) ||
	    object->side == SOCKET_SIDE_SERVER)
		return 0;
	first = map64__put(&tree->objects, object->name, index);
	return first ? (uint32_t)*first : index;
}

/* Of a socket with what TCP held back on it: the first with the same other end. */
static uint32_t held_object(struct path_tree *tree, uint32_t index)
{
	const struct model_object *object = &tree->model->objects.data[index];
	uint32_t port = object->side == SOCKET_SIDE_SERVER ? object->local : object->name;
	uint64_t key = hash__add(hash__add((uint64_t)object->hold << 32 | port, object->owner_pid),
				 object->side);
	const uint64_t *first = map64__put(&tree->held, key, index);

	return first ? (uint32_t)*first : index;
}

/* The node of interval @number of @level's thread: a wait in its functions. 0 without memory. */
static uint32_t add_wait(struct path_tree *tree, struct path_tree_level *level, uint32_t number)
{
	const struct model_interval *interval =
		&thread_at(tree, level->thread)->intervals.data[number];
	bool held = tree->model->objects.data[interval->object].hold;
	struct path_node node = {.type = PATH_NODE_WAIT,
				 .class = interval->class,
				 .kind = wait_causes__kind_beside_holds(tree->causes, interval),
				 .object = held ? held_object(tree, interval->object)
						: telling_object(tree, interval->object)};
	uint32_t parent;

	if (level->interval == number + 1)
		return level->wait;
	parent = path_tree__add_stack(tree, level->node, interval->kernel, interval->user, true);
	if (!parent)
		return 0;
	level->wait = child_of(tree, parent, &node);
	level->interval = number + 1;
	if (level->wait)
		tree->nodes.data[level->wait].count++;
	return level->wait;
}

/* The node of a wait for what TCP held back, or sent again. 0 without memory. */
static uint32_t add_held(struct path_tree *tree, const struct path_tree_level *level,
			 const struct path_step *step)
{
	const struct model_interval *interval =
		&thread_at(tree, level->thread)->intervals.data[step->interval - 1];
	const struct model_object *object = &tree->model->objects.data[step->id];
	struct path_node node = {.type = PATH_NODE_WAIT,
				 .class = interval->class,
				 .kind = tcp_hold__kind((enum hold_reason)object->hold),
				 .object = held_object(tree, step->id)};
	uint32_t parent =
		path_tree__add_stack(tree, level->node, interval->kernel, interval->user, true);
	uint32_t index = parent ? child_of(tree, parent, &node) : 0;

	if (index)
		tree->nodes.data[index].count++;
	return index;
}

/* The node of the functions in which the thread was preempted, or lets others run. */
static uint32_t add_preempted(struct path_tree *tree, const struct path_tree_level *level,
			      uint32_t number)
{
	const struct model_interval *interval =
		&thread_at(tree, level->thread)->intervals.data[number];

	return path_tree__add_stack(tree, level->node, interval->user ? 0 : interval->kernel,
				    interval->user, true);
}

/* The node of the time in which @level's thread waits for a CPU in interval @number. */
static uint32_t add_queue(struct path_tree *tree, struct path_tree_level *level, uint32_t number)
{
	const struct model_interval *interval =
		&thread_at(tree, level->thread)->intervals.data[number];
	struct path_node node = {
		.type = PATH_NODE_LEAF,
		.category = interval->flags & INTERVAL_PREEMPTED ? PATH_PREEMPTED : PATH_RUN_QUEUE,
	};
	uint32_t parent;

	if (level->queued == number + 1)
		return level->queue;
	parent = add_preempted(tree, level, number);
	level->queue = parent ? child_of(tree, parent, &node) : 0;
	level->queued = number + 1;
	if (level->queue)
		tree->nodes.data[level->queue].count++;
	return level->queue;
}

int path_tree__enter(struct path_tree *tree, const struct path_level *level)
{
	struct path_tree_level added = {.thread = level->thread};
	uint32_t parent = 0;

	for (size_t i = tree->levels.n; level->depth && i--;) {
		if (tree->levels.data[i].thread != level->waiter)
			continue;
		parent = level->relation == PATH_AWAITED
				 ? add_wait(tree, &tree->levels.data[i], level->interval)
				 : add_queue(tree, &tree->levels.data[i], level->interval);
		if (!parent)
			return -ENOMEM;
		break;
	}
	added.node = add_thread(tree, parent, level->thread, level->from,
				level->relation == PATH_HAS_CPU);
	if (!added.node)
		return -ENOMEM;
	tree->nodes.data[added.node].count++;
	return array__push(&tree->levels, added);
}

void path_tree__leave(struct path_tree *tree)
{
	tree->levels.n--;
}

/* The stacks of the interval before number @ending - 1, and of that; 0: there is none. */
static uint32_t add_unsampled(struct path_tree *tree, const struct path_tree_level *level,
			      uint32_t ending)
{
	const struct model_thread *thread = thread_at(tree, level->thread);

	if (ending < 2)
		return level->node;
	return path_tree__add_common(tree, level->node, thread->intervals.data[ending - 2].user,
				     thread->intervals.data[ending - 1].user);
}

/* The node below which what @step does is shown. 0 without memory. */
static uint32_t place_of(struct path_tree *tree, const struct path_step *step)
{
	struct path_tree_level *level = innermost(tree);
	const struct model_sample *sample;

	switch (step->doing) {
	case PATH_RUNNING:
		if (!step->sample)
			return add_preempted(tree, level, step->interval - 1);
		sample = &thread_at(tree, step->thread)->samples.data[step->sample - 1];
		return path_tree__add_stack(tree, level->node, sample->kernel, sample->user, false);
	case PATH_ESTIMATED:
		return path_tree__add_likely(tree, level->node, step->group);
	case PATH_NOT_SAMPLED:
		if (step->category != step->doing)
			return level->node;
		return add_unsampled(tree, level, step->interval);
	case PATH_GAP:
		return level->node;
	case PATH_TCP:
		return add_held(tree, level, step);
	case PATH_RUN_QUEUE:
	case PATH_PREEMPTED:
		return add_queue(tree, level, step->interval - 1);
	case PATH_CPU_IDLE:
		return add_preempted(tree, level, step->interval - 1);
	default:
		return step->interval ? add_wait(tree, level, step->interval - 1) : level->node;
	}
}

/* Adds @step, which is no run, at @node. Returns its node, 0 without memory. */
static uint32_t add_leaf(struct path_tree *tree, uint32_t node, const struct path_step *step)
{
	struct path_node leaf = {.type = PATH_NODE_LEAF,
				 .category = (uint8_t)step->doing,
				 .id = step->category == PATH_TCP ? 0 : step->id};
	uint32_t at = node;

	if (step->doing != PATH_RUN_QUEUE && step->doing != PATH_PREEMPTED)
		at = child_of(tree, node, &leaf);
	else if (step->id)
		at = add_thread(tree, node, step->id, step->from, true);
	if (at && at != node)
		tree->nodes.data[at].count++;
	return at;
}

int path_tree__step(struct path_tree *tree, const struct path_step *step, uint32_t *node)
{
	uint32_t at;

	if (step->group && tree->runs) {
		int err = path_tree__add_run(tree, innermost(tree)->node, step);

		if (err)
			return err;
	}
	at = place_of(tree, step);
	/* What has the CPU that others wait for is no category of its own. */
	if (at && step->doing == step->category && step->doing != PATH_RUNNING &&
	    step->doing != PATH_ESTIMATED)
		at = add_leaf(tree, at, step);
	if (!at)
		return -ENOMEM;
	if (step->doing != PATH_ESTIMATED)
		tree->nodes.data[at].self_ns += step->until - step->from;
	*node = at;
	return 0;
}

int path_tree__set_aside(struct path_tree *tree)
{
	if (path_tree__divide(tree))
		return -ENOMEM;
	for (size_t i = 0; i < tree->nodes.n; i++) {
		struct path_node *node = &tree->nodes.data[i];
		struct path_node_times times = {.count = node->count, .self_ns = node->self_ns};

		if (array__push(&tree->compared, times))
			return -ENOMEM;
		node->count = node->self_ns = node->estimated_ns = 0;
		node->self_variance = node->total_variance = 0;
	}
	return 0;
}

/* Nodes that were added after path_tree__set_aside() have no times there. */
static int finish_compared(struct path_tree *tree)
{
	struct path_node_times *times;

	if (!tree->compared.n)
		return 0;
	while (tree->compared.n < tree->nodes.n)
		if (!array__add(&tree->compared))
			return -ENOMEM;
	times = tree->compared.data;
	for (size_t i = 0; i < tree->nodes.n; i++)
		times[i].total_ns = times[i].self_ns;
	for (size_t i = tree->nodes.n; --i;)
		times[tree->nodes.data[i].parent].total_ns += times[i].total_ns;
	return 0;
}

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct path_node *nodes = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (nodes[x].total_ns != nodes[y].total_ns)
		return nodes[x].total_ns < nodes[y].total_ns ? 1 : -1;
	return (x > y) - (x < y);
}

/* Whose total is an estimate: not that of a thread, nor that of functions that are certain. */
static void mark_estimates(struct path_node *nodes, size_t n)
{
	for (size_t i = n; --i;) {
		struct path_node *node = &nodes[i];

		node->is_estimated |= node->estimated_ns > 0;
		if (node->type == PATH_NODE_FRAME)
			nodes[node->parent].is_estimated |= node->is_estimated;
		node->is_estimated &= node->total_variance > 0;
	}
}

int path_tree__finish(struct path_tree *tree)
{
	_cleanup_free_ uint32_t *children = NULL;
	struct path_node *nodes;

	if (path_tree__divide(tree) || finish_compared(tree))
		return -ENOMEM;
	children = calloc(tree->nodes.n + 1, sizeof(*children));
	nodes = tree->nodes.data;
	if (!children)
		return -ENOMEM;
	/* Children come after their parents. */
	for (size_t i = 0; i < tree->nodes.n; i++)
		nodes[i].total_ns = nodes[i].self_ns;
	for (size_t i = tree->nodes.n; --i;)
		nodes[nodes[i].parent].total_ns += nodes[i].total_ns;
	mark_estimates(nodes, tree->nodes.n);
	for (size_t i = 0; i < tree->nodes.n; i++) {
		uint32_t *next = &nodes[i].child;
		size_t n = 0;

		for (uint32_t child = nodes[i].child; child; child = nodes[child].next)
			children[n++] = child;
		qsort_r(children, n, sizeof(*children), compare_nodes, nodes);
		for (size_t k = 0; k < n; k++) {
			*next = children[k];
			next = &nodes[children[k]].next;
		}
		*next = 0;
	}
	return 0;
}
