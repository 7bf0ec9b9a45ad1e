// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/chain_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool frame_same(const struct chain_frame *a, const struct chain_frame *b)
{
	return a->address == b->address && a->name == b->name && a->file == b->file &&
	       a->line == b->line && a->dso == b->dso && a->kernel == b->kernel &&
	       a->inlined == b->inlined;
}

static struct chain_frame frame_of(const struct callchain_frame *frame, const struct model *model)
{
	const struct model_frame *at = &model->frames.data[frame->frame];

	return (struct chain_frame){
		.address = frame->name ? 0 : model->locations.data[frame->location].address,
		.name = frame->name,
		.file = at->file,
		.line = at->line,
		.dso = frame->dso,
		.kernel = frame->kernel,
		.inlined = frame->inlined,
	};
}

static int64_t tree_frame(struct chain_tree *tree, const struct chain_frame *frame)
{
	uint64_t key = hash__add((uint64_t)frame->name << 32 | frame->file,
				 (uint64_t)frame->line << 32 | frame->dso);

	key = hash__add(key, frame->address << 2 | (uint64_t)frame->kernel << 1 | frame->inlined);
	for (;; key++) {
		uint64_t *at = map64__put(&tree->index, key, tree->frames.n);

		if (!at)
			return -ENOMEM;
		if (*at == tree->frames.n && array__push(&tree->frames, *frame))
			return -ENOMEM;
		if (frame_same(&tree->frames.data[*at], frame))
			return (int64_t)*at;
	}
}

static int64_t tree_child(struct chain_tree *tree, uint32_t parent, uint32_t frame)
{
	const struct chain_node node = {.parent = parent, .frame = frame};
	uint64_t *at;

	if (tree->nodes.n > INT32_MAX)
		return -ENOMEM;
	at = map64__put(&tree->children, (uint64_t)parent << 32 | frame, tree->nodes.n);
	if (!at || (*at == tree->nodes.n && array__push(&tree->nodes, node)))
		return -ENOMEM;
	return (int64_t)*at;
}

/* The elements of number 0. */
static int tree_begin(struct chain_tree *tree)
{
	return (!tree->nodes.n && !array__add(&tree->nodes)) ||
			       (!tree->frames.n && !array__add(&tree->frames))
		       ? -ENOMEM
		       : 0;
}

static int64_t tree_insert(struct chain_tree *tree, const struct model *model)
{
	const struct callchain *chain = &tree->chain;
	int64_t node = 0;

	for (size_t i = chain->frames.n; i-- && node >= 0;) {
		struct chain_frame frame = frame_of(&chain->frames.data[i], model);
		/* Location 0 stands for a stack that could not be read, as frame 0 does. */
		int64_t id = chain->frames.data[i].location ? tree_frame(tree, &frame) : 0;

		node = id < 0 ? id : tree_child(tree, (uint32_t)node, (uint32_t)id);
	}
	return node;
}

int64_t chain_tree__add(struct chain_tree *tree, const struct model *model, uint32_t kernel,
			uint32_t user, bool off_cpu)
{
	/* Numbers of stacks are below 2^31. */
	uint64_t key = (uint64_t)kernel << 33 | (uint64_t)user << 1 | off_cpu;
	const uint64_t *known = map64__get(&tree->chains, key);
	int64_t node;

	if (known)
		return (int64_t)*known;
	if (tree_begin(tree) || callchain__set(&tree->chain, model, kernel, user, off_cpu))
		return -ENOMEM;
	node = tree_insert(tree, model);
	if (node >= 0 && !map64__put(&tree->chains, key, (uint64_t)node))
		return -ENOMEM;
	return node;
}

void chain_tree__free(struct chain_tree *tree)
{
	array__free(&tree->nodes);
	array__free(&tree->frames);
	map64__free(&tree->chains);
	map64__free(&tree->children);
	map64__free(&tree->index);
	callchain__free(&tree->chain);
}

const char *chain_frame__text(const struct chain_frame *frame, const struct model *model,
			      char text[static 24])
{
	if (frame->name)
		return model__string(model, frame->name);
	if (!frame->address && !frame->dso)
		return "[unknown]";
	snprintf(text, 24, "0x%" PRIx64, frame->address);
	return text;
}
