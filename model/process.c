// SPDX-License-Identifier: BSD-2-Clause
/*
 * Assigns threads to processes, of which several may have had the same pid, and finds out which
 * mappings each process had at which time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/loader.h"

/* A change of what a process has mapped. */
struct map_event {
	uint32_t process;
	uint32_t map; /* 1 + index in loader->maps; 0: exec, which removes all mappings */
	uint64_t time;
};

struct map_events {
	ARRAY(struct map_event) events;
};

/* The existing mappings: indices in the process's maps, by start, disjoint. */
struct current {
	ARRAY(uint32_t) maps;
};

/* For compare_threads(): by creation, so that leaders come before their threads. */
static const struct model *sorting;

static int compare_threads(const void *a, const void *b)
{
	const struct model_thread *x = &sorting->threads.data[*(const uint32_t *)a];
	const struct model_thread *y = &sorting->threads.data[*(const uint32_t *)b];

	if (x->created != y->created)
		return x->created < y->created ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* Whether @thread begins a new process with the pid of @process. */
static bool starts_new_process(const struct model_thread *thread,
			       const struct model_process *process)
{
	if ((thread->flags & THREAD_CREATED) && thread->tid == thread->tgid && !thread->execs.n)
		return true;
	return process->ended <= thread->created;
}

static int add_thread(struct model_loader *loader, uint32_t index)
{
	struct model *model = loader->model;
	struct model_thread *thread = &model->threads.data[index];
	uint64_t *last = map64__put(&loader->latest_process, thread->tgid, 0);
	uint64_t ended = thread->exited ? thread->ended : MODEL_FOREVER;
	struct model_process *process;

	if (!last)
		return -ENOMEM;
	process = &model->processes.data[*last];
	if (!*last || starts_new_process(thread, process)) {
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
 * Assigns all threads to processes. A thread that was never announced has none: its pid is
 * unknown.
 */
static int add_threads(struct model_loader *loader)
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
	qsort(order, n, sizeof(*order), compare_threads);
	sorting = NULL;
	for (size_t i = 0; i < n && !err; i++)
		err = add_thread(loader, order[i]);
	return err;
}

/* The process that had @pid at @time, or the first that had it later; 0: none. */
static uint32_t process_at(const struct model_loader *loader, uint32_t pid, uint64_t time)
{
	const uint64_t *latest = map64__get(&loader->latest_process, pid);
	const struct model_process *processes = loader->model->processes.data;
	uint32_t life = latest ? (uint32_t)*latest : 0;

	while (processes[life].created > time && processes[life].previous)
		life = processes[life].previous;
	return life;
}

static int compare_map_events(const void *a, const void *b)
{
	const struct map_event *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->map > y->map) - (x->map < y->map);
}

static int collect_map_events(struct model_loader *loader, struct map_events *list)
{
	struct model *model = loader->model;

	for (size_t i = 0; i < loader->maps.n; i++) {
		const struct record_map *map = &loader->maps.data[i];
		struct map_event event = {
			.process = process_at(loader, map->pid, map->time),
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
		      compare_map_events);
	return 0;
}

/* The position of the first existing mapping that ends after @address. */
static size_t current_find(const struct current *current, const struct model_process *process,
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

static int current_insert(struct current *current, struct model_process *process, size_t at,
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

static void current_remove(struct current *current, size_t at)
{
	current->maps.n--;
	memmove(current->maps.data + at, current->maps.data + at + 1,
		(current->maps.n - at) * sizeof(*current->maps.data));
}

/*
 * Adds @map. Mappings that it overlaps end at its time; the parts of them outside of it go on as
 * new entries. The collector's unwinder cuts mappings, too (unmap_range()), but keeps no past.
 */
static int current_map(struct current *current, struct model_process *process,
		       const struct model_map *map)
{
	size_t at = current_find(current, process, map->start);

	while (at < current->maps.n) {
		uint32_t index = current->maps.data[at];
		struct model_map old = process->maps.data[index];
		struct model_map left = old, right = old;

		if (old.start >= map->end)
			break;
		process->maps.data[index].until = map->from;
		current_remove(current, at);
		left.end = map->start;
		right.start = map->end;
		right.offset += map->end - old.start;
		left.from = right.from = map->from;
		if (old.end > map->end && current_insert(current, process, at, &right))
			return -ENOMEM;
		if (old.start < map->start) {
			if (current_insert(current, process, at, &left))
				return -ENOMEM;
			at++;
		}
	}
	return current_insert(current, process, at, map);
}

/* Adds the mappings that the parent had when it forked @process. */
static int inherit_maps(const struct model *model, struct model_process *process,
			struct current *current)
{
	const struct model_process *parent = &model->processes.data[process->parent];

	for (size_t i = 0; process->parent && i < parent->maps.n; i++) {
		struct model_map map = parent->maps.data[i];

		if (map.from > process->created || map.until <= process->created)
			continue;
		map.from = 0;
		map.until = MODEL_FOREVER;
		/* The parent's mappings are sorted by start, and those that existed at once are
		 * disjoint. */
		if (current_insert(current, process, current->maps.n, &map))
			return -ENOMEM;
	}
	return 0;
}

static int compare_maps(const void *a, const void *b)
{
	const struct model_map *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static int build_maps(struct model_loader *loader, struct model_process *process,
		      const struct map_event *events, size_t n)
{
	struct current current = {};
	int err = inherit_maps(loader->model, process, &current);

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
		err = current_map(&current, process, &map);
	}
	array__free(&current.maps);
	if (process->maps.n)
		qsort(process->maps.data, process->maps.n, sizeof(*process->maps.data),
		      compare_maps);
	for (size_t i = 0; i < process->maps.n; i++) {
		struct model_map *map = &process->maps.data[i];

		map->reach = i && map[-1].reach > map->end ? map[-1].reach : map->end;
	}
	return err;
}

int model_loader__processes(struct model_loader *loader)
{
	struct model *model = loader->model;
	struct map_events list = {};
	size_t at = 0;
	int err = add_threads(loader);

	err = err ? err : collect_map_events(loader, &list);
	/* In order of creation: parents come before their children. */
	for (uint32_t i = 1; i < model->processes.n && !err; i++) {
		size_t first = at;

		while (at < list.events.n && list.events.data[at].process == i)
			at++;
		/* Without events of its own it has its parent's. */
		err = build_maps(loader, &model->processes.data[i],
				 at > first ? list.events.data + first : NULL, at - first);
	}
	array__free(&list.events);
	return err;
}
