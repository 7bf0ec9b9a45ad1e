// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "model/loader.h"

/*
 * A number can be believed up to here: a record names at most four new things.
 * Keeps a damaged file from asking for terabytes.
 */
static bool loader__plausible(const struct loader *loader, uint32_t number)
{
	return number <= loader->records * 4 + (1 << 20);
}

/* The place of @number's index; NULL when it cannot be. */
static uint32_t *loader__slot(struct loader *loader, struct numbers *numbers, uint32_t number)
{
	if (!loader__plausible(loader, number))
		return NULL;
	if (number >= numbers->n) {
		size_t more = number + 1 - numbers->n;

		if (array__reserve(numbers, more))
			return NULL;
		memset(numbers->data + numbers->n, 0, more * sizeof(*numbers->data));
		numbers->n += more;
	}
	return &numbers->data[number];
}

static uint32_t numbers__get(const struct numbers *numbers, uint32_t number)
{
	return number < numbers->n ? numbers->data[number] : 0;
}

static uint32_t loader__string(const struct loader *loader, uint32_t number)
{
	return numbers__get(&loader->strings, number);
}

/* The thread of @number, made when it is new; 0 for none. */
static uint32_t loader__thread(struct loader *loader, uint32_t number)
{
	uint32_t *slot = number ? loader__slot(loader, &loader->threads, number) : NULL;
	struct model_thread *thread;

	if (!slot)
		return 0;
	if (!*slot) {
		thread = array__add(&loader->model->threads);
		if (!thread)
			return 0;
		thread->number = number;
		thread->created = MODEL_FOREVER;
		*slot = (uint32_t)(loader->model->threads.n - 1);
	}
	return *slot;
}

/* The device of @number, made when it is new; 0 for none. */
static uint32_t loader__device(struct loader *loader, uint32_t number)
{
	uint32_t *slot = number ? loader__slot(loader, &loader->devices, number) : NULL;
	struct model_device *device;

	if (!slot)
		return 0;
	if (!*slot) {
		device = array__add(&loader->model->devices);
		if (!device)
			return 0;
		device->number = number;
		device->seen = MODEL_FOREVER;
		*slot = (uint32_t)(loader->model->devices.n - 1);
	}
	return *slot;
}

/* The raw stack of @number: its frames may come later. */
static uint32_t loader__stack(struct loader *loader, uint32_t number)
{
	uint32_t *slot = number ? loader__slot(loader, &loader->stacks, number) : NULL;

	if (!slot)
		return 0;
	if (!*slot) {
		if (!array__add(&loader->raw_stacks))
			return 0;
		*slot = (uint32_t)(loader->raw_stacks.n - 1);
	}
	return *slot;
}

static void loader__time(struct loader *loader, uint64_t from, uint64_t until)
{
	if (from < loader->first_time)
		loader->first_time = from;
	if (until > loader->last_time)
		loader->last_time = until;
}

static int load__string(struct loader *loader, const struct record *record)
{
	const struct record_string *string = &record->string;
	uint32_t *slot = loader__slot(loader, &loader->strings, string->number);
	int64_t id;

	if (!slot)
		return -EINVAL;
	id = intern__id(&loader->model->strings, string->bytes, string->size, NULL);
	if (id < 0)
		return (int)id;
	*slot = (uint32_t)id;
	return 0;
}

static int load__stack(struct loader *loader, const struct record *record)
{
	const struct record_stack *stack = &record->stack;
	uint32_t index = loader__stack(loader, stack->number);
	size_t depth = stack->depth < UINT16_MAX ? stack->depth : UINT16_MAX;
	struct raw_stack *raw;

	if (!index)
		return -EINVAL;
	if (array__reserve(&loader->raw_frames, depth))
		return -ENOMEM;
	raw = &loader->raw_stacks.data[index];
	raw->first = loader->raw_frames.n;
	raw->depth = (uint16_t)depth;
	raw->kernel = stack->kernel != 0;
	raw->end = stack->end < STACK_END_COUNT ? stack->end : STACK_UNSUPPORTED;
	if (depth)
		memcpy(loader->raw_frames.data + loader->raw_frames.n, stack->frames,
		       depth * sizeof(*stack->frames));
	loader->raw_frames.n += depth;
	return 0;
}

static int load__dso(struct loader *loader, const struct record *record)
{
	const struct record_dso *dso = &record->dso;
	uint32_t *slot = dso->number ? loader__slot(loader, &loader->dsos, dso->number) : NULL;
	_cleanup_free_ char *path = NULL; /* a copy: interning may move the strings */
	struct model_dso *added;
	const char *name;

	if (!slot)
		return -EINVAL;
	added = array__add(&loader->model->dsos);
	path = strdup(model__string(loader->model, loader__string(loader, dso->path)));
	if (!added || !path)
		return -ENOMEM;
	*slot = (uint32_t)(loader->model->dsos.n - 1);
	added->number = dso->number;
	added->path = loader__string(loader, dso->path);
	added->build_id = loader__string(loader, dso->build_id);
	added->kind = dso->kind;
	added->deleted = dso->deleted;
	added->pid = dso->pid;
	name = strrchr(path, '/');
	added->name = name && name[1] ? model__intern(loader->model, name + 1) : added->path;
	return 0;
}

static int load__object(struct loader *loader, const struct record *record)
{
	const struct record_object *object = &record->object;
	uint32_t *slot =
		object->number ? loader__slot(loader, &loader->objects, object->number) : NULL;
	struct model_object *added;

	if (!slot)
		return -EINVAL;
	added = array__add(&loader->model->objects);
	if (!added)
		return -ENOMEM;
	*slot = (uint32_t)(loader->model->objects.n - 1);
	*added = (struct model_object){
		.type = object->type,
		.id = object->id,
		.extra = object->extra,
		.mode = object->mode,
		.family = object->family,
		.protocol = object->protocol,
		.name = loader__string(loader, object->name),
		.local = loader__string(loader, object->local),
	};
	return 0;
}

static int load__meta(struct loader *loader, const struct record *record)
{
	struct model *model = loader->model;
	struct model_meta meta = {
		.key = loader__string(loader, record->meta.key),
		.value = loader__string(loader, record->meta.value),
	};

	for (size_t i = 0; i < model->metas.n; i++) {
		if (model->metas.data[i].key != meta.key)
			continue;
		model->metas.data[i] = meta;
		return 0;
	}
	return array__push(&model->metas, meta);
}

static int thread__named(struct model_thread *thread, uint64_t time, uint32_t name)
{
	struct model_comm comm = {.time = time, .name = name};

	return array__push(&thread->comms, comm);
}

static int load__thread(struct loader *loader, const struct record *record)
{
	const struct record_thread *from = &record->thread;
	uint32_t parent = loader__thread(loader, from->parent);
	uint32_t index = loader__thread(loader, from->thread);
	struct model_thread *thread = &loader->model->threads.data[index];

	if (!index)
		return -EINVAL;
	loader__time(loader, from->time, from->time);
	thread->flags |= from->flags;
	if (from->flags & THREAD_HELPER && thread->announced) /* it was a mere waker before */
		thread->created = from->time;
	if (thread->announced)
		return 0;
	thread->announced = true;
	thread->tid = from->tid;
	thread->tgid = from->tgid;
	thread->parent = parent == index ? 0 : parent;
	thread->created = from->time;
	return thread__named(thread, 0, loader__string(loader, from->comm));
}

static int load__exec(struct loader *loader, const struct record *record)
{
	const struct record_exec *from = &record->exec;
	uint32_t index = loader__thread(loader, from->thread);
	struct model_thread *thread = &loader->model->threads.data[index];
	struct model_exec exec = {.time = from->time, .comm = loader__string(loader, from->comm)};
	int err;

	if (!index)
		return -EINVAL;
	loader__time(loader, from->time, from->time);
	thread->tid = from->tid;
	err = array__push(&thread->execs, exec);
	return err ? err : thread__named(thread, exec.time, exec.comm);
}

static int load__comm(struct loader *loader, const struct record *record)
{
	uint32_t index = loader__thread(loader, record->comm.thread);

	if (!index)
		return -EINVAL;
	loader__time(loader, record->comm.time, record->comm.time);
	return thread__named(&loader->model->threads.data[index], record->comm.time,
			     loader__string(loader, record->comm.comm));
}

static int load__totals(struct loader *loader, const struct record *record)
{
	const struct record_totals *totals = &record->totals;
	uint32_t index = loader__thread(loader, totals->thread);
	struct model_thread *thread = &loader->model->threads.data[index];

	if (!index)
		return -EINVAL;
	loader__time(loader, totals->time, totals->time);
	if (thread->has_totals && thread->ended > totals->time)
		return 0;
	thread->has_totals = true;
	thread->ended = totals->time;
	thread->exited = totals->flags & TOTALS_EXITED;
	memcpy(thread->ns, totals->ns, sizeof(thread->ns));
	thread->voluntary = totals->voluntary;
	thread->involuntary = totals->involuntary;
	return 0;
}

static int load__map(struct loader *loader, const struct record *record)
{
	struct record_map map = record->map;

	map.dso = numbers__get(&loader->dsos, map.dso);
	if (!map.size || map.start + map.size < map.start)
		return -EINVAL;
	return array__push(&loader->maps, map);
}

/* With model_options.distinct_stacks: whether this stack was seen in this thread. */
static bool loader__seen(struct loader *loader, uint32_t thread, uint32_t kernel, uint32_t user,
			 bool exact)
{
	uint64_t key, n = loader->seen.n;

	if (!loader->options || !loader->options->distinct_stacks)
		return false;
	/* A later mapping may give the same addresses another meaning. */
	key = hash__add(hash__add(thread, (uint64_t)kernel << 32 | user),
			loader->maps.n << 1 | exact);
	return map64__put(&loader->seen, key, 1) && loader->seen.n == n;
}

static int load__sample(struct loader *loader, const struct record *record)
{
	const struct record_sample *from = &record->sample;
	uint32_t thread = loader__thread(loader, from->thread);
	struct model_sample sample = {
		.time = from->time,
		.weight = from->weight,
		.kernel = loader__stack(loader, from->kernel_stack),
		.user = loader__stack(loader, from->user_stack),
	};

	if (!thread)
		return -EINVAL;
	loader__time(loader, from->time, from->time);
	loader->model->n_samples++;
	if (loader__seen(loader, thread, sample.kernel, sample.user, true))
		return 0;
	return array__push(&loader->model->threads.data[thread].samples, sample);
}

static int load__interval(struct loader *loader, const struct record *record)
{
	const struct record_interval *from = &record->interval;
	uint32_t waker = loader__thread(loader, from->waker);
	uint32_t thread = loader__thread(loader, from->thread);
	struct model_interval interval = {
		.t_out = from->t_out,
		.blocked_ns = from->blocked_ns,
		.runq_ns = from->runq_ns,
		.blocked_points = from->blocked_points,
		.runq_points = from->runq_points,
		.kernel = loader__stack(loader, from->kernel_stack),
		.user = loader__stack(loader, from->user_stack),
		.object = numbers__get(&loader->objects, from->object),
		.waker = waker,
		.flags = from->flags,
		.syscall = from->syscall < -1 || from->syscall > INT16_MAX ? (int16_t)-1
									   : (int16_t)from->syscall,
		.class = from->class < CLASS_COUNT ? from->class : CLASS_OTHER,
		.waker_context = from->waker_context,
		.device = loader__device(loader, from->device),
	};
	uint64_t end;

	if (!thread || __builtin_add_overflow(from->blocked_ns, from->runq_ns, &end) ||
	    __builtin_add_overflow(from->t_out, end, &end))
		return -EINVAL;
	loader__time(loader, from->t_out, end);
	loader->model->n_intervals++;
	if (INTERVAL_SPACING(from->flags) > loader->model->spacing)
		loader->model->spacing = INTERVAL_SPACING(from->flags);
	if (loader__seen(loader, thread, interval.kernel, interval.user, from->syscall < 0))
		return 0;
	return array__push(&loader->model->threads.data[thread].intervals, interval);
}

static int load__wake(struct loader *loader, const struct record *record)
{
	const struct record_wake *from = &record->wake;
	uint32_t waker = loader__thread(loader, from->waker);
	uint32_t thread = loader__thread(loader, from->thread);
	struct model_wake wake = {
		.time = from->time,
		.waker = waker,
		.kernel = loader__stack(loader, from->kernel_stack),
		.user = loader__stack(loader, from->user_stack),
		.context = from->context,
	};

	if (!thread)
		return -EINVAL;
	loader->model->n_wakes++;
	if (loader__seen(loader, waker, wake.kernel, wake.user, true))
		return 0;
	return array__push(&loader->model->threads.data[thread].wakes, wake);
}

static int load__lost(struct loader *loader, const struct record *record)
{
	struct model *model = loader->model;
	struct model_lost lost = {
		.cause = loader__string(loader, record->lost.cause),
		.count = record->lost.count,
	};

	for (size_t i = 0; i < model->losts.n; i++) {
		if (model->losts.data[i].cause != lost.cause)
			continue;
		model->losts.data[i] = lost;
		return 0;
	}
	return array__push(&model->losts, lost);
}

static int load__device(struct loader *loader, const struct record *record)
{
	const struct record_device *from = &record->device;
	uint32_t index = loader__device(loader, from->device);
	struct model_device *device = &loader->model->devices.data[index];

	if (!index)
		return -EINVAL;
	loader__time(loader, from->time, from->time);
	if (from->time < device->seen)
		device->seen = from->time;
	device->dev = from->dev;
	device->name = loader__string(loader, from->name);
	device->requests = from->requests;
	device->bytes = from->bytes;
	device->queue_ns = from->queue_ns;
	device->service_ns = from->service_ns;
	device->idle_ns = from->idle_ns;
	return 0;
}

static int load__idle(struct loader *loader, const struct record *record)
{
	const struct record_idle *from = &record->idle;
	uint32_t index = loader__device(loader, from->device);
	struct model_idle idle = {
		.since = from->since,
		.ns = from->ns,
		.points = from->points,
		.thread = loader__thread(loader, from->thread),
		.kernel = loader__stack(loader, from->kernel_stack),
		.user = loader__stack(loader, from->user_stack),
		.flags = from->flags,
	};

	if (!index)
		return -EINVAL;
	loader__time(loader, from->since, from->since + from->ns);
	if (loader__seen(loader, idle.thread, idle.kernel, idle.user, true))
		return 0;
	return array__push(&loader->model->devices.data[index].idles, idle);
}

static int load__annotation(struct loader *loader, const struct record *record)
{
	const struct record_annotation *from = &record->annotation;
	uint32_t other = loader__thread(loader, from->other);
	uint32_t thread = loader__thread(loader, from->thread);
	struct model_annotation annotation = {
		.time = from->time,
		.address = from->address,
		.other = other,
		.type = from->type,
	};

	if (!thread)
		return -EINVAL;
	return array__push(&loader->model->threads.data[thread].annotations, annotation);
}

struct embedded *loader__embedded(struct loader *loader, uint32_t dso, uint64_t address)
{
	/* Two keys that fall together take the next one: probe until it fits. */
	for (uint64_t key = hash__add(dso, address);; key++) {
		uint64_t *index = map64__get(&loader->embedded_by_address, key);
		struct embedded *entry;

		if (!index)
			return NULL;
		entry = &loader->embedded.data[*index];
		if (entry->dso == dso && entry->address == address)
			return entry;
	}
}

/* A new entry for @address. */
static struct embedded *loader__embed(struct loader *loader, uint32_t dso, uint64_t address)
{
	uint64_t key = hash__add(dso, address);
	struct embedded *entry = array__add(&loader->embedded);

	if (!entry)
		return NULL;
	*entry = (struct embedded){
		.dso = dso,
		.address = address,
		.frame = (uint32_t)loader->model->frames.n,
	};
	while (map64__get(&loader->embedded_by_address, key))
		key++;
	return map64__put(&loader->embedded_by_address, key, loader->embedded.n - 1) ? entry : NULL;
}

static int load__symbol(struct loader *loader, const struct record *record)
{
	const struct record_symbol *from = &record->symbol;
	uint32_t dso = numbers__get(&loader->dsos, from->dso);
	struct model_frame frame = {
		.name = loader__string(loader, from->name),
		.file = loader__string(loader, from->file),
		.line = from->line,
		.inlined = from->inlined,
	};
	struct embedded *entry;

	if (!dso)
		return -EINVAL;
	entry = loader__embedded(loader, dso, from->address);
	if (!entry)
		entry = loader__embed(loader, dso, from->address);
	if (!entry)
		return -ENOMEM;
	/* Named twice, or its frames do not follow each other: the first ones stay. */
	if (entry->complete || entry->frame + entry->n_frames != loader->model->frames.n)
		return 0;
	entry->n_frames++;
	entry->complete = !frame.inlined || entry->n_frames == UINT16_MAX;
	return array__push(&loader->model->frames, frame);
}

static int (*const handlers[])(struct loader *, const struct record *) = {
	[RECORD_META] = load__meta,	[RECORD_STRING] = load__string,
	[RECORD_STACK] = load__stack,	[RECORD_DSO] = load__dso,
	[RECORD_OBJECT] = load__object, [RECORD_THREAD] = load__thread,
	[RECORD_EXEC] = load__exec,	[RECORD_COMM] = load__comm,
	[RECORD_TOTALS] = load__totals, [RECORD_MAP] = load__map,
	[RECORD_SAMPLE] = load__sample, [RECORD_INTERVAL] = load__interval,
	[RECORD_WAKE] = load__wake,	[RECORD_LOST] = load__lost,
	[RECORD_SYMBOL] = load__symbol, [RECORD_DEVICE] = load__device,
	[RECORD_IDLE] = load__idle,	[RECORD_ANNOTATION] = load__annotation,
};

static int loader__read(struct loader *loader, struct recording_reader *reader)
{
	struct record record;
	int err;

	while ((err = recording_reader__next(reader, &record)) > 0) {
		loader->records++;
		if ((size_t)record.type >= ARRAY_SIZE(handlers) || !handlers[record.type])
			continue;
		err = handlers[record.type](loader, &record);
		if (err == -EINVAL)
			loader->model->refused++;
		else if (err)
			return error__errno(err, "cannot load the recording");
	}
	return err;
}

/* Sets what the metas say. */
static void loader__facts(struct loader *loader)
{
	struct model *model = loader->model;
	const char *mode = model__meta(model, "mode");

	if (loader->first_time > loader->last_time)
		loader->first_time = loader->last_time;
	model->start = model__meta_number(model, "start", loader->first_time);
	model->end = model__meta_number(model, "end", loader->last_time);
	if (model->end < model->start)
		model->end = loader->last_time > model->start ? loader->last_time : model->start;
	model->period_ns = model__meta_number(model, "period_ns", 0);
	model->grid_seed = model__meta_number(model, "grid_seed", 0);
	model->trace = mode && !strcmp(mode, "trace");
}

static int model__init(struct model *model, struct loader *loader)
{
	if (intern__id(&model->strings, "", 0, NULL) < 0 || !array__add(&model->threads) ||
	    !array__add(&model->processes) || !array__add(&model->dsos) ||
	    !array__add(&model->objects) || !array__add(&model->devices) ||
	    !array__add(&model->stacks) || !array__add(&model->locations) ||
	    !array__add(&loader->raw_stacks))
		return -ENOMEM;
	model->dsos.data[0].name = model__intern(model, "[unknown]");
	model->dsos.data[0].path = model->dsos.data[0].name;
	return thread__named(&model->threads.data[0], 0, model->dsos.data[0].name);
}

static void loader__release(struct loader *loader)
{
	free(loader->strings.data);
	free(loader->threads.data);
	free(loader->dsos.data);
	free(loader->objects.data);
	free(loader->devices.data);
	free(loader->stacks.data);
	array__free(&loader->raw_stacks);
	array__free(&loader->raw_frames);
	array__free(&loader->maps);
	array__free(&loader->embedded);
	map64__free(&loader->embedded_by_address);
	map64__free(&loader->latest_life);
	map64__free(&loader->seen);
}

static int loader__load(struct loader *loader, struct recording_reader *reader)
{
	const char *warning;
	int err = model__init(loader->model, loader);

	err = err ? err : loader__read(loader, reader);
	if (err)
		return err;
	warning = recording_reader__warning(reader);
	if (warning)
		loader->model->warning = strdup(warning);
	loader__facts(loader);
	err = loader__timelines(loader);
	err = err ? err : loader__processes(loader);
	return err ? err : loader__locate(loader);
}

int model__load(const char *path, const struct model_options *options, struct model **out)
{
	_cleanup_model_ struct model *model = NULL;
	struct recording_reader *reader = NULL;
	struct loader loader = {.options = options, .first_time = UINT64_MAX};
	int err = recording_reader__open(path, &reader);

	if (err)
		return err;
	model = calloc(1, sizeof(*model));
	loader.model = model;
	err = model ? loader__load(&loader, reader) : -ENOMEM;
	loader__release(&loader);
	recording_reader__close(reader);
	if (err)
		return err;
	*out = TAKE_PTR(model);
	return 0;
}
