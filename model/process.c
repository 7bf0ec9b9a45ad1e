// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which thread belongs to which life of a process id, and what each process had
 * mapped when.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/loader.h"

/* A change of what a process has mapped. */
struct map_event {
	uint32_t process;
	uint32_t map; /* in loader->maps, + 1; 0: exec, which clears */
	uint64_t time;
};

struct map_events {
	ARRAY(struct map_event) events;
};

/* Mappings in force, by start, not overlapping: indices in the process's maps. */
struct current {
	ARRAY(uint32_t) maps;
};

/* Threads in the order they were made; a leader before its threads. */
static const struct model *sorting;

static int thread__order(const void *a, const void *b)
{
	const struct model_thread *x = &sorting->threads.data[*(const uint32_t *)a];
	const struct model_thread *y = &sorting->threads.data[*(const uint32_t *)b];

	if (x->created != y->created)
		return x->created < y->created ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Whether @thread begins a new life of a pid whose last life so far is @process. */
static bool thread__begins(const struct model_thread *thread, const struct model_process *process)
{
	if ((thread->flags & THREAD_CREATED) && thread->tid == thread->tgid && !thread->execs.n)
		return true;
	return process->ended <= thread->created;
}

static int loader__add_thread(struct loader *loader, uint32_t index)
{
	struct model *model = loader->model;
	struct model_thread *thread = &model->threads.data[index];
	uint64_t *last = map64__put(&loader->latest_life, thread->tgid, 0);
	uint64_t ended = thread->exited ? thread->ended : MODEL_FOREVER;
	struct model_process *process;

	if (!last)
		return -ENOMEM;
	process = &model->processes.data[*last];
	if (!*last || thread__begins(thread, process)) {
		process = array__add(&model->processes);
		if (!process)
			return -ENOMEM;
		process->previous = (uint32_t)*last;
		*last = model->processes.n - 1;
		process->pid = thread->tgid;
		process->leader = index;
		process->created = thread->created;
		process->ended = ended;
		process->parent = model->threads.data[thread->parent].process;
	}
	if (thread->tid == thread->tgid)
		process->leader = index;
	if (ended > process->ended)
		process->ended = ended;
	thread->process = (uint32_t)*last;
	return 0;
}

/*
 * Adds every thread to its process. A placeholder (never announced) has no
 * process: its pid is not known.
 */
static int loader__add_threads(struct loader *loader)
{
	struct model *model = loader->model;
	_cleanup_free_ uint32_t *order = calloc(model->threads.n, sizeof(*order));
	size_t n = 0;
	int err = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < model->threads.n; i++)
		if (model->threads.data[i].announced)
			order[n++] = i;
	sorting = model;
	qsort(order, n, sizeof(*order), thread__order);
	sorting = NULL;
	for (size_t i = 0; i < n && !err; i++)
		err = loader__add_thread(loader, order[i]);
	return err;
}

/* The life of @pid that @time falls in; the first one for what came before it. 0: none. */
static uint32_t loader__process_at(const struct loader *loader, uint32_t pid, uint64_t time)
{
	const uint64_t *latest = map64__get(&loader->latest_life, pid);
	const struct model_process *processes = loader->model->processes.data;
	uint32_t life = latest ? (uint32_t)*latest : 0;

	while (processes[life].created > time && processes[life].previous)
		life = processes[life].previous;
	return life;
}

static int map_event__order(const void *a, const void *b)
{
	const struct map_event *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->map > y->map) - (x->map < y->map);
}

static int loader__map_events(struct loader *loader, struct map_events *list)
{
	struct model *model = loader->model;

	for (size_t i = 0; i < loader->maps.n; i++) {
		const struct record_map *map = &loader->maps.data[i];
		struct map_event event = {
			.process = loader__process_at(loader, map->pid, map->time),
			.map = (uint32_t)i + 1,
			.time = map->time,
		};

		if (event.process && array__push(&list->events, event))
			return -ENOMEM;
	}
	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];

		for (size_t k = 0; k < thread->execs.n; k++) {
			struct map_event event = {.process = thread->process,
						  .time = thread->execs.data[k].time};

			if (event.process && array__push(&list->events, event))
				return -ENOMEM;
		}
	}
	if (list->events.n)
		qsort(list->events.data, list->events.n, sizeof(*list->events.data),
		      map_event__order);
	return 0;
}

/* The first current mapping that ends behind @address. */
static size_t current__find(const struct current *current, const struct model_process *process,
			    uint64_t address)
{
	size_t low = 0, high = current->maps.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->maps.data[current->maps.data[middle]].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int current__insert(struct current *current, struct model_process *process, size_t at,
			   const struct model_map *map)
{
	if (array__reserve(&current->maps, 1) || array__push(&process->maps, *map))
		return -ENOMEM;
	memmove(current->maps.data + at + 1, current->maps.data + at,
		(current->maps.n - at) * sizeof(*current->maps.data));
	current->maps.data[at] = (uint32_t)process->maps.n - 1;
	current->maps.n++;
	return 0;
}

static void current__remove(struct current *current, size_t at)
{
	current->maps.n--;
	memmove(current->maps.data + at, current->maps.data + at + 1,
		(current->maps.n - at) * sizeof(*current->maps.data));
}

/* Puts @map in force: what it covers of others ends then, what sticks out of them goes on. */
static int current__map(struct current *current, struct model_process *process,
			const struct model_map *map)
{
	size_t at = current__find(current, process, map->start);

	while (at < current->maps.n) {
		uint32_t index = current->maps.data[at];
		struct model_map old = process->maps.data[index];
		struct model_map left = old, right = old;

		if (old.start >= map->end)
			break;
		process->maps.data[index].until = map->from;
		current__remove(current, at);
		left.end = map->start;
		right.start = map->end;
		right.offset += map->end - old.start;
		left.from = right.from = map->from;
		if (old.end > map->end && current__insert(current, process, at, &right))
			return -ENOMEM;
		if (old.start < map->start) {
			if (current__insert(current, process, at, &left))
				return -ENOMEM;
			at++;
		}
	}
	return current__insert(current, process, at, map);
}

/* What the parent had mapped when it forked @process. */
static int process__inherit(const struct model *model, struct model_process *process,
			    struct current *current)
{
	const struct model_process *parent = &model->processes.data[process->parent];

	for (size_t i = 0; process->parent && i < parent->maps.n; i++) {
		struct model_map map = parent->maps.data[i];

		if (map.from > process->created || map.until <= process->created)
			continue;
		map.from = 0;
		map.until = MODEL_FOREVER;
		/* The parent's are in order of start, and those in force do not overlap. */
		if (current__insert(current, process, current->maps.n, &map))
			return -ENOMEM;
	}
	return 0;
}

static int map__order(const void *a, const void *b)
{
	const struct model_map *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static int process__build_maps(struct loader *loader, struct model_process *process,
			       const struct map_event *events, size_t n)
{
	struct current current = {};
	int err = process__inherit(loader->model, process, &current);

	for (size_t i = 0; i < n && !err; i++) {
		const struct record_map *record;
		struct model_map map;

		if (!events[i].map) {
			for (size_t k = 0; k < current.maps.n; k++)
				process->maps.data[current.maps.data[k]].until = events[i].time;
			current.maps.n = 0;
			continue;
		}
		record = &loader->maps.data[events[i].map - 1];
		map = (struct model_map){
			.start = record->start,
			.end = record->start + record->size,
			.offset = record->offset,
			.from = record->time,
			.until = MODEL_FOREVER,
			.dso = record->dso,
		};
		err = current__map(&current, process, &map);
	}
	array__free(&current.maps);
	if (process->maps.n)
		qsort(process->maps.data, process->maps.n, sizeof(*process->maps.data), map__order);
	for (size_t i = 0; i < process->maps.n; i++) {
		struct model_map *map = &process->maps.data[i];

		map->reach = i && map[-1].reach > map->end ? map[-1].reach : map->end;
	}
	return err;
}

int loader__processes(struct loader *loader)
{
	struct model *model = loader->model;
	struct map_events list = {};
	size_t at = 0;
	int err = loader__add_threads(loader);

	err = err ? err : loader__map_events(loader, &list);
	/* Made in the order of creation, so a parent's mappings are there for its children. */
	for (uint32_t i = 1; i < model->processes.n && !err; i++) {
		size_t first = at;

		while (at < list.events.n && list.events.data[at].process == i)
			at++;
		err = process__build_maps(loader, &model->processes.data[i],
					  list.events.data + first, at - first);
	}
	array__free(&list.events);
	return err;
}
