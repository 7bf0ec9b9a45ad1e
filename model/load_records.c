// SPDX-License-Identifier: BSD-2-Clause
/* What each type of record adds to the model that is being loaded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/loader.h"

/*
 * Bounds the numbers, as a record refers to at most four new things, so that a damaged file cannot
 * make arrays of terabytes.
 */
static bool is_plausible(const struct model_loader *loader, uint32_t number)
{
	return number <= loader->records * 4 + (1 << 20);
}

/* The entry of @number in @numbers; NULL if it is implausible or out of memory. */
static uint32_t *index_slot(struct model_loader *loader, struct number_map *numbers,
			    uint32_t number)
{
	if (!is_plausible(loader, number))
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

uint32_t model_loader__string(const struct model_loader *loader, uint32_t number)
{
	return number_map__get(&loader->strings, number);
}

uint32_t model_loader__thread(struct model_loader *loader, uint32_t number)
{
	uint32_t *slot = number ? index_slot(loader, &loader->threads, number) : NULL;
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

/* The index of device @number, added if it is new; 0 for none. */
static uint32_t device_index(struct model_loader *loader, uint32_t number)
{
	uint32_t *slot = number ? index_slot(loader, &loader->devices, number) : NULL;
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

uint32_t model_loader__raw_stack(struct model_loader *loader, uint32_t number)
{
	uint32_t *slot = number ? index_slot(loader, &loader->stacks, number) : NULL;

	if (!slot)
		return 0;
	if (!*slot) {
		if (!array__add(&loader->raw_stacks))
			return 0;
		*slot = (uint32_t)(loader->raw_stacks.n - 1);
	}
	return *slot;
}

void model_loader__extend(struct model_loader *loader, uint64_t from, uint64_t until)
{
	if (from < loader->first_time)
		loader->first_time = from;
	if (until > loader->last_time)
		loader->last_time = until;
}

static int load_string(struct model_loader *loader, const struct record *record)
{
	const struct record_string *string = &record->string;
	uint32_t *slot = index_slot(loader, &loader->strings, string->number);
	int64_t id;

	if (!slot)
		return -EINVAL;
	id = intern__id(&loader->model->strings, string->bytes, string->size, NULL);
	if (id < 0)
		return (int)id;
	*slot = (uint32_t)id;
	return 0;
}

static int load_stack(struct model_loader *loader, const struct record *record)
{
	const struct record_stack *stack = &record->stack;
	uint32_t index = model_loader__raw_stack(loader, stack->number);
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

static int load_dso(struct model_loader *loader, const struct record *record)
{
	const struct record_dso *from = &record->dso;
	uint32_t *slot = from->number ? index_slot(loader, &loader->dsos, from->number) : NULL;
	_cleanup_free_ char *path = NULL; /* a copy: interning may move the strings */
	struct model_dso dso = {
		.path = model_loader__string(loader, from->path),
		.build_id = model_loader__string(loader, from->build_id),
		.kind = from->kind,
		.deleted = from->deleted,
		.pid = from->pid,
	};
	struct model_dso *merged;
	const char *name;

	if (!slot)
		return -EINVAL;
	*slot = model_loader__merge_dso(loader, &dso);
	path = strdup(model__string(loader->model, dso.path));
	if (!*slot || !path)
		return -ENOMEM;
	merged = &loader->model->dsos.data[*slot];
	name = strrchr(path, '/');
	merged->name = name && name[1] ? model__intern(loader->model, name + 1) : merged->path;
	return 0;
}

static int load_object(struct model_loader *loader, const struct record *record)
{
	const struct record_object *from = &record->object;
	uint32_t *slot = from->number ? index_slot(loader, &loader->objects, from->number) : NULL;
	struct model_object object = {
		.type = from->type,
		.id = from->id,
		.extra = from->extra,
		.mode = from->mode,
		.family = from->family,
		.protocol = from->protocol,
		.side = from->side,
		.name = model_loader__string(loader, from->name),
		.local = model_loader__string(loader, from->local),
	};

	if (!slot)
		return -EINVAL;
	*slot = model_loader__merge_object(loader, &object);
	return *slot ? 0 : -ENOMEM;
}

static int load_meta(struct model_loader *loader, const struct record *record)
{
	struct model *model = loader->model;
	struct model_meta meta = {
		.key = model_loader__string(loader, record->meta.key),
		.value = model_loader__string(loader, record->meta.value),
	};

	for (size_t i = 0; i < model->metas.n; i++) {
		if (model->metas.data[i].key != meta.key)
			continue;
		model->metas.data[i] = meta;
		return 0;
	}
	return array__push(&model->metas, meta);
}

static int add_comm(struct model_thread *thread, uint64_t time, uint32_t name)
{
	struct model_comm comm = {.time = time, .name = name};

	return array__push(&thread->comms, comm);
}

static int load_thread(struct model_loader *loader, const struct record *record)
{
	const struct record_thread *from = &record->thread;
	uint32_t parent = model_loader__thread(loader, from->parent);
	uint32_t index = model_loader__thread(loader, from->thread);
	struct model_thread *thread = &loader->model->threads.data[index];
	const uint32_t recorded = THREAD_TARGET | THREAD_HELPER;

	if (!index)
		return -EINVAL;
	model_loader__extend(loader, from->time, from->time);
	if (thread->announced && !(thread->flags & recorded) && from->flags & recorded)
		thread->created = from->time; /* a waker only, until now */
	thread->flags |= from->flags;
	if (thread->announced)
		return 0;
	thread->announced = true;
	thread->tid = from->tid;
	thread->tgid = from->tgid;
	thread->parent = parent == index ? 0 : parent;
	thread->created = from->time;
	return add_comm(thread, 0, model_loader__string(loader, from->comm));
}

static int load_exec(struct model_loader *loader, const struct record *record)
{
	const struct record_exec *from = &record->exec;
	uint32_t index = model_loader__thread(loader, from->thread);
	struct model_thread *thread = &loader->model->threads.data[index];
	struct model_exec exec = {.time = from->time,
				  .comm = model_loader__string(loader, from->comm)};
	int err;

	if (!index)
		return -EINVAL;
	model_loader__extend(loader, from->time, from->time);
	thread->tid = from->tid;
	err = array__push(&thread->execs, exec);
	return err ? err : add_comm(thread, exec.time, exec.comm);
}

static int load_comm(struct model_loader *loader, const struct record *record)
{
	uint32_t index = model_loader__thread(loader, record->comm.thread);

	if (!index)
		return -EINVAL;
	model_loader__extend(loader, record->comm.time, record->comm.time);
	return add_comm(&loader->model->threads.data[index], record->comm.time,
			model_loader__string(loader, record->comm.comm));
}

static int load_totals(struct model_loader *loader, const struct record *record)
{
	const struct record_totals *totals = &record->totals;
	uint32_t index = model_loader__thread(loader, totals->thread);
	struct model_thread *thread = &loader->model->threads.data[index];

	if (!index)
		return -EINVAL;
	model_loader__extend(loader, totals->time, totals->time);
	if (thread->has_totals && thread->ended > totals->time)
		return 0;
	thread->has_totals = true;
	thread->ended = totals->time;
	thread->exited = totals->flags & TOTALS_EXITED;
	thread->counted = totals->flags & TOTALS_COUNTED;
	thread->stolen_ns = totals->stolen_ns;
	thread->last_stolen_ns = totals->last_stolen_ns;
	thread->unseen = totals->unseen;
	thread->sequence = totals->sequence;
	memcpy(thread->ns, totals->ns, sizeof(thread->ns));
	thread->voluntary = totals->voluntary;
	thread->involuntary = totals->involuntary;
	return 0;
}

static int load_map(struct model_loader *loader, const struct record *record)
{
	struct record_map map = record->map;

	map.dso = number_map__get(&loader->dsos, map.dso);
	if (!map.size || map.start + map.size < map.start)
		return -EINVAL;
	return array__push(&loader->maps, map);
}

static int load_sample(struct model_loader *loader, const struct record *record)
{
	const struct record_sample *from = &record->sample;
	uint32_t thread = model_loader__thread(loader, from->thread);
	struct model_sample sample = {
		.time = from->time,
		.weight = from->weight,
		.kernel = model_loader__raw_stack(loader, from->kernel_stack),
		.user = model_loader__raw_stack(loader, from->user_stack),
	};

	if (!thread)
		return -EINVAL;
	model_loader__extend(loader, from->time, from->time);
	loader->model->n_samples++;
	return array__push(&loader->model->threads.data[thread].samples, sample);
}

static int load_interval(struct model_loader *loader, const struct record *record)
{
	const struct record_interval *from = &record->interval;
	uint32_t waker = model_loader__thread(loader, from->waker);
	uint32_t previous = model_loader__thread(loader, from->previous);
	uint32_t sender = model_loader__thread(loader, from->sender);
	uint32_t thread = model_loader__thread(loader, from->thread);
	struct model_interval interval = {
		.t_out = from->t_out,
		.blocked_ns = from->blocked_ns,
		.runq_ns = from->runq_ns,
		.blocked_points = from->blocked_points,
		.runq_points = from->runq_points,
		.kernel = model_loader__raw_stack(loader, from->kernel_stack),
		.user = model_loader__raw_stack(loader, from->user_stack),
		.object = number_map__get(&loader->objects, from->object),
		.waker = waker,
		.flags = from->flags,
		.syscall = from->syscall < -1 || from->syscall > INT16_MAX ? (int16_t)-1
									   : (int16_t)from->syscall,
		.class = from->class < CLASS_COUNT ? from->class : CLASS_OTHER,
		.waker_context = from->waker_context,
		.sequence = from->sequence,
		.stolen_ns = from->stolen_ns,
		.cpu = from->cpu < UINT16_MAX ? (uint16_t)from->cpu : 0,
		.device = device_index(loader, from->device),
		.request = from->request, /* its number, until model_loader__timelines() */
		.previous = previous,
		.sender = sender,
	};
	uint64_t end;

	if (!thread || __builtin_add_overflow(from->blocked_ns, from->runq_ns, &end) ||
	    __builtin_add_overflow(from->t_out, end, &end))
		return -EINVAL;
	model_loader__extend(loader, from->t_out, end);
	loader->model->n_intervals++;
	if (INTERVAL_SPACING(from->flags) > loader->model->spacing)
		loader->model->spacing = INTERVAL_SPACING(from->flags);
	return array__push(&loader->model->threads.data[thread].intervals, interval);
}

static int load_wake(struct model_loader *loader, const struct record *record)
{
	const struct record_wake *from = &record->wake;
	uint32_t waker = model_loader__thread(loader, from->waker);
	uint32_t thread = model_loader__thread(loader, from->thread);
	struct model_wake wake = {
		.time = from->time,
		.waker = waker,
		.kernel = model_loader__raw_stack(loader, from->kernel_stack),
		.user = model_loader__raw_stack(loader, from->user_stack),
		.context = from->context,
	};

	if (!thread)
		return -EINVAL;
	return array__push(&loader->model->threads.data[thread].wakes, wake);
}

static int load_lost(struct model_loader *loader, const struct record *record)
{
	struct model *model = loader->model;
	struct model_lost lost = {
		.cause = model_loader__string(loader, record->lost.cause),
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

static int load_device(struct model_loader *loader, const struct record *record)
{
	const struct record_device *from = &record->device;
	uint32_t index = device_index(loader, from->device);
	struct model_device *device = &loader->model->devices.data[index];

	if (!index)
		return -EINVAL;
	model_loader__extend(loader, from->time, from->time);
	if (from->time < device->seen)
		device->seen = from->time;
	device->dev = from->dev;
	device->name = model_loader__string(loader, from->name);
	device->requests = from->requests;
	device->bytes = from->bytes;
	device->queue_ns = from->queue_ns;
	device->service_ns = from->service_ns;
	device->idle_ns = from->idle_ns;
	return 0;
}

static int load_idle(struct model_loader *loader, const struct record *record)
{
	const struct record_idle *from = &record->idle;
	uint32_t index = device_index(loader, from->device);
	struct model_idle idle = {
		.since = from->since,
		.ns = from->ns,
		.points = from->points,
		.thread = model_loader__thread(loader, from->thread),
		.kernel = model_loader__raw_stack(loader, from->kernel_stack),
		.user = model_loader__raw_stack(loader, from->user_stack),
		.flags = from->flags,
	};

	if (!index)
		return -EINVAL;
	model_loader__extend(loader, from->since, from->since + from->ns);
	return array__push(&loader->model->devices.data[index].idles, idle);
}

static int load_request(struct model_loader *loader, const struct record *record)
{
	const struct record_request *from = &record->request;
	struct model_request request = {
		.completed = from->time,
		.issued = from->time - from->service_ns,
		.begun = from->time - from->service_ns - from->queue_ns,
		.sector = from->sector,
		.bytes = from->bytes,
		.number = from->number,
		.device = device_index(loader, from->device),
		.thread = model_loader__thread(loader, from->thread),
		.op = from->op,
	};

	if (!request.device)
		return -EINVAL;
	model_loader__extend(loader, request.begun, request.completed);
	return array__push(&loader->model->requests, request);
}

static int load_cpu_run(struct model_loader *loader, const struct record *record)
{
	const struct record_cpu_run *from = &record->cpu_run;
	struct model_cpu_run run = {
		.from = from->time - from->length,
		.until = from->time,
		.ns = from->ns,
		.thread = model_loader__thread(loader, from->thread),
		.cpu = from->cpu,
	};

	return from->length ? array__push(&loader->model->cpu_runs, run) : 0;
}

static int load_annotation(struct model_loader *loader, const struct record *record)
{
	const struct record_annotation *from = &record->annotation;
	uint32_t other = model_loader__thread(loader, from->other);
	uint32_t thread = model_loader__thread(loader, from->thread);
	struct model_annotation annotation = {
		.time = from->time,
		.address = from->address,
		.queue = from->queue,
		.other = other,
		.name = model_loader__string(loader, from->name),
		.type = from->type,
	};

	if (!thread)
		return -EINVAL;
	return array__push(&loader->model->threads.data[thread].annotations, annotation);
}

struct embedded *model_loader__embedded(struct model_loader *loader, uint32_t dso, uint64_t address)
{
	/* Keys are hashes: linear probing on collisions. */
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

/* Adds an entry for @address. */
static struct embedded *add_embedded(struct model_loader *loader, uint32_t dso, uint64_t address)
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

static int load_function(struct model_loader *loader, const struct record *record)
{
	const struct record_function *from = &record->function;
	uint32_t dso = number_map__get(&loader->dsos, from->dso);
	struct model_frame frame = {.name = model_loader__string(loader, from->name)};
	struct embedded *entry;

	if (!dso)
		return -EINVAL;
	if (model_loader__embedded(loader, dso, from->address))
		return 0;
	entry = add_embedded(loader, dso, from->address);
	if (!entry)
		return -ENOMEM;
	entry->n_frames = 1;
	entry->provisional = true;
	return array__push(&loader->model->frames, frame);
}

static int load_symbol(struct model_loader *loader, const struct record *record)
{
	const struct record_symbol *from = &record->symbol;
	uint32_t dso = number_map__get(&loader->dsos, from->dso);
	struct model_frame frame = {
		.name = model_loader__string(loader, from->name),
		.file = model_loader__string(loader, from->file),
		.line = from->line,
		.inlined = from->inlined,
	};
	struct embedded *entry;

	if (!dso)
		return -EINVAL;
	entry = model_loader__embedded(loader, dso, from->address);
	if (!entry)
		entry = add_embedded(loader, dso, from->address);
	if (!entry)
		return -ENOMEM;
	if (entry->provisional) {
		entry->provisional = false;
		entry->frame = (uint32_t)loader->model->frames.n;
		entry->n_frames = 0;
	}
	/* A second definition, or frames that are not consecutive: keeps the first. */
	if (entry->complete || entry->frame + entry->n_frames != loader->model->frames.n)
		return 0;
	entry->n_frames++;
	entry->complete = !frame.inlined || entry->n_frames == UINT16_MAX;
	return array__push(&loader->model->frames, frame);
}

static int (*const handlers[])(struct model_loader *, const struct record *) = {
	[RECORD_META] = load_meta,
	[RECORD_STRING] = load_string,
	[RECORD_STACK] = load_stack,
	[RECORD_DSO] = load_dso,
	[RECORD_OBJECT] = load_object,
	[RECORD_THREAD] = load_thread,
	[RECORD_EXEC] = load_exec,
	[RECORD_COMM] = load_comm,
	[RECORD_TOTALS] = load_totals,
	[RECORD_MAP] = load_map,
	[RECORD_SAMPLE] = load_sample,
	[RECORD_INTERVAL] = load_interval,
	[RECORD_WAKE] = load_wake,
	[RECORD_LOST] = load_lost,
	[RECORD_SYMBOL] = load_symbol,
	[RECORD_DEVICE] = load_device,
	[RECORD_IDLE] = load_idle,
	[RECORD_ANNOTATION] = load_annotation,
	[RECORD_REQUEST] = load_request,
	[RECORD_SPAN] = model_loader__span,
	[RECORD_CALL] = model_loader__call,
	[RECORD_SHORT_CALLS] = model_loader__short_calls,
	[RECORD_SCAN] = model_loader__scan,
	[RECORD_PROBE] = model_loader__probe,
	[RECORD_SEGMENT] = model_loader__segment,
	[RECORD_CPU_RUN] = load_cpu_run,
	[RECORD_FUNCTION] = load_function,
};

int model_loader__add(struct model_loader *loader, const struct record *record)
{
	loader->records++;
	if ((size_t)record->type >= ARRAY_SIZE(handlers) || !handlers[record->type])
		return 0;
	return handlers[record->type](loader, record);
}
