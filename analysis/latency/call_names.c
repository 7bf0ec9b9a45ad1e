// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/call_names.h"

#include "analysis/callchain.h"

uint32_t call_names__function(const struct model *model, uint32_t stack, size_t i)
{
	const struct model_stack *frames = &model->stacks.data[stack];
	const struct model_location *location;

	if (i >= frames->depth)
		return 0;
	location = model__location(model, frames, i);
	return location->n_frames
		       ? model->frames.data[location->frame + location->n_frames - 1].name
		       : 0;
}

int call_names__program(const struct model *model, uint32_t stack, uint32_t *name)
{
	struct callchain chain = {};
	int err = callchain__set(&chain, model, 0, stack, false);

	*name = 0;
	for (size_t i = 0; i < chain.frames.n && !*name && !err; i++)
		if (!model__is_c_library(model, chain.frames.data[i].dso) &&
		    !chain.frames.data[i].inlined)
			*name = chain.frames.data[i].name;
	callchain__free(&chain);
	return err;
}

int call_names__waker(const struct model *model, const struct model_thread *thread,
		      const struct model_interval *interval, struct wait_cause cause,
		      uint32_t *name)
{
	const struct model_wake *wake =
		interval->wake ? &thread->wakes.data[interval->wake - 1] : NULL;

	*name = 0;
	/* During an interrupt, the stack is that of a thread that has nothing to do with it. */
	if (!wake || !wake->user || cause.type != CAUSE_THREAD || cause.id != interval->waker)
		return 0;
	return call_names__program(model, wake->user, name);
}
