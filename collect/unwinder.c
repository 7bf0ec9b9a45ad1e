// SPDX-License-Identifier: BSD-2-Clause
#include "collect/unwinder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "bpf/unwind.h"
#include "symbols/unwind_table.h"

/* Free runs of the pool are kept by size, a power of two. */
#define SIZE_CLASSES 18

/* Layouts shared with bpf/unwind.bpf.h. */
struct pool_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t bias;
	uint32_t table;
	uint32_t n_rows;
};

struct pool_run {
	uint32_t first;
	uint32_t n;
};

struct file_table {
	uint32_t table; /* index in the kernel side's array; UNWIND_TABLE_MISSING: there is none */
	uint32_t n_rows;
	int fd;
	struct unwind_segment *segments;
	size_t n_segments;
	struct unwind_file_key key;
};

struct held_mapping {
	struct pool_mapping pool;
	uint64_t time;
};

struct process {
	uint32_t pid;
	bool dirty; /* differs from what the kernel side has */
	bool known; /* the kernel side has it */
	struct pool_run run;
	unsigned int class;		     /* of the run */
	ARRAY(struct held_mapping) mappings; /* by start */
};

struct unwinder {
	struct unwinder_maps maps;
	size_t max_bytes;
	struct unwinder_stats stats;
	struct pool_mapping *pool;
	uint32_t pool_used;
	ARRAY(uint32_t) free_runs[SIZE_CLASSES];
	ARRAY(struct pool_run) retired; /* n is the size class: free at the next but one publish */
	size_t retired_before;
	struct map64 files;	/* dso -> index in tables */
	struct map64 processes; /* pid -> struct process * */
	ARRAY(struct file_table) tables;
	ARRAY(uint32_t) dirty; /* pids */
	/* Tables the kernel side does not have yet, and their descriptors. */
	ARRAY(uint32_t) new_tables;
	ARRAY(int) new_fds;
};

static size_t pool_bytes(void)
{
	return UNWIND_MAX_MAPPINGS * sizeof(struct pool_mapping);
}

int unwinder__new(const struct unwinder_maps *maps, size_t max_bytes, struct unwinder **out)
{
	struct unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		return -ENOMEM;
	unwinder->maps = *maps;
	unwinder->max_bytes = max_bytes;
	unwinder->pool =
		mmap(NULL, pool_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, maps->mappings, 0);
	if (unwinder->pool == MAP_FAILED) {
		free(unwinder);
		return -errno;
	}
	*out = unwinder;
	return 0;
}

/* Puts @table into a map of its own, to become the kernel side's @index. */
static int upload(struct unwinder *unwinder, const struct unwind_table *table, uint32_t index)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	size_t size = table->n_rows * sizeof(*table->rows);
	_cleanup_close_ int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "dwell_unwind", sizeof(uint32_t),
			       sizeof(*table->rows), (uint32_t)table->n_rows, &options);
	void *rows;

	if (fd < 0)
		return -errno;
	rows = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rows == MAP_FAILED)
		return -errno;
	memcpy(rows, table->rows, size);
	munmap(rows, size);
	if (array__reserve(&unwinder->new_tables, 1) || array__reserve(&unwinder->new_fds, 1))
		return -ENOMEM;
	unwinder->new_tables.data[unwinder->new_tables.n++] = index;
	unwinder->new_fds.data[unwinder->new_fds.n++] = fd;
	return TAKE_FD(fd);
}

/*
 * Lets the kernel side find the table by the file itself. Not when the file's code
 * lies in segments of different bias: then only a whole mapping tells which.
 */
static void register_file(const struct unwinder *unwinder, const struct file_table *file)
{
	struct unwind_file value = {.table = file->table, .n_rows = file->n_rows};

	if (!file->key.inode || !file->n_segments)
		return;
	value.bias = file->segments[0].bias;
	for (size_t i = 1; i < file->n_segments; i++)
		if (file->segments[i].bias != value.bias)
			return;
	bpf_map_update_elem(unwinder->maps.files, &file->key, &value, BPF_ANY);
}

/*
 * Hands the new tables over, together: after each update of a map of maps the
 * kernel waits until no program uses the old one, some 10 ms.
 */
static void hand_over_tables(struct unwinder *unwinder)
{
	uint32_t n = (uint32_t)unwinder->new_tables.n;

	if (n && bpf_map_update_batch(unwinder->maps.tables, unwinder->new_tables.data,
				      unwinder->new_fds.data, &n, NULL))
		for (size_t i = 0; i < unwinder->new_tables.n; i++)
			bpf_map_update_elem(unwinder->maps.tables, &unwinder->new_tables.data[i],
					    &unwinder->new_fds.data[i], BPF_ANY);
	for (size_t i = 0; i < unwinder->new_tables.n; i++)
		register_file(unwinder, &unwinder->tables.data[unwinder->new_tables.data[i]]);
	unwinder->new_tables.n = unwinder->new_fds.n = 0;
}

static int read_table(uint32_t dso, int fd, struct unwind_table **table)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (dso != UNWINDER_VDSO)
		return fd < 0 ? -ENOENT : unwind_table__build(fd, table);
	/* The image is one or two pages more; sections tell where it ends. */
	return vdso ? unwind_table__build_memory(vdso, 2UL * (size_t)sysconf(_SC_PAGESIZE), table)
		    : -ENOENT;
}

/* How the kernel side recognizes the file open at @fd; inode 0: it does not. */
static struct unwind_file_key file_key(int fd)
{
	struct unwind_file_key key = {};
	struct stat stats;

	if (fd < 0 || fstat(fd, &stats))
		return key;
	key.inode = stats.st_ino;
	key.size = (uint64_t)stats.st_size;
	key.device = (uint64_t)major(stats.st_dev) << 20 | minor(stats.st_dev);
	return key;
}

/* Builds the table of a file seen for the first time; what fails has UNWIND_TABLE_MISSING. */
static void build_table(struct unwinder *unwinder, uint32_t dso, int fd, struct file_table *file)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;
	uint32_t index = (uint32_t)unwinder->tables.n;
	uint64_t begin = now_ns(CLOCK_MONOTONIC);

	*file = (struct file_table){.table = UNWIND_TABLE_MISSING, .fd = -1};
	if (index >= UNWIND_TABLE_MISSING || read_table(dso, fd, &table))
		return;
	file->segments = TAKE_PTR(table->segments);
	file->n_segments = table->n_segments;
	table->n_segments = 0;
	if ((unwinder->stats.rows + table->n_rows) * sizeof(*table->rows) > unwinder->max_bytes) {
		unwinder->stats.refused++;
		return;
	}
	if (table->n_rows)
		file->fd = upload(unwinder, table, index);
	if (file->fd >= 0) {
		file->table = index;
		file->n_rows = (uint32_t)table->n_rows;
		file->key = file_key(fd);
		unwinder->stats.tables++;
		unwinder->stats.rows += table->n_rows;
	}
	unwinder->stats.build_ns += now_ns(CLOCK_MONOTONIC) - begin;
}

static const struct file_table *file_table(struct unwinder *unwinder, uint32_t dso, int fd)
{
	uint64_t *known = map64__get(&unwinder->files, dso);
	struct file_table file;

	if (known)
		return &unwinder->tables.data[*known];
	if (!unwinder->tables.n && array__push(&unwinder->tables, (struct file_table){.fd = -1}))
		return NULL; /* [0] stands for code of no file */
	build_table(unwinder, dso, fd, &file);
	if (array__push(&unwinder->tables, file) ||
	    !map64__put(&unwinder->files, dso, unwinder->tables.n - 1))
		return NULL;
	return &unwinder->tables.data[unwinder->tables.n - 1];
}

void unwinder__prepare(struct unwinder *unwinder, uint32_t dso, int fd)
{
	if (dso)
		file_table(unwinder, dso, fd);
}

static struct process *find_process(struct unwinder *unwinder, uint32_t pid)
{
	uint64_t *found = map64__get(&unwinder->processes, pid);

	return found ? (struct process *)(uintptr_t)*found : NULL;
}

static struct process *get_process(struct unwinder *unwinder, uint32_t pid)
{
	struct process *process = find_process(unwinder, pid);
	uint64_t *slot;

	if (process)
		return process;
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

static void mark_dirty(struct unwinder *unwinder, struct process *process)
{
	if (!process->dirty && !array__push(&unwinder->dirty, process->pid))
		process->dirty = true;
}

static void insert(struct process *process, const struct held_mapping *mapping)
{
	size_t at;

	if (mapping->pool.start >= mapping->pool.end || array__reserve(&process->mappings, 1))
		return;
	for (at = process->mappings.n;
	     at && process->mappings.data[at - 1].pool.start > mapping->pool.start; at--)
		process->mappings.data[at] = process->mappings.data[at - 1];
	process->mappings.data[at] = *mapping;
	process->mappings.n++;
}

/* Takes [@start, @end) out of the mappings; what it lay in the middle of becomes two. */
static void unmap_range(struct process *process, uint64_t start, uint64_t end)
{
	struct held_mapping tail = {};
	size_t kept = 0;

	for (size_t i = 0; i < process->mappings.n; i++) {
		struct held_mapping head = process->mappings.data[i];

		if (head.pool.start < end && head.pool.end > start) {
			if (head.pool.end > end) {
				tail = head;
				tail.pool.start = end;
			}
			head.pool.end = start;
		}
		if (head.pool.start < head.pool.end)
			process->mappings.data[kept++] = head;
	}
	process->mappings.n = kept;
	insert(process, &tail);
}

/* What is added to a virtual address of @file's to get the address mapped as @mapping says. */
static uint64_t mapping_bias(const struct file_table *file, const struct unwinder_mapping *mapping)
{
	uint64_t bias = mapping->start - mapping->offset;

	for (size_t i = 0; i < file->n_segments; i++) {
		const struct unwind_segment *segment = &file->segments[i];

		if (mapping->offset + mapping->size > segment->offset &&
		    mapping->offset < segment->offset + segment->size)
			return bias - (uint64_t)segment->bias;
	}
	return bias;
}

void unwinder__map(struct unwinder *unwinder, const struct unwinder_mapping *mapping)
{
	struct process *process = get_process(unwinder, mapping->pid);
	struct held_mapping held = {
		.pool = {.start = mapping->start, .end = mapping->start + mapping->size},
		.time = mapping->time,
	};
	const struct file_table *file;

	if (!process || held.pool.end <= held.pool.start)
		return;
	if (mapping->dso) {
		file = file_table(unwinder, mapping->dso, mapping->fd);
		if (!file)
			return;
		held.pool.table = file->table;
		held.pool.n_rows = file->n_rows;
		held.pool.bias = mapping_bias(file, mapping);
	}
	unmap_range(process, held.pool.start, held.pool.end);
	insert(process, &held);
	mark_dirty(unwinder, process);
}

void unwinder__fork(struct unwinder *unwinder, uint32_t parent, uint32_t child)
{
	const struct process *from = find_process(unwinder, parent);
	struct process *to = from ? get_process(unwinder, child) : NULL;

	if (!to || parent == child)
		return;
	to->mappings.n = 0;
	if (array__reserve(&to->mappings, from->mappings.n))
		return;
	if (from->mappings.n)
		memcpy(to->mappings.data, from->mappings.data,
		       from->mappings.n * sizeof(*from->mappings.data));
	to->mappings.n = from->mappings.n;
	mark_dirty(unwinder, to);
}

void unwinder__forget(struct unwinder *unwinder, uint32_t pid, uint64_t time)
{
	struct process *process = find_process(unwinder, pid);
	size_t kept = 0;

	if (!process)
		return;
	for (size_t i = 0; i < process->mappings.n; i++)
		if (process->mappings.data[i].time >= time)
			process->mappings.data[kept++] = process->mappings.data[i];
	process->mappings.n = kept;
	mark_dirty(unwinder, process);
}

static unsigned int class_of(size_t n)
{
	unsigned int class = 0;

	while ((1UL << class) < n)
		class ++;
	return class;
}

/* A free run of 2^@class mappings, or false when the pool is used up. */
static bool allocate_run(struct unwinder *unwinder, unsigned int class, uint32_t *first)
{
	uint32_t size = 1U << class;

	if (unwinder->free_runs[class].n) {
		*first = unwinder->free_runs[class].data[--unwinder->free_runs[class].n];
		return true;
	}
	if (size > UNWIND_MAX_MAPPINGS - unwinder->pool_used)
		return false;
	*first = unwinder->pool_used;
	unwinder->pool_used += size;
	return true;
}

/*
 * A walk that began before, and a process forked before, may still use a run
 * that was replaced: it is free again two rounds later.
 */
static void recycle(struct unwinder *unwinder)
{
	size_t old = unwinder->retired_before;

	for (size_t i = 0; i < old; i++)
		if (array__push(&unwinder->free_runs[unwinder->retired.data[i].n],
				unwinder->retired.data[i].first))
			break; /* lost to the pool, no more */
	memmove(unwinder->retired.data, unwinder->retired.data + old,
		(unwinder->retired.n - old) * sizeof(*unwinder->retired.data));
	unwinder->retired.n -= old;
	unwinder->retired_before = unwinder->retired.n;
}

static void retire(struct unwinder *unwinder, struct process *process)
{
	struct pool_run run = {process->run.first, process->class};

	if (process->run.n)
		(void)array__push(&unwinder->retired, run);
	process->run.n = 0;
}

static void publish_process(struct unwinder *unwinder, struct process *process)
{
	unsigned int class = class_of(process->mappings.n);
	struct pool_run run = {.n = (uint32_t)process->mappings.n};

	process->dirty = false;
	if (!run.n || class >= SIZE_CLASSES || !allocate_run(unwinder, class, &run.first)) {
		unwinder->stats.no_space += run.n != 0;
		bpf_map_delete_elem(unwinder->maps.processes, &process->pid);
		retire(unwinder, process);
		return;
	}
	for (uint32_t i = 0; i < run.n; i++)
		unwinder->pool[run.first + i] = process->mappings.data[i].pool;
	bpf_map_update_elem(unwinder->maps.processes, &process->pid, &run, BPF_ANY);
	retire(unwinder, process);
	process->run = run;
	process->class = class;
}

void unwinder__publish(struct unwinder *unwinder)
{
	recycle(unwinder);
	hand_over_tables(unwinder);
	for (size_t i = 0; i < unwinder->dirty.n; i++) {
		struct process *process = find_process(unwinder, unwinder->dirty.data[i]);

		if (process)
			publish_process(unwinder, process);
	}
	unwinder->dirty.n = 0;
}

void unwinder__stats(const struct unwinder *unwinder, struct unwinder_stats *stats)
{
	*stats = unwinder->stats;
}

void unwinder__free(struct unwinder *unwinder)
{
	for (size_t i = 0; i < unwinder->tables.n; i++) {
		if (unwinder->tables.data[i].fd >= 0)
			close(unwinder->tables.data[i].fd);
		free(unwinder->tables.data[i].segments);
	}
	for (size_t i = 0; i < unwinder->processes.capacity; i++) {
		struct process *process;

		if (!unwinder->processes.slots[i].used)
			continue;
		process = (struct process *)(uintptr_t)unwinder->processes.slots[i].value;
		array__free(&process->mappings);
		free(process);
	}
	for (size_t i = 0; i < SIZE_CLASSES; i++)
		array__free(&unwinder->free_runs[i]);
	munmap(unwinder->pool, pool_bytes());
	array__free(&unwinder->new_tables);
	array__free(&unwinder->new_fds);
	array__free(&unwinder->retired);
	array__free(&unwinder->dirty);
	array__free(&unwinder->tables);
	map64__free(&unwinder->files);
	map64__free(&unwinder->processes);
	free(unwinder);
}
