// SPDX-License-Identifier: BSD-2-Clause
/* Locates stacks: maps addresses to offsets in files, per process and time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/loader.h"

/* A located raw user stack of a process, valid for times in [from, until). */
struct located {
	uint64_t from;
	uint64_t until;
	uint32_t stack;
	uint32_t next; /* 1 + index of the same raw stack at other times; 0: none */
};

struct locator {
	struct model_loader *loader;
	struct map64 locations; /* hash of (dso, address) -> location */
	struct map64 user;	/* process, raw stack, exact -> 1 + index in located */
	struct map64 futexes;	/* process << 32 | object: those that were looked at */
	uint32_t *kernel;	/* raw stack -> stack */
	uint32_t *same;		/* raw stack -> the first one with the same frames */
	ARRAY(struct located) located;
	uint32_t kernel_dso;
};

static int64_t locator_find_location(struct locator *locator, uint32_t dso, uint64_t address,
				     bool kernel, bool data)
{
	struct model *model = locator->loader->model;
	struct model_location added = {
		.address = address, .dso = dso, .kernel = kernel, .data = data};

	for (uint64_t key = hash__add(dso, address);; key++) {
		uint64_t *index = map64__put(&locator->locations, key, model->locations.n);
		const struct model_location *location;

		if (!index)
			return -ENOMEM;
		if (*index == model->locations.n) {
			struct embedded *names =
				model_loader__embedded(locator->loader, dso, address);

			if (dso && names && (names->complete || names->provisional)) {
				added.provisional = names->provisional;
				added.frame = names->frame;
				added.n_frames = names->n_frames;
			}
			return array__push(&model->locations, added) ? -ENOMEM : (int64_t)*index;
		}
		location = &model->locations.data[*index];
		if (location->dso == dso && location->address == address && location->data == data)
			return (int64_t)*index;
	}
}

static int locator_push_frame(struct locator *locator, uint32_t dso, uint64_t address, bool kernel)
{
	int64_t location = locator_find_location(locator, dso, address, kernel, false);

	if (location < 0)
		return (int)location;
	return array__push(&locator->loader->model->stack_locations, (uint32_t)location);
}

/* Adds a stack whose frames are in stack_locations from @first on. */
static int64_t locator_add_stack(struct locator *locator, const struct raw_stack *raw, size_t first)
{
	struct model *model = locator->loader->model;
	struct model_stack stack = {
		.first = first, .depth = raw->depth, .kernel = raw->kernel, .end = raw->end};

	return array__push(&model->stacks, stack) ? -ENOMEM : (int64_t)model->stacks.n - 1;
}

static bool are_same_stack(const struct model_loader *loader, const struct raw_stack *a,
			   const struct raw_stack *b)
{
	const uint64_t *frames = loader->raw_frames.data;

	return a->depth == b->depth && a->kernel == b->kernel && a->end == b->end &&
	       !memcmp(frames + a->first, frames + b->first, a->depth * sizeof(*frames));
}

/* Finds stacks that the recorder wrote again, because it had not used them for long. */
static int locator_merge_stacks(struct locator *locator)
{
	const struct model_loader *loader = locator->loader;
	struct map64 by_hash = {};
	int err = 0;

	locator->same = calloc(loader->raw_stacks.n, sizeof(*locator->same));
	if (!locator->same)
		return -ENOMEM;
	for (uint32_t i = 1; i < loader->raw_stacks.n && !err; i++) {
		const struct raw_stack *raw = &loader->raw_stacks.data[i];
		uint64_t key;

		locator->same[i] = i;
		if (!raw->depth)
			continue;
		/* Keys are hashes: linear probing on collisions. */
		for (key = hash__bytes(loader->raw_frames.data + raw->first,
				       raw->depth * sizeof(uint64_t));
		     ; key++) {
			const uint64_t *index = map64__put(&by_hash, key, i);

			if (!index)
				err = -ENOMEM;
			else if (!are_same_stack(loader, &loader->raw_stacks.data[*index], raw))
				continue;
			else
				locator->same[i] = (uint32_t)*index;
			break;
		}
	}
	map64__free(&by_hash);
	return err;
}

static int locator_kernel_stack(struct locator *locator, uint32_t number, uint32_t *stack)
{
	uint32_t raw_index = locator->same[number];
	const struct raw_stack *raw = &locator->loader->raw_stacks.data[raw_index];
	size_t first = locator->loader->model->stack_locations.n;
	int64_t index;

	*stack = locator->kernel[raw_index];
	if (*stack || !raw->depth)
		return 0;
	for (size_t i = 0; i < raw->depth; i++) {
		uint64_t address = locator->loader->raw_frames.data[raw->first + i];
		int err = locator_push_frame(locator, locator->kernel_dso, address - (i ? 1 : 0),
					     true);

		if (err)
			return err;
	}
	index = locator_add_stack(locator, raw, first);
	if (index < 0)
		return (int)index;
	*stack = locator->kernel[raw_index] = (uint32_t)index;
	return 0;
}

/* Locates a user stack at @time; narrows [@located->from, until) to when the result is valid. */
static int locator_map_frames(struct locator *locator, uint32_t process_index,
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
		err = locator_push_frame(locator, dso, place, false);
		if (err)
			return err;
		located->from = from > located->from ? from : located->from;
		located->until = until < located->until ? until : located->until;
	}
	stack = locator_add_stack(locator, raw, first);
	if (stack < 0)
		return (int)stack;
	located->stack = (uint32_t)stack;
	return 0;
}

/*
 * Gets the located stack of raw stack @number in @thread at @time. @exact: its innermost frame is
 * the address of an instruction, not the return address of a system call or call.
 */
static int locator_user_stack(struct locator *locator, const struct model_thread *thread,
			      uint32_t number, bool exact, uint64_t time, uint32_t *stack)
{
	uint32_t raw_index = locator->same[number];
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
	err = locator_map_frames(locator, thread->process, raw, exact, time, &located);
	if (err)
		return err;
	located.next = (uint32_t)*chain;
	*chain = locator->located.n + 1;
	*stack = located.stack;
	return array__push(&locator->located, located);
}

static void locator_count_end(struct locator *locator, uint32_t user, uint32_t kernel)
{
	struct model *model = locator->loader->model;
	const struct raw_stack *raw = locator->loader->raw_stacks.data;

	if (user)
		model->truncated[raw[user].end]++;
	else if (kernel)
		model->truncated[raw[kernel].end]++;
}

static int locator_samples(struct locator *locator, struct model_thread *thread)
{
	int err = 0;

	for (size_t i = 0; i < thread->samples.n && !err; i++) {
		struct model_sample *sample = &thread->samples.data[i];

		locator_count_end(locator, sample->user, sample->kernel);
		err = locator_kernel_stack(locator, sample->kernel, &sample->kernel);
		err = err ? err
			  : locator_user_stack(locator, thread, sample->user, true, sample->time,
					       &sample->user);
	}
	return err;
}

static int locator_intervals(struct locator *locator, struct model_thread *thread)
{
	int err = 0;

	for (size_t i = 0; i < thread->intervals.n && !err; i++) {
		struct model_interval *interval = &thread->intervals.data[i];
		/* In a system call, the innermost address is behind the instruction. */
		bool exact = interval->syscall < 0;

		locator_count_end(locator, interval->user, interval->kernel);
		err = locator_kernel_stack(locator, interval->kernel, &interval->kernel);
		err = err ? err
			  : locator_user_stack(locator, thread, interval->user, exact,
					       interval->t_out, &interval->user);
	}
	return err;
}

static int by_object(const void *a, const void *b)
{
	const struct model_variable *one = a, *other = b;

	if (one->process != other->process)
		return one->process < other->process ? -1 : 1;
	return (one->object > other->object) - (one->object < other->object);
}

/* Adds the variable that @interval waited for, if it may be one. */
static int locator_add_variable(struct locator *locator, const struct model_thread *thread,
				const struct model_interval *interval)
{
	struct model *model = locator->loader->model;
	struct model_variable variable = {.process = thread->process, .object = interval->object};
	const struct model_object *object = &model->objects.data[interval->object];
	uint64_t key = (uint64_t)thread->process << 32 | interval->object;
	size_t known = locator->futexes.n;
	const struct model_map *map;
	int64_t location;

	if (object->type != OBJECT_FUTEX || !thread->process)
		return 0;
	if (!map64__put(&locator->futexes, key, 1))
		return -ENOMEM;
	if (locator->futexes.n == known)
		return 0;
	map = model_process__map_below(&model->processes.data[thread->process], object->id,
				       interval->t_out);
	if (!map || model->dsos.data[map->dso].kind != DSO_FILE)
		return 0;
	location = locator_find_location(locator, map->dso, object->id - map->start + map->offset,
					 false, true);
	if (location < 0)
		return (int)location;
	variable.location = (uint32_t)location;
	return array__push(&model->variables, variable);
}

static int locator_variables(struct locator *locator)
{
	struct model *model = locator->loader->model;
	int err = 0;

	for (size_t i = 1; i < model->threads.n && !err; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		for (size_t k = 0; k < thread->intervals.n && !err; k++)
			err = locator_add_variable(locator, thread, &thread->intervals.data[k]);
	}
	if (model->variables.n)
		qsort(model->variables.data, model->variables.n, sizeof(*model->variables.data),
		      by_object);
	return err;
}

uint32_t model__variable(const struct model *model, uint32_t process, uint32_t object)
{
	const struct model_variable wanted = {.process = process, .object = object};
	const struct model_location *location;
	const struct model_variable *found;

	if (!model->variables.n)
		return 0;
	found = bsearch(&wanted, model->variables.data, model->variables.n,
			sizeof(*model->variables.data), by_object);
	location = &model->locations.data[found ? found->location : 0];
	return found && location->n_frames ? model->frames.data[location->frame].name : 0;
}

static int locator_wakes(struct locator *locator, struct model_thread *thread)
{
	const struct model *model = locator->loader->model;
	int err = 0;

	for (size_t i = 0; i < thread->wakes.n && !err; i++) {
		struct model_wake *wake = &thread->wakes.data[i];

		err = locator_kernel_stack(locator, wake->kernel, &wake->kernel);
		/* Without waker, the address space is unknown. */
		if (!wake->waker)
			wake->user = 0;
		err = err ? err
			  : locator_user_stack(locator, &model->threads.data[wake->waker],
					       wake->user, true, wake->time, &wake->user);
	}
	return err;
}

static int locator_calls(struct locator *locator, struct model_thread *thread)
{
	int err = 0;

	for (size_t i = 0; i < thread->calls.n && !err; i++)
		err = locator_user_stack(locator, thread, thread->calls.data[i].stack, false,
					 thread->calls.data[i].end, &thread->calls.data[i].stack);
	for (size_t i = 0; i < thread->short_calls.n && !err; i++)
		err = locator_user_stack(locator, thread, thread->short_calls.data[i].stack, false,
					 thread->short_calls.data[i].time,
					 &thread->short_calls.data[i].stack);
	return err;
}

static int locator_idles(struct locator *locator, struct model_device *device)
{
	const struct model *model = locator->loader->model;
	int err = 0;

	for (size_t i = 0; i < device->idles.n && !err; i++) {
		struct model_idle *idle = &device->idles.data[i];

		err = locator_kernel_stack(locator, idle->kernel, &idle->kernel);
		if (!idle->thread)
			idle->user = 0;
		err = err ? err
			  : locator_user_stack(locator, &model->threads.data[idle->thread],
					       idle->user, true, idle->since + idle->ns,
					       &idle->user);
	}
	return err;
}

/* Finds the DSO of the kernel, or adds one. */
static int locator_find_kernel(struct locator *locator)
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

int model_loader__locate(struct model_loader *loader)
{
	struct model *model = loader->model;
	struct locator locator = {.loader = loader};
	int err = locator_find_kernel(&locator);

	err = err ? err : locator_merge_stacks(&locator);
	locator.kernel = calloc(loader->raw_stacks.n, sizeof(*locator.kernel));
	if (!locator.kernel)
		err = -ENOMEM;
	for (size_t i = 1; i < model->threads.n && !err; i++) {
		struct model_thread *thread = &model->threads.data[i];

		err = locator_samples(&locator, thread);
		err = err ? err : locator_intervals(&locator, thread);
		err = err ? err : locator_wakes(&locator, thread);
		err = err ? err : locator_calls(&locator, thread);
	}
	for (size_t i = 1; i < model->devices.n && !err; i++)
		err = locator_idles(&locator, &model->devices.data[i]);
	err = err ? err : locator_variables(&locator);
	free(locator.kernel);
	free(locator.same);
	map64__free(&locator.futexes);
	array__free(&locator.located);
	map64__free(&locator.locations);
	map64__free(&locator.user);
	return err;
}
