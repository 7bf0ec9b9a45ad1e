// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stack_hashes.h"

#include <stdlib.h>

/* All code without a name (mostly of a JIT compiler) has the same: ~0. */
static uint64_t frame_name(const struct model *model, const struct model_location *location,
			   size_t k)
{
	uint32_t name = model->frames.data[location->frame + k].name;

	return name ? name : ~0ULL;
}

uint64_t stack_hash__from(const struct model *model, const struct model_stack *stack, size_t from)
{
	uint64_t hash = 1, last = 0;

	for (size_t i = from; i < stack->depth; i++) {
		const struct model_location *location = model__location(model, stack, i);

		for (size_t k = 0; k < location->n_frames; k++) {
			uint64_t name = frame_name(model, location, k);

			if (name != ~0ULL || last != name)
				hash = hash__add(hash, name);
			last = name;
		}
	}
	return hash;
}

uint64_t *stack_hashes__make(const struct model *model)
{
	uint64_t *names = calloc(model->stacks.n, sizeof(*names));

	for (size_t i = 1; names && i < model->stacks.n; i++)
		names[i] = stack_hash__from(model, &model->stacks.data[i], 0);
	return names;
}
