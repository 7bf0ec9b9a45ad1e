// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/kinds/call_names.h"

#include <string.h>

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

void call_names__line(const struct model *model, uint32_t stack, size_t i, uint32_t *file,
		      uint32_t *line)
{
	const struct model_stack *frames = &model->stacks.data[stack];
	const struct model_location *location;

	*file = *line = 0;
	if (i >= frames->depth)
		return;
	location = model__location(model, frames, i);
	if (!location->n_frames || !model->frames.data[location->frame].line)
		return;
	*file = model->frames.data[location->frame].file;
	*line = model->frames.data[location->frame].line;
}

int call_names__programs(const struct model *model, uint32_t stack, uint32_t *names, size_t n)
{
	struct callchain chain = {};
	int err = callchain__set(&chain, model, 0, stack, false);
	size_t found = 0;

	memset(names, 0, n * sizeof(*names));
	for (size_t i = 0; i < chain.frames.n && found < n && !err; i++)
		if (!model__is_c_library(model, chain.frames.data[i].dso) &&
		    !chain.frames.data[i].inlined && chain.frames.data[i].name)
			names[found++] = chain.frames.data[i].name;
	callchain__free(&chain);
	return err;
}

int call_names__program(const struct model *model, uint32_t stack, uint32_t *name)
{
	return call_names__programs(model, stack, name, 1);
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
