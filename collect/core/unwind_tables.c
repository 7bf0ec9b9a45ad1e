// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/unwind_tables.h"

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
#include "abi/unwind.h"

#define IDLE_NS	 60000000000ULL /* a table that no process maps for so long is dropped */
#define SWEEP_NS 10000000000ULL

struct file {
	struct file_table table;
	struct unwind_file_key key;
	uint32_t dso;
	uint32_t mappings;
	int fd;
	bool built;
	bool hopeless;	       /* it has nothing to build a table from */
	bool waiting;	       /* there was no room the last time */
	bool refused;	       /* and at least once still had none at a publish */
	uint64_t unused_since; /* when mappings is 0 */
	size_t bytes;	       /* of its table; 0: not known yet */
};

struct unwind_tables {
	int tables_fd;
	int files_fd;
	int nothing; /* a table without rows, for slots that are free */
	size_t max_bytes;
	uint32_t n_waiting;
	bool released; /* something, since the last retry */
	uint64_t swept_at;
	struct unwind_tables_stats stats;
	struct map64 by_dso;	  /* DSO number -> index in files */
	ARRAY(struct file) files; /* [0]: code of no file */
	/* To be published: slots, the rows there (-1: none), and their file. */
	ARRAY(uint32_t) changed;
	ARRAY(int) changed_fds;
	ARRAY(uint32_t) changed_files;
	/* Free slots, the one that has been free for longest first. */
	uint32_t free[UNWIND_MAX_TABLES];
	uint32_t first_free;
	uint32_t n_free;
	uint32_t given[UNWIND_MAX_TABLES]; /* how often each slot was given away */
};

/* An array of @n rows that the kernel side can search, and user space fill. */
static int create_rows(size_t n)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "dwell_unwind", sizeof(uint32_t),
				sizeof(struct unwind_row), (uint32_t)n, &options);

	return fd < 0 ? -errno : fd;
}

int unwind_tables__new(int tables_fd, int files_fd, size_t max_bytes, struct unwind_tables **out)
{
	struct unwind_tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return -ENOMEM;
	tables->tables_fd = tables_fd;
	tables->files_fd = files_fd;
	tables->max_bytes = max_bytes;
	tables->nothing = -1;
	for (uint32_t slot = 1; slot < UNWIND_TABLE_NOT_YET; slot++)
		tables->free[tables->n_free++] = slot;
	if (array__push(&tables->files, (struct file){})) {
		free(tables);
		return -ENOMEM;
	}
	*out = tables;
	return 0;
}

static int read_table(uint32_t dso, int fd, struct unwind_table **table)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (dso != UNWIND_TABLES_VDSO)
		return fd < 0 ? -ENOENT : unwind_table__build(fd, table);
	/* The image is one or two pages long; its sections say where it ends. */
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

/* @slot is to hold the rows at @fd, of file @index; @fd is closed when that is done. */
static int change_slot(struct unwind_tables *tables, uint32_t slot, int fd, uint32_t index)
{
	if (array__reserve(&tables->changed, 1) || array__reserve(&tables->changed_fds, 1) ||
	    array__reserve(&tables->changed_files, 1))
		return -ENOMEM;
	tables->changed.data[tables->changed.n++] = slot;
	tables->changed_fds.data[tables->changed_fds.n++] = fd;
	tables->changed_files.data[tables->changed_files.n++] = index;
	return 0;
}

/* Returns 0, or -ENOMEM and nothing has changed. */
static int drop(struct unwind_tables *tables, struct file *file)
{
	uint32_t slot = UNWIND_SLOT(file->table.number);
	int err = change_slot(tables, slot, -1, 0);

	if (err)
		return err;
	if (file->key.inode)
		bpf_map_delete_elem(tables->files_fd, &file->key);
	tables->free[(tables->first_free + tables->n_free++) % UNWIND_MAX_TABLES] = slot;
	tables->stats.bytes -= file->bytes;
	tables->stats.dropped++;
	file->table.number = UNWIND_TABLE_MISSING;
	file->table.n_rows = 0;
	munmap((void *)file->table.rows, file->bytes);
	file->table.rows = NULL;
	file->built = false;
	return 0;
}

/* Drops what is not mapped, the longest unused first, until there is room for @bytes more. */
static bool make_room(struct unwind_tables *tables, size_t bytes)
{
	if (bytes > tables->max_bytes)
		return false;
	while (!tables->n_free || tables->stats.bytes + bytes > tables->max_bytes) {
		struct file *oldest = NULL;

		for (size_t i = 1; i < tables->files.n; i++) {
			struct file *file = &tables->files.data[i];

			if (file->built && !file->mappings &&
			    (!oldest || file->unused_since < oldest->unused_since))
				oldest = file;
		}
		if (!oldest || drop(tables, oldest))
			return false;
	}
	return true;
}

/* Puts @table into a map of its own, to become the kernel side's. */
static int upload(struct unwind_tables *tables, const struct unwind_table *table, struct file *file)
{
	size_t size = table->n_rows * sizeof(*table->rows);
	_cleanup_close_ int fd = create_rows(table->n_rows);
	uint32_t slot = tables->free[tables->first_free];
	void *rows;
	int err;

	if (fd < 0)
		return fd;
	rows = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rows == MAP_FAILED)
		return -errno;
	memcpy(rows, table->rows, size);
	err = change_slot(tables, slot, fd, (uint32_t)(file - tables->files.data));
	if (err) {
		munmap(rows, size);
		return err;
	}
	TAKE_FD(fd);
	tables->first_free = (tables->first_free + 1) % UNWIND_MAX_TABLES;
	tables->n_free--;
	file->table.number = tables->given[slot]++ * UNWIND_MAX_TABLES + slot;
	file->table.n_rows = (uint32_t)table->n_rows;
	file->table.rows = rows;
	return 0;
}

static void account_built(struct unwind_tables *tables, struct file *file)
{
	struct unwind_tables_stats *stats = &tables->stats;

	file->built = true;
	file->unused_since = now_ns(CLOCK_MONOTONIC);
	stats->built++;
	stats->bytes += file->bytes;
	if (stats->max_bytes < stats->bytes)
		stats->max_bytes = stats->bytes;
}

static int build_in_room(struct unwind_tables *tables, struct file *file)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;

	if (file->bytes && !make_room(tables, file->bytes))
		return -ENOSPC;
	file->hopeless = read_table(file->dso, file->fd, &table) || !table->n_rows;
	if (file->hopeless)
		return 0;
	free(file->table.segments);
	file->table.segments = TAKE_PTR(table->segments);
	file->table.n_segments = table->n_segments;
	table->n_segments = 0;
	file->bytes = table->n_rows * sizeof(*table->rows);
	if (!make_room(tables, file->bytes) || upload(tables, table, file))
		return -ENOSPC;
	file->key = file_key(file->fd);
	account_built(tables, file);
	return 0;
}

/* Builds the table of @file, if there is room for it. */
static void build(struct unwind_tables *tables, struct file *file)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC);

	bool waiting = build_in_room(tables, file);

	tables->n_waiting += (uint32_t)waiting - (uint32_t)file->waiting;
	file->waiting = waiting;
	tables->stats.build_ns += now_ns(CLOCK_MONOTONIC) - begin;
}

static struct file *add_file(struct unwind_tables *tables, uint32_t dso)
{
	struct file *file = array__add(&tables->files);

	if (!file)
		return NULL;
	if (!map64__put(&tables->by_dso, dso, tables->files.n - 1)) {
		tables->files.n--;
		return NULL;
	}
	file->dso = dso;
	file->table.number = UNWIND_TABLE_MISSING;
	return file;
}

uint32_t unwind_tables__find(struct unwind_tables *tables, uint32_t dso, int fd)
{
	const uint64_t *known = map64__get(&tables->by_dso, dso);
	struct file *file = known ? &tables->files.data[*known] : add_file(tables, dso);

	if (!file)
		return 0;
	file->fd = fd;
	if (!file->built && !file->hopeless)
		build(tables, file);
	return (uint32_t)(file - tables->files.data);
}

bool unwind_tables__retry(struct unwind_tables *tables)
{
	uint64_t built = tables->stats.built;

	if (!tables->n_waiting || !tables->released)
		return false;
	tables->released = false;
	for (size_t i = 1; i < tables->files.n; i++)
		if (tables->files.data[i].waiting && tables->files.data[i].mappings)
			build(tables, &tables->files.data[i]);
	return tables->stats.built > built;
}

uint32_t unwind_tables__index(const struct unwind_tables *tables, uint32_t dso)
{
	const uint64_t *known = map64__get(&tables->by_dso, dso);

	return known ? (uint32_t)*known : 0;
}

const struct file_table *unwind_tables__at(const struct unwind_tables *tables, uint32_t index)
{
	return &tables->files.data[index].table;
}

void unwind_tables__hold(struct unwind_tables *tables, uint32_t index)
{
	tables->files.data[index].mappings++;
}

void unwind_tables__release(struct unwind_tables *tables, uint32_t index)
{
	struct file *file = &tables->files.data[index];

	if (--file->mappings)
		return;
	file->unused_since = now_ns(CLOCK_MONOTONIC);
	tables->released = true;
}

void unwind_tables__drop_idle(struct unwind_tables *tables)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC);

	if (now - tables->swept_at < SWEEP_NS)
		return;
	tables->swept_at = now;
	for (size_t i = 1; i < tables->files.n; i++) {
		struct file *file = &tables->files.data[i];

		if (file->built && !file->mappings && now - file->unused_since > IDLE_NS)
			drop(tables, file);
	}
}

/*
 * Lets the kernel side find the table by the file itself. Not when the file's code
 * lies in segments of different bias: then only a whole mapping tells which.
 */
static void register_file(const struct unwind_tables *tables, const struct file *file)
{
	struct unwind_file value = {.table = file->table.number, .n_rows = file->table.n_rows};

	if (!file->built || !file->key.inode || !file->table.n_segments)
		return;
	value.bias = file->table.segments[0].bias;
	for (size_t i = 1; i < file->table.n_segments; i++)
		if (file->table.segments[i].bias != value.bias)
			return;
	bpf_map_update_elem(tables->files_fd, &file->key, &value, BPF_ANY);
}

/* Gives the slots that are to hold nothing a table of one row that says nothing. */
static void fill_in_nothing(struct unwind_tables *tables)
{
	for (size_t i = 0; i < tables->changed.n; i++) {
		if (tables->changed_fds.data[i] >= 0)
			continue;
		if (tables->nothing < 0)
			tables->nothing = create_rows(1);
		tables->changed_fds.data[i] = tables->nothing;
	}
}

static void count_refused(struct unwind_tables *tables)
{
	for (size_t i = 1; tables->n_waiting && i < tables->files.n; i++) {
		struct file *file = &tables->files.data[i];

		if (!file->waiting || !file->mappings || file->refused)
			continue;
		file->refused = true;
		tables->stats.refused++;
	}
}

/*
 * All together: after each update of a map of maps the kernel waits until no
 * program uses the old one, some 10 ms.
 */
void unwind_tables__publish(struct unwind_tables *tables)
{
	uint32_t n = (uint32_t)tables->changed.n;

	count_refused(tables);
	fill_in_nothing(tables);
	if (n && bpf_map_update_batch(tables->tables_fd, tables->changed.data,
				      tables->changed_fds.data, &n, NULL))
		for (size_t i = 0; i < tables->changed.n; i++)
			bpf_map_update_elem(tables->tables_fd, &tables->changed.data[i],
					    &tables->changed_fds.data[i], BPF_ANY);
	for (size_t i = 0; i < tables->changed.n; i++) {
		if (tables->changed_fds.data[i] != tables->nothing)
			close(tables->changed_fds.data[i]);
		if (tables->changed_files.data[i])
			register_file(tables, &tables->files.data[tables->changed_files.data[i]]);
	}
	tables->changed.n = tables->changed_fds.n = tables->changed_files.n = 0;
}

void unwind_tables__stats(const struct unwind_tables *tables, struct unwind_tables_stats *stats)
{
	*stats = tables->stats;
}

void unwind_tables__free(struct unwind_tables *tables)
{
	for (size_t i = 0; i < tables->changed_fds.n; i++)
		if (tables->changed_fds.data[i] >= 0)
			close(tables->changed_fds.data[i]);
	for (size_t i = 0; i < tables->files.n; i++) {
		struct file *file = &tables->files.data[i];

		if (file->built)
			munmap((void *)file->table.rows, file->bytes);
		free(file->table.segments);
	}
	if (tables->nothing >= 0)
		close(tables->nothing);
	array__free(&tables->changed);
	array__free(&tables->changed_fds);
	array__free(&tables->changed_files);
	array__free(&tables->files);
	map64__free(&tables->by_dso);
	free(tables);
}
