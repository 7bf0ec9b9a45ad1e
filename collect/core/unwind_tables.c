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

#define IDLE_NS	 60000000000ULL /* a table that no process has mapped for so long is dropped */
#define SWEEP_NS 10000000000ULL

struct file {
	struct file_table table;
	struct unwind_file_key key;
	uint32_t dso;
	uint32_t mappings;
	uint32_t recorded; /* of these, mappings by recorded processes */
	int fd;
	bool built;
	bool unbuildable;      /* it has no unwind information */
	bool waiting;	       /* there was no room for its table */
	bool refused;	       /* counted in stats.refused */
	bool refused_recorded; /* and in stats.refused_recorded */
	uint64_t unused_since; /* when mappings is 0 */
	size_t bytes;	       /* of its table; 0: not known yet */
};

struct unwind_tables {
	int tables_fd;
	int files_fd;
	int empty_fd; /* a map with one empty row, for free slots; -1: not created yet */
	size_t max_bytes;
	uint32_t n_waiting;
	bool released; /* something, since the last retry */
	bool evicted;  /* a table that is mapped, since then */
	uint64_t swept_at;
	struct unwind_tables_stats stats;
	struct map64 by_dso;	  /* DSO number -> index in files */
	ARRAY(struct file) files; /* [0]: code of no file */
	/* To be published: slots, the map of rows for each (-1: none), and its file. */
	ARRAY(uint32_t) changed;
	ARRAY(int) changed_fds;
	ARRAY(uint32_t) changed_files;
	/* A queue of free slots, the one that has been free for longest first. */
	uint32_t free[UNWIND_MAX_TABLES];
	uint32_t first_free;
	uint32_t n_free;
	uint32_t generations[UNWIND_MAX_TABLES]; /* by slot */
};

/* Creates a map of @n rows, which user space fills through mmap(). Returns a descriptor or -errno.
 */
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
	tables->empty_fd = -1;
	for (uint32_t slot = 1; slot < UNWIND_TABLE_PENDING; slot++)
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
	/* The image has one or two pages; its section headers say where it ends. */
	return vdso ? unwind_table__build_memory(vdso, 2UL * (size_t)sysconf(_SC_PAGESIZE), table)
		    : -ENOENT;
}

/* The kernel side's key of the file @fd; inode 0: none. */
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

/* Queues that @slot gets the map @fd, of file @index. @fd is closed when that is published. */
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

/* Drops the table of @file. Returns 0, or -ENOMEM without a change. */
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

/* Whether @file is to be dropped before @other: first what is not mapped, the longest unused first.
 */
static bool is_less_needed(const struct file *file, const struct file *other)
{
	if (!other || !file->mappings != !other->mappings)
		return !other || !file->mappings;
	return file->unused_since < other->unused_since;
}

/* @file is mapped, and waits for room again. */
static void evict(struct unwind_tables *tables, struct file *file)
{
	tables->n_waiting += !file->waiting;
	file->waiting = tables->evicted = true;
}

/* Drops what @user may take the place of, until there is room for @bytes more. */
static bool make_room(struct unwind_tables *tables, size_t bytes, enum table_user user)
{
	if (bytes > tables->max_bytes)
		return false;
	while (!tables->n_free || tables->stats.bytes + bytes > tables->max_bytes) {
		struct file *least = NULL;

		for (size_t i = 1; i < tables->files.n; i++) {
			struct file *file = &tables->files.data[i];
			uint32_t needed = user == TABLE_RECORDED ? file->recorded : file->mappings;

			if (file->built && !needed && is_less_needed(file, least))
				least = file;
		}
		if (!least || drop(tables, least))
			return false;
		if (least->mappings)
			evict(tables, least);
	}
	return true;
}

/* Copies @table to a new map in a free slot. 0 or -errno. */
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
	file->table.number = tables->generations[slot]++ * UNWIND_MAX_TABLES + slot;
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

static int build_in_room(struct unwind_tables *tables, struct file *file, enum table_user user)
{
	_cleanup_(unwind_table__freep) struct unwind_table *table = NULL;

	if (file->bytes && !make_room(tables, file->bytes, user))
		return -ENOSPC;
	file->unbuildable = read_table(file->dso, file->fd, &table) || !table->n_rows;
	if (file->unbuildable)
		return 0;
	free(file->table.segments);
	file->table.segments = TAKE_PTR(table->segments);
	file->table.n_segments = table->n_segments;
	table->n_segments = 0;
	file->bytes = table->n_rows * sizeof(*table->rows);
	if (!make_room(tables, file->bytes, user) || upload(tables, table, file))
		return -ENOSPC;
	file->key = file_key(file->fd);
	account_built(tables, file);
	return 0;
}

/* Builds the table of @file, if there is room for it or @user may make some. */
static void build(struct unwind_tables *tables, struct file *file, enum table_user user)
{
	uint64_t begin = now_ns(CLOCK_MONOTONIC);

	bool waiting = build_in_room(tables, file, user);

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

uint32_t unwind_tables__find(struct unwind_tables *tables, uint32_t dso, int fd,
			     enum table_user user)
{
	const uint64_t *known = map64__get(&tables->by_dso, dso);
	struct file *file = known ? &tables->files.data[*known] : add_file(tables, dso);

	if (!file)
		return 0;
	file->fd = fd;
	if (!file->built && !file->unbuildable)
		build(tables, file, user);
	return (uint32_t)(file - tables->files.data);
}

/* Builds what @user maps of the files that wait for room. */
static void retry(struct unwind_tables *tables, enum table_user user)
{
	for (size_t i = 1; i < tables->files.n; i++) {
		struct file *file = &tables->files.data[i];
		uint32_t wanted = user == TABLE_RECORDED ? file->recorded : file->mappings;

		if (file->waiting && wanted)
			build(tables, file, user);
	}
}

bool unwind_tables__retry(struct unwind_tables *tables)
{
	uint64_t built = tables->stats.built;
	bool evicted;

	if (tables->n_waiting && tables->released) {
		tables->released = false;
		retry(tables, TABLE_RECORDED);
		retry(tables, TABLE_WAKER);
	}
	evicted = tables->evicted;
	tables->evicted = false;
	return evicted || tables->stats.built > built;
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

void unwind_tables__hold(struct unwind_tables *tables, uint32_t index, enum table_user user)
{
	struct file *file = &tables->files.data[index];

	file->mappings++;
	if (user != TABLE_RECORDED)
		return;
	file->recorded++;
	tables->released |= file->waiting; /* others have to make room now */
}

void unwind_tables__release(struct unwind_tables *tables, uint32_t index, enum table_user user)
{
	struct file *file = &tables->files.data[index];

	if (user == TABLE_RECORDED && !--file->recorded)
		tables->released = true;
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
 * Lets the kernel side find the table by the file. Not if the file's segments have different
 * biases: then the bias depends on the mapping.
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

/* Queues the empty map for slots that become free. */
static void empty_free_slots(struct unwind_tables *tables)
{
	for (size_t i = 0; i < tables->changed.n; i++) {
		if (tables->changed_fds.data[i] >= 0)
			continue;
		if (tables->empty_fd < 0)
			tables->empty_fd = create_rows(1);
		tables->changed_fds.data[i] = tables->empty_fd;
	}
}

static void count_refused(struct unwind_tables *tables)
{
	for (size_t i = 1; tables->n_waiting && i < tables->files.n; i++) {
		struct file *file = &tables->files.data[i];

		if (!file->waiting || !file->mappings)
			continue;
		tables->stats.refused += !file->refused;
		file->refused = true;
		if (!file->recorded)
			continue;
		tables->stats.refused_recorded += !file->refused_recorded;
		file->refused_recorded = true;
	}
}

/*
 * In one batch: after each update of a map of maps, the kernel waits for about 10 ms until no
 * program uses the old map.
 */
void unwind_tables__publish(struct unwind_tables *tables)
{
	uint32_t n = (uint32_t)tables->changed.n;

	count_refused(tables);
	empty_free_slots(tables);
	if (n && bpf_map_update_batch(tables->tables_fd, tables->changed.data,
				      tables->changed_fds.data, &n, NULL))
		for (size_t i = 0; i < tables->changed.n; i++)
			bpf_map_update_elem(tables->tables_fd, &tables->changed.data[i],
					    &tables->changed_fds.data[i], BPF_ANY);
	for (size_t i = 0; i < tables->changed.n; i++) {
		if (tables->changed_fds.data[i] != tables->empty_fd)
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
	if (tables->empty_fd >= 0)
		close(tables->empty_fd);
	array__free(&tables->changed);
	array__free(&tables->changed_fds);
	array__free(&tables->changed_files);
	array__free(&tables->files);
	map64__free(&tables->by_dso);
	free(tables);
}
