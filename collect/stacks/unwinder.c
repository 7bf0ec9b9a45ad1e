// SPDX-License-Identifier: BSD-2-Clause
#include "collect/stacks/unwinder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/array.h"
#include "base/hash.h"
#include "abi/unwind.h"
#include "collect/stacks/mapping_pool.h"

/* A mapping of a process, which has a reference to its file's table. */
struct process_mapping {
	struct unwind_mapping pool;
	uint64_t time;
	uint64_t base; /* the address of the first byte of the file */
	uint32_t file; /* among the tables' files; 0: none */
	uint32_t origin;
};

struct past_mapping {
	struct process_mapping mapping;
	uint64_t until;
	uint8_t kept; /* publishes until it is forgotten */
};

struct process {
	uint32_t pid;
	bool changed; /* differs from what the kernel side has */
	bool dirty;   /* is in the list: it has changed, or has something to be forgotten */
	bool ended;   /* it is to be forgotten */
	uint8_t kept; /* publishes until it is forgotten, if it has ended */
	uint64_t end; /* when it ended */
	bool has_run; /* the kernel side has it, in the pool at run */
	enum table_user user;
	struct pool_run run;
	ARRAY(struct process_mapping) mappings; /* by start */
	ARRAY(struct past_mapping) past;	/* of its former programs, or replaced */
};

struct unwinder {
	struct unwinder_maps maps;
	struct unwind_tables *tables;
	uint64_t pool_full; /* see unwinder_stats */
	struct mapping_pool pool;
	struct map64 processes; /* pid -> struct process * */
	ARRAY(uint32_t) dirty;	/* pids */
};

int unwinder__new(const struct unwinder_maps *maps, size_t max_bytes, struct privsep *privsep,
		  struct unwinder **out)
{
	struct unwinder *unwinder = calloc(1, sizeof(*unwinder));
	int err;

	if (!unwinder)
		return -ENOMEM;
	unwinder->maps = *maps;
	err = mapping_pool__init(&unwinder->pool, maps->mappings);
	if (!err)
		err = unwind_tables__new(maps->tables, maps->files, max_bytes, privsep,
					 &unwinder->tables);
	if (err) {
		mapping_pool__free(&unwinder->pool);
		free(unwinder);
		return err;
	}
	*out = unwinder;
	return 0;
}

void unwinder__prepare(struct unwinder *unwinder, const struct table_source *file)
{
	if (file->dso)
		unwind_tables__find(unwinder->tables, file, TABLE_RECORDED);
}

void unwinder__wait(struct unwinder *unwinder, uint64_t until)
{
	unwind_tables__wait(unwinder->tables, until);
}

int unwinder__fd(const struct unwinder *unwinder)
{
	return unwind_tables__fd(unwinder->tables);
}

static struct process *find_process(const struct unwinder *unwinder, uint32_t pid)
{
	uint64_t *found = map64__get(&unwinder->processes, pid);

	return found ? (struct process *)(uintptr_t)*found : NULL;
}

static void forget_before(struct unwinder *unwinder, struct process *process, uint64_t time)
{
	size_t kept = 0;

	for (size_t i = 0; i < process->mappings.n; i++)
		if (process->mappings.data[i].time >= time)
			process->mappings.data[kept++] = process->mappings.data[i];
		else
			unwind_tables__release(unwinder->tables, process->mappings.data[i].file,
					       process->user);
	process->mappings.n = kept;
}

static struct process *get_process(struct unwinder *unwinder, uint32_t pid)
{
	struct process *process = find_process(unwinder, pid);
	uint64_t *slot;

	if (process && process->ended) /* its pid was reused */
		forget_before(unwinder, process, UINT64_MAX);
	if (process) {
		process->ended = false;
		return process;
	}
	process = calloc(1, sizeof(*process));
	slot = process ? map64__put(&unwinder->processes, pid, 0) : NULL;
	if (!slot) {
		free(process);
		return NULL;
	}
	process->pid = pid;
	*slot = (uint64_t)(uintptr_t)process;
	return process;
}

static void become_recorded(struct unwinder *unwinder, struct process *process)
{
	if (process->user == TABLE_RECORDED)
		return;
	process->user = TABLE_RECORDED;
	for (size_t i = 0; i < process->mappings.n; i++) {
		uint32_t file = process->mappings.data[i].file;

		unwind_tables__hold(unwinder->tables, file, TABLE_RECORDED);
		unwind_tables__release(unwinder->tables, file, TABLE_WAKER);
		unwind_tables__need(unwinder->tables, file, TABLE_RECORDED);
	}
	for (size_t i = 0; i < process->past.n; i++) {
		uint32_t file = process->past.data[i].mapping.file;

		unwind_tables__hold(unwinder->tables, file, TABLE_RECORDED);
		unwind_tables__release(unwinder->tables, file, TABLE_WAKER);
	}
}

void unwinder__record(struct unwinder *unwinder, uint32_t pid)
{
	struct process *process = find_process(unwinder, pid);

	if (!process) /* one that has ended is not to begin again */
		process = get_process(unwinder, pid);
	if (process)
		become_recorded(unwinder, process);
}

static void mark_dirty(struct unwinder *unwinder, struct process *process)
{
	process->changed = true;
	if (!process->dirty && !array__push(&unwinder->dirty, process->pid))
		process->dirty = true;
}

static void insert(struct unwinder *unwinder, struct process *process,
		   const struct process_mapping *mapping)
{
	size_t at;

	if (mapping->pool.start >= mapping->pool.end || array__reserve(&process->mappings, 1))
		return;
	unwind_tables__hold(unwinder->tables, mapping->file, process->user);
	for (at = process->mappings.n;
	     at && process->mappings.data[at - 1].pool.start > mapping->pool.start; at--)
		process->mappings.data[at] = process->mappings.data[at - 1];
	process->mappings.data[at] = *mapping;
	process->mappings.n++;
}

/* Keeps @mapping, which ends at @until, for a while. */
static void keep_past(struct unwinder *unwinder, struct process *process,
		      const struct process_mapping *mapping, uint64_t until)
{
	struct past_mapping past = {*mapping, until, UNWINDER_KEPT};

	if (mapping->time < until && !array__push(&process->past, past))
		unwind_tables__hold(unwinder->tables, mapping->file, process->user);
}

/* Whether both map the same part of the same at the same address, as mprotect() does. */
static bool are_alike(const struct process_mapping *a, const struct process_mapping *b)
{
	return a->origin == b->origin && a->file == b->file && (!a->file || a->base == b->base);
}

/* Removes the range of @by from the mappings; a mapping that contains it is split. */
static void replace_range(struct unwinder *unwinder, struct process *process,
			  const struct process_mapping *by)
{
	uint64_t start = by->pool.start, end = by->pool.end;
	struct process_mapping tail = {};
	size_t kept = 0;

	for (size_t i = 0; i < process->mappings.n; i++) {
		struct process_mapping head = process->mappings.data[i];

		if (head.pool.start < end && head.pool.end > start) {
			if (!are_alike(&head, by))
				keep_past(unwinder, process, &head, by->time);
			if (head.pool.end > end) {
				tail = head;
				tail.pool.start = end;
			}
			head.pool.end = start;
		}
		if (head.pool.start < head.pool.end)
			process->mappings.data[kept++] = head;
		else
			unwind_tables__release(unwinder->tables, head.file, process->user);
	}
	process->mappings.n = kept;
	insert(unwinder, process, &tail);
}

/* The bias of @mapping of @file: address - virtual address in the file. */
static uint64_t mapping_bias(const struct file_table *file, const struct process_mapping *mapping)
{
	uint64_t from = mapping->pool.start - mapping->base, to = mapping->pool.end - mapping->base;

	for (size_t i = 0; i < file->n_segments; i++) {
		const struct unwind_segment *segment = &file->segments[i];

		if (to > segment->offset && from < segment->offset + segment->size)
			return mapping->base - (uint64_t)segment->bias;
	}
	return mapping->base;
}

/* Sets what @mapping has of its file's table. */
static void set_table(struct process_mapping *mapping, const struct file_table *file)
{
	mapping->pool.table = file->number;
	mapping->pool.n_rows = file->n_rows;
	mapping->pool.bias = mapping_bias(file, mapping);
}

void unwinder__map(struct unwinder *unwinder, const struct unwinder_mapping *mapping)
{
	struct process *process = find_process(unwinder, mapping->pid);
	struct process_mapping added = {
		.pool = {.start = mapping->start, .end = mapping->start + mapping->size},
		.time = mapping->time,
		.base = mapping->start - mapping->offset,
		.origin = mapping->origin,
	};

	if (!process || (process->ended && mapping->time >= process->end))
		process = get_process(unwinder, mapping->pid);
	if (!process || added.pool.end <= added.pool.start)
		return;
	if (mapping->file.dso) {
		added.file = unwind_tables__find(unwinder->tables, &mapping->file, process->user);
		if (!added.file)
			return;
		set_table(&added, unwind_tables__at(unwinder->tables, added.file));
	}
	replace_range(unwinder, process, &added);
	insert(unwinder, process, &added);
	mark_dirty(unwinder, process);
}

bool unwinder__fork(struct unwinder *unwinder, uint32_t parent, uint32_t child)
{
	const struct process *from = find_process(unwinder, parent);
	struct process *to = from ? get_process(unwinder, child) : NULL;

	if (!to || parent == child || !from->mappings.n)
		return false;
	forget_before(unwinder, to, UINT64_MAX);
	if (array__reserve(&to->mappings, from->mappings.n))
		return false;
	if (from->user == TABLE_RECORDED)
		become_recorded(unwinder, to);
	for (size_t i = 0; i < from->mappings.n; i++) {
		to->mappings.data[i] = from->mappings.data[i];
		unwind_tables__hold(unwinder->tables, to->mappings.data[i].file, to->user);
	}
	to->mappings.n = from->mappings.n;
	mark_dirty(unwinder, to);
	return true;
}

static bool overlaps(const struct process *process, const struct unwind_mapping *mapping)
{
	for (size_t i = 0; i < process->mappings.n; i++)
		if (process->mappings.data[i].pool.start < mapping->end &&
		    process->mappings.data[i].pool.end > mapping->start)
			return true;
	return false;
}

bool unwinder__fork_late(struct unwinder *unwinder, uint32_t parent, uint32_t child)
{
	const struct process *from = find_process(unwinder, parent);
	struct process *to = find_process(unwinder, child);

	if (!to)
		return unwinder__fork(unwinder, parent, child);
	if (!from || from == to || !from->mappings.n)
		return false;
	for (size_t i = 0; i < from->mappings.n; i++)
		if (!overlaps(to, &from->mappings.data[i].pool))
			insert(unwinder, to, &from->mappings.data[i]);
	mark_dirty(unwinder, to);
	return true;
}

void unwinder__forget(struct unwinder *unwinder, uint32_t pid, uint64_t time)
{
	struct process *process = find_process(unwinder, pid);

	if (!process)
		return;
	for (size_t i = 0; i < process->mappings.n; i++)
		keep_past(unwinder, process, &process->mappings.data[i], time);
	forget_before(unwinder, process, time);
	mark_dirty(unwinder, process);
}

/* Forgets past mappings of @process that were kept for long enough; @all: all of them. */
static void forget_past(struct unwinder *unwinder, struct process *process, bool all)
{
	size_t left = 0;

	for (size_t i = 0; i < process->past.n; i++) {
		struct past_mapping past = process->past.data[i];

		if (!all && --past.kept)
			process->past.data[left++] = past;
		else
			unwind_tables__release(unwinder->tables, past.mapping.file, process->user);
	}
	process->past.n = left;
}

void unwinder__end(struct unwinder *unwinder, uint32_t pid, uint64_t time)
{
	struct process *process = find_process(unwinder, pid);

	if (!process)
		return;
	process->ended = true;
	process->end = time;
	process->kept = UNWINDER_KEPT;
	mark_dirty(unwinder, process);
}

static const struct process_mapping *find_past(const struct process *process, uint64_t time,
					       uint64_t pc)
{
	for (size_t i = 0; i < process->past.n; i++) {
		const struct past_mapping *past = &process->past.data[i];

		if (past->mapping.time <= time && time < past->until &&
		    pc >= past->mapping.pool.start && pc < past->mapping.pool.end)
			return &past->mapping;
	}
	return NULL;
}

static const struct process_mapping *find_present(const struct process *process, uint64_t pc)
{
	size_t low = 0, high = process->mappings.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct process_mapping *mapping = &process->mappings.data[middle];

		if (pc >= mapping->pool.start && pc < mapping->pool.end)
			return mapping;
		if (pc < mapping->pool.start)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

static const struct process_mapping *find_mapping(const struct process *process, uint64_t time,
						  uint64_t pc)
{
	const struct process_mapping *mapping = process ? find_past(process, time, pc) : NULL;

	return process && !mapping ? find_present(process, pc) : mapping;
}

/* The present mapping that is the last to begin at @address or below. */
static const struct process_mapping *find_below(const struct process *process, uint64_t address)
{
	size_t low = 0, high = process ? process->mappings.n : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->mappings.data[middle].pool.start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &process->mappings.data[low - 1] : NULL;
}

bool unwinder__origin(const struct unwinder *unwinder, uint32_t pid, uint64_t time,
		      uint64_t address, bool is_data, struct unwinder_origin *origin)
{
	const struct process *process = find_process(unwinder, pid);
	const struct process_mapping *mapping =
		is_data ? find_below(process, address) : find_mapping(process, time, address);

	if (!mapping)
		return false;
	*origin = (struct unwinder_origin){mapping->origin, address - mapping->base};
	return true;
}

bool unwinder__find(struct unwinder *unwinder, uint32_t pid, uint64_t time, uint64_t pc,
		    struct unwinder_place *place)
{
	const struct process *process = find_process(unwinder, pid);
	const struct process_mapping *mapping = find_mapping(process, time, pc);

	if (!mapping)
		return false;
	unwind_tables__need(unwinder->tables, mapping->file, process->user);
	place->is_file = mapping->file;
	place->is_pending = unwind_tables__is_pending(unwinder->tables, mapping->file);
	place->bias = mapping->pool.bias;
	place->table = unwind_tables__at(unwinder->tables, mapping->file);
	return true;
}

static void retire(struct unwinder *unwinder, struct process *process)
{
	if (process->has_run)
		mapping_pool__give_back(&unwinder->pool, process->run);
	process->has_run = false;
}

static void free_process(struct process *process)
{
	array__free(&process->mappings);
	array__free(&process->past);
	free(process);
}

static void drop_process(struct unwinder *unwinder, struct process *process)
{
	bpf_map_delete_elem(unwinder->maps.processes, &process->pid);
	retire(unwinder, process);
	forget_before(unwinder, process, UINT64_MAX);
	forget_past(unwinder, process, true);
	map64__remove(&unwinder->processes, process->pid);
	free_process(process);
}

/* Passes the mappings of @process to the kernel side; none if the pool is full. */
static void publish_process(struct unwinder *unwinder, struct process *process)
{
	struct unwind_process run = {.n = (uint32_t)process->mappings.n,
				     .deferred_left = UNWIND_DEFERRED_MAX};
	struct pool_run taken = {};

	process->changed = false;
	if (run.n && !mapping_pool__take(&unwinder->pool, run.n, &taken)) {
		unwinder->pool_full++;
		run.n = run.deferred_left = 0;
	}
	run.first = taken.first;
	for (uint32_t i = 0; i < run.n; i++)
		unwinder->pool.mappings[run.first + i] = process->mappings.data[i].pool;
	bpf_map_update_elem(unwinder->maps.processes, &process->pid, &run, BPF_ANY);
	retire(unwinder, process);
	process->run = taken;
	process->has_run = run.n;
}

uint32_t unwinder__slot(const struct unwinder *unwinder, uint32_t dso)
{
	const struct file_table *file =
		unwind_tables__at(unwinder->tables, unwind_tables__index(unwinder->tables, dso));
	uint32_t slot = file->rows ? UNWIND_SLOT(file->number) : 0;

	return slot < UNWIND_TABLE_PENDING ? slot : 0;
}

bool unwinder__is_mapped(const struct unwinder *unwinder, uint32_t dso)
{
	return unwind_tables__is_mapped(unwinder->tables, dso);
}

bool unwinder__is_pending(const struct unwinder *unwinder, uint32_t dso)
{
	return unwind_tables__is_pending(unwinder->tables,
					 unwind_tables__index(unwinder->tables, dso));
}

void unwinder__close_file(struct unwinder *unwinder, uint32_t dso)
{
	unwind_tables__close(unwinder->tables, dso);
}

void unwinder__forget_file(struct unwinder *unwinder, uint32_t dso)
{
	unwind_tables__forget(unwinder->tables, dso);
}

/* Whether walks of @process may wait for tables that are being built. */
static bool has_pending_tables(const struct unwinder *unwinder, const struct process *process)
{
	for (size_t i = 0; i < process->mappings.n; i++)
		if (unwind_tables__is_pending(unwinder->tables, process->mappings.data[i].file))
			return true;
	for (size_t i = 0; i < process->past.n; i++)
		if (unwind_tables__is_pending(unwinder->tables, process->past.data[i].mapping.file))
			return true;
	return false;
}

/* Drops processes that have exited, and past mappings of others, unless their tables may be needed.
 */
static void release(struct unwinder *unwinder)
{
	for (size_t i = 0; i < unwinder->dirty.n; i++) {
		struct process *process = find_process(unwinder, unwinder->dirty.data[i]);

		if (!process || has_pending_tables(unwinder, process))
			continue;
		if (!process->ended)
			forget_past(unwinder, process, false);
		else if (!process->kept || !--process->kept)
			drop_process(unwinder, process);
	}
}

/* Updates the mappings of @process to tables that were built later. */
static void update_tables(struct unwinder *unwinder, struct process *process)
{
	for (size_t i = 0; i < process->mappings.n; i++) {
		struct process_mapping *mapping = &process->mappings.data[i];
		const struct file_table *file = unwind_tables__at(unwinder->tables, mapping->file);

		if (!mapping->file || mapping->pool.table == file->number)
			continue;
		set_table(mapping, file);
		mark_dirty(unwinder, process);
	}
	for (size_t i = 0; i < process->past.n; i++) {
		struct process_mapping *mapping = &process->past.data[i].mapping;

		if (mapping->file)
			set_table(mapping, unwind_tables__at(unwinder->tables, mapping->file));
	}
}

void unwinder__take_tables(struct unwinder *unwinder)
{
	if (!unwind_tables__update(unwinder->tables))
		return;
	for (size_t i = 0; i < unwinder->processes.capacity; i++) {
		const struct map64_slot *slot = &unwinder->processes.slots[i];

		if (slot->used)
			update_tables(unwinder, (struct process *)(uintptr_t)slot->value);
	}
}

void unwinder__publish_changes(struct unwinder *unwinder)
{
	unwinder__take_tables(unwinder);
	unwind_tables__publish(unwinder->tables);
	for (size_t i = 0; i < unwinder->dirty.n; i++) {
		struct process *process = find_process(unwinder, unwinder->dirty.data[i]);

		if (process && process->changed && !process->ended)
			publish_process(unwinder, process);
	}
}

void unwinder__publish(struct unwinder *unwinder)
{
	size_t kept = 0;

	mapping_pool__recycle(&unwinder->pool);
	release(unwinder);
	unwind_tables__drop_idle(unwinder->tables);
	unwinder__publish_changes(unwinder);
	for (size_t i = 0; i < unwinder->dirty.n; i++) {
		struct process *process = find_process(unwinder, unwinder->dirty.data[i]);

		if (!process)
			continue;
		process->dirty = process->ended || process->past.n; /* to be forgotten */
		if (process->dirty)
			unwinder->dirty.data[kept++] = process->pid;
	}
	unwinder->dirty.n = kept;
}

void unwinder__stats(const struct unwinder *unwinder, struct unwinder_stats *stats)
{
	unwind_tables__stats(unwinder->tables, &stats->tables);
	stats->pool_full = unwinder->pool_full;
}

void unwinder__free(struct unwinder *unwinder)
{
	for (size_t i = 0; i < unwinder->processes.capacity; i++) {
		const struct map64_slot *slot = &unwinder->processes.slots[i];

		if (slot->used)
			free_process((struct process *)(uintptr_t)slot->value);
	}
	mapping_pool__free(&unwinder->pool);
	unwind_tables__free(unwinder->tables);
	array__free(&unwinder->dirty);
	map64__free(&unwinder->processes);
	free(unwinder);
}
