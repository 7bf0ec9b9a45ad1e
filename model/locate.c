// SPDX-License-Identifier: BSD-2-Clause
/* From addresses to places in files: the same stack means other code in another process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/loader.h"

/* A raw user stack, as it reads in one process for times in [from, until). */
struct located {
	uint64_t from;
	uint64_t until;
	uint32_t stack;
	uint32_t next; /* the same in other times, + 1 */
};

struct locator {
	struct loader *loader;
	struct map64 locations; /* hash of (dso, address) -> location */
	struct map64 user;	/* process, raw stack, exact -> first of located, + 1 */
	uint32_t *kernel;	/* raw stack -> stack */
	ARRAY(struct located) located;
	uint32_t kernel_dso;
};

static int64_t locator__location(struct locator *locator, uint32_t dso, uint64_t address,
				 bool kernel)
{
	struct model *model = locator->loader->model;
	struct model_location added = {.address = address, .dso = dso, .kernel = kernel};

	for (uint64_t key = hash__add(dso, address);; key++) {
		uint64_t *index = map64__put(&locator->locations, key, model->locations.n);
		const struct model_location *location;

		if (!index)
			return -ENOMEM;
		if (*index == model->locations.n) {
			struct embedded *names = loader__embedded(locator->loader, dso, address);

			if (dso && names && names->complete) {
				added.frame = names->frame;
				added.n_frames = names->n_frames;
			}
			return array__push(&model->locations, added) ? -ENOMEM : (int64_t)*index;
		}
		location = &model->locations.data[*index];
		if (location->dso == dso && location->address == address)
			return (int64_t)*index;
	}
}

static int locator__add(struct locator *locator, uint32_t dso, uint64_t address, bool kernel)
{
	int64_t location = locator__location(locator, dso, address, kernel);

	if (location < 0)
		return (int)location;
	return array__push(&locator->loader->model->stack_locations, (uint32_t)location);
}

/* A new stack of what stands in stack_locations from @first on. */
static int64_t locator__stack(struct locator *locator, const struct raw_stack *raw, size_t first)
{
	struct model *model = locator->loader->model;
	struct model_stack stack = {
		.first = first, .depth = raw->depth, .kernel = raw->kernel, .end = raw->end};

	return array__push(&model->stacks, stack) ? -ENOMEM : (int64_t)model->stacks.n - 1;
}

static int locator__kernel(struct locator *locator, uint32_t raw_index, uint32_t *stack)
{
	const struct raw_stack *raw = &locator->loader->raw_stacks.data[raw_index];
	size_t first = locator->loader->model->stack_locations.n;
	int64_t index;

	*stack = locator->kernel[raw_index];
	if (*stack || !raw->depth)
		return 0;
	for (size_t i = 0; i < raw->depth; i++) {
		uint64_t address = locator->loader->raw_frames.data[raw->first + i];
		int err = locator__add(locator, locator->kernel_dso, address - (i ? 1 : 0), true);

		if (err)
			return err;
	}
	index = locator__stack(locator, raw, first);
	if (index < 0)
		return (int)index;
	*stack = locator->kernel[raw_index] = (uint32_t)index;
	return 0;
}

/* Locates a user stack anew; narrows [@located->from, until) to where it holds. */
static int locator__resolve(struct locator *locator, uint32_t process_index,
			    const struct raw_stack *raw, bool exact, uint64_t time,
			    struct located *located)
{
	struct model *model = locator->loader->model;
	const struct model_process *process = &model->processes.data[process_index];
	size_t first = model->stack_locations.n;
	int64_t stack;

	for (size_t i = 0; i < raw->depth; i++) {
		uint64_t address = locator->loader->raw_frames.data[raw->first + i];
		uint64_t from, until, place;
		const struct model_map *map;
		uint32_t dso;
		int err;

		if (i || !exact)
			address--;
		map = model_process__map(process, address, time, &from, &until);
		dso = map ? map->dso : 0;
		place = address;
		if (dso && model->dsos.data[dso].kind != DSO_JIT)
			place = address - map->start + map->offset;
		err = locator__add(locator, dso, place, false);
		if (err)
			return err;
		located->from = from > located->from ? from : located->from;
		located->until = until < located->until ? until : located->until;
	}
	stack = locator__stack(locator, raw, first);
	if (stack < 0)
		return (int)stack;
	located->stack = (uint32_t)stack;
	return 0;
}

/*
 * The stack of @raw_index in @thread at @time. @exact: its innermost frame is an
 * instruction, not the address behind a system call or a call.
 */
static int locator__user(struct locator *locator, const struct model_thread *thread,
			 uint32_t raw_index, bool exact, uint64_t time, uint32_t *stack)
{
	const struct raw_stack *raw = &locator->loader->raw_stacks.data[raw_index];
	uint64_t key = (uint64_t)thread->process << 33 | (uint64_t)raw_index << 1 | exact;
	struct located located = {.until = MODEL_FOREVER};
	uint64_t *chain;
	int err;

	*stack = 0;
	if (!raw->depth)
		return 0;
	chain = map64__put(&locator->user, key, 0);
	if (!chain)
		return -ENOMEM;
	for (uint64_t at = *chain; at; at = locator->located.data[at - 1].next) {
		const struct located *entry = &locator->located.data[at - 1];

		*stack = entry->stack;
		if (entry->from <= time && time < entry->until)
			return 0;
	}
	err = locator__resolve(locator, thread->process, raw, exact, time, &located);
	if (err)
		return err;
	located.next = (uint32_t)*chain;
	*chain = locator->located.n + 1;
	*stack = located.stack;
	return array__push(&locator->located, located);
}

static void locator__count(struct locator *locator, uint32_t user, uint32_t kernel)
{
	struct model *model = locator->loader->model;
	const struct raw_stack *raw = locator->loader->raw_stacks.data;

	if (user)
		model->truncated[raw[user].end]++;
	else if (kernel)
		model->truncated[raw[kernel].end]++;
}

static int locator__samples(struct locator *locator, struct model_thread *thread)
{
	int err = 0;

	for (size_t i = 0; i < thread->samples.n && !err; i++) {
		struct model_sample *sample = &thread->samples.data[i];

		locator__count(locator, sample->user, sample->kernel);
		err = locator__kernel(locator, sample->kernel, &sample->kernel);
		err = err ? err
			  : locator__user(locator, thread, sample->user, true, sample->time,
					  &sample->user);
	}
	return err;
}

static int locator__intervals(struct locator *locator, struct model_thread *thread)
{
	int err = 0;

	for (size_t i = 0; i < thread->intervals.n && !err; i++) {
		struct model_interval *interval = &thread->intervals.data[i];
		/* In a system call, the address is the one behind the instruction. */
		bool exact = interval->syscall < 0;

		locator__count(locator, interval->user, interval->kernel);
		err = locator__kernel(locator, interval->kernel, &interval->kernel);
		err = err ? err
			  : locator__user(locator, thread, interval->user, exact, interval->t_out,
					  &interval->user);
	}
	return err;
}

static int locator__wakes(struct locator *locator, struct model_thread *thread)
{
	const struct model *model = locator->loader->model;
	int err = 0;

	for (size_t i = 0; i < thread->wakes.n && !err; i++) {
		struct model_wake *wake = &thread->wakes.data[i];

		err = locator__kernel(locator, wake->kernel, &wake->kernel);
		/* Whose addresses these are is not known. */
		if (!wake->waker)
			wake->user = 0;
		err = err ? err
			  : locator__user(locator, &model->threads.data[wake->waker], wake->user,
					  true, wake->time, &wake->user);
	}
	return err;
}

static int locator__idles(struct locator *locator, struct model_device *device)
{
	const struct model *model = locator->loader->model;
	int err = 0;

	for (size_t i = 0; i < device->idles.n && !err; i++) {
		struct model_idle *idle = &device->idles.data[i];

		err = locator__kernel(locator, idle->kernel, &idle->kernel);
		if (!idle->thread)
			idle->user = 0;
		err = err ? err
			  : locator__user(locator, &model->threads.data[idle->thread], idle->user,
					  true, idle->since + idle->ns, &idle->user);
	}
	return err;
}

/* The DSO of kernel addresses, made when the recording names none. */
static int locator__find_kernel(struct locator *locator)
{
	struct model *model = locator->loader->model;
	struct model_dso *dso;

	for (uint32_t i = 1; i < model->dsos.n; i++)
		if (model->dsos.data[i].kind == DSO_KERNEL)
			locator->kernel_dso = i;
	if (locator->kernel_dso)
		return 0;
	dso = array__add(&model->dsos);
	if (!dso)
		return -ENOMEM;
	dso->kind = DSO_KERNEL;
	dso->path = dso->name = model__intern(model, "[kernel]");
	locator->kernel_dso = (uint32_t)model->dsos.n - 1;
	return 0;
}

int loader__locate(struct loader *loader)
{
	struct model *model = loader->model;
	struct locator locator = {.loader = loader};
	int err = locator__find_kernel(&locator);

	locator.kernel = calloc(loader->raw_stacks.n, sizeof(*locator.kernel));
	if (!locator.kernel)
		err = -ENOMEM;
	for (size_t i = 1; i < model->threads.n && !err; i++) {
		struct model_thread *thread = &model->threads.data[i];

		err = locator__samples(&locator, thread);
		err = err ? err : locator__intervals(&locator, thread);
		err = err ? err : locator__wakes(&locator, thread);
	}
	for (size_t i = 1; i < model->devices.n && !err; i++)
		err = locator__idles(&locator, &model->devices.data[i]);
	free(locator.kernel);
	array__free(&locator.located);
	map64__free(&locator.locations);
	map64__free(&locator.user);
	return err;
}
