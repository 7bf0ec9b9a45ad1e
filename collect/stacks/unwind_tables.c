// SPDX-License-Identifier: BSD-2-Clause
#include "collect/stacks/unwind_tables.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "privsep/unwind_request.h"

#define IDLE_NS	 60000000000ULL /* a table that no process has mapped for so long is dropped */
#define SWEEP_NS 10000000000ULL
/* A file's and a process's share of the memory of all tables, but not less than so many bytes. */
#define FILE_SHARE    4
#define FILE_LEAST    (16UL << 20)
#define PROCESS_SHARE 2
#define PROCESS_LEAST (32UL << 20)
#define MANY_CHANGES  32

struct file {
	struct file_table table;
	struct unwind_file_key key;
	uint32_t dso;
	uint32_t mappings;
	uint32_t recorded; /* of these, mappings by recorded processes */
	int fd;
	char *name;
	enum table_user user; /* who asked for it */
	uint32_t owner;	      /* process that it is counted for; 0: none */
	bool built;
	bool pending;	       /* it is being built */
	bool killed;	       /* the process that built it was killed once */
	bool unbuildable;      /* it has no unwind information */
	bool waiting;	       /* there was no room for its table */
	bool over_share;       /* its owner has used up its share */
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
	bool released;	  /* something, since the last retry */
	bool evicted;	  /* a table that is mapped, since then */
	bool changed_any; /* number of a file, since the last unwind_tables__update() */
	struct privsep *privsep;
	struct parser *parser;
	uint64_t swept_at;
	struct unwind_tables_stats stats;
	struct map64 by_dso;	  /* DSO number -> index in files */
	struct map64 by_owner;	  /* process -> bytes of tables */
	ARRAY(struct file) files; /* [0]: code of no file */
	ARRAY(uint32_t) unused;	  /* indices of files that were forgotten */
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

int unwind_tables__new(int tables_fd, int files_fd, size_t max_bytes, struct privsep *privsep,
		       struct unwind_tables **out)
{
	static const struct parser_options defaults;
	struct unwind_tables *tables = calloc(1, sizeof(*tables));
	int err;

	if (!tables)
		return -ENOMEM;
	tables->tables_fd = tables_fd;
	tables->files_fd = files_fd;
	tables->max_bytes = max_bytes;
	tables->empty_fd = -1;
	tables->privsep = privsep;
	for (uint32_t slot = 1; slot < UNWIND_TABLE_PENDING; slot++)
		tables->free[tables->n_free++] = slot;
	err = array__push(&tables->files, (struct file){});
	if (!err)
		err = parser__new(privsep, &defaults, &tables->parser);
	if (err) {
		array__free(&tables->files);
		free(tables);
		return err;
	}
	*out = tables;
	return 0;
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

static void charge(struct unwind_tables *tables, const struct file *file, size_t bytes)
{
	uint64_t *sum = file->owner ? map64__put(&tables->by_owner, file->owner, 0) : NULL;

	if (sum)
		*sum += bytes;
}

static bool is_within_share(const struct unwind_tables *tables, const struct file *file)
{
	const uint64_t *sum = file->owner ? map64__get(&tables->by_owner, file->owner) : NULL;
	size_t share = tables->max_bytes / PROCESS_SHARE;

	return !sum || *sum + file->bytes <= (share > PROCESS_LEAST ? share : PROCESS_LEAST);
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
	charge(tables, file, -file->bytes);
	tables->stats.dropped++;
	file->table.number = UNWIND_TABLE_PENDING;
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
	file->table.number = UNWIND_TABLE_MISSING;
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

/* Copies the @n rows of the answer @result to a new map in a free slot. 0 or -errno. */
static int upload(struct unwind_tables *tables, int result, size_t n, struct file *file)
{
	size_t size = n * sizeof(*file->table.rows);
	_cleanup_close_ int fd = create_rows(n);
	uint32_t slot = tables->free[tables->first_free];
	void *rows;
	int err;

	if (fd < 0)
		return fd;
	rows = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rows == MAP_FAILED)
		return -errno;
	err = unwind_answer__read_rows(result, rows, n);
	if (!err)
		err = change_slot(tables, slot, fd, (uint32_t)(file - tables->files.data));
	if (err) {
		munmap(rows, size);
		return err;
	}
	TAKE_FD(fd);
	tables->first_free = (tables->first_free + 1) % UNWIND_MAX_TABLES;
	tables->n_free--;
	file->table.number = tables->generations[slot]++ * UNWIND_MAX_TABLES + slot;
	file->table.n_rows = (uint32_t)n;
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
	charge(tables, file, file->bytes);
	if (stats->max_bytes < stats->bytes)
		stats->max_bytes = stats->bytes;
}

static void set_waiting(struct unwind_tables *tables, struct file *file, bool waiting)
{
	tables->n_waiting += (uint32_t)waiting - (uint32_t)file->waiting;
	file->waiting = waiting;
	if (waiting)
		file->table.number = UNWIND_TABLE_MISSING;
}

static size_t max_rows(const struct unwind_tables *tables)
{
	size_t share = tables->max_bytes / FILE_SHARE;

	return (share > FILE_LEAST ? share : FILE_LEAST) / sizeof(struct unwind_row);
}

/* 0; -ENOSPC: there is no room for it; or another -errno: it has no table. */
static int take_table(struct unwind_tables *tables, struct file *file,
		      const struct parser_answer *built)
{
	struct unwind_answer answer;
	struct unwind_segment *segments;
	int err = built->err;

	if (!err)
		err = unwind_answer__decode(built->fields, max_rows(tables), &answer);
	if (err)
		return err;
	segments = calloc(answer.n_segments, sizeof(*segments));
	if (!segments)
		return -ENOMEM;
	memcpy(segments, answer.segments, answer.n_segments * sizeof(*segments));
	free(file->table.segments);
	file->table.segments = segments;
	file->table.n_segments = answer.n_segments;
	file->bytes = answer.n_rows * sizeof(*file->table.rows);
	file->over_share = !is_within_share(tables, file);
	if (file->over_share)
		return -EDQUOT;
	if (!make_room(tables, file->bytes, file->recorded ? TABLE_RECORDED : file->user))
		return -ENOSPC;
	err = upload(tables, built->result, answer.n_rows, file);
	if (!err)
		account_built(tables, file);
	return err == -EPROTO ? err : err ? -ENOSPC : 0;
}

static void on_table(void *arg, uint64_t index, const struct parser_answer *answer);

/* Asks the parser for the table of @file. */
static void ask(struct unwind_tables *tables, struct file *file)
{
	const struct parser_request request = {
		.name = file->name,
		.fd = file->fd,
		.on_answer = on_table,
		.arg = tables,
		.tag = (uint64_t)(file - tables->files.data),
	};

	file->pending = (file->fd >= 0 || file->dso == UNWIND_TABLES_VDSO) &&
			!unwind_request__send(tables->parser, &request, max_rows(tables));
	/* Without descriptor: until it is open again. */
	file->unbuildable = !file->pending && file->fd >= 0;
	file->table.number = file->pending ? UNWIND_TABLE_PENDING : UNWIND_TABLE_MISSING;
}

static void on_table(void *arg, uint64_t index, const struct parser_answer *answer)
{
	struct unwind_tables *tables = arg;
	struct file *file = &tables->files.data[index];
	int err;

	file->pending = false;
	if (answer->err == -EFAULT && !file->killed) { /* perhaps not because of this file */
		file->killed = true;
		ask(tables, file);
		return;
	}
	tables->changed_any = true;
	tables->stats.build_ns += answer->ns;
	err = take_table(tables, file, answer);
	set_waiting(tables, file, err == -ENOSPC);
	file->unbuildable = err && err != -ENOSPC;
	if (err == -ENOMEM || err == -EDQUOT)
		privsep__fail(tables->privsep, file->name, err);
	if (file->unbuildable)
		file->table.number = UNWIND_TABLE_MISSING;
}

/* Begins to build the table of @file, if there is room for it or @user may make some. */
static void build(struct unwind_tables *tables, struct file *file, enum table_user user)
{
	if (file->built || file->pending || file->unbuildable)
		return;
	file->user = user;
	if (file->bytes && !make_room(tables, file->bytes, user)) {
		set_waiting(tables, file, true);
		return;
	}
	ask(tables, file);
	parser__run_until(tables->parser, 0);
}

static int add_unused(struct unwind_tables *tables)
{
	int err = array__push(&tables->unused, (uint32_t)tables->files.n);

	if (!err && !array__add(&tables->files)) {
		tables->unused.n--;
		err = -ENOMEM;
	}
	return err;
}

static struct file *add_file(struct unwind_tables *tables, const struct table_source *source)
{
	struct file file = {
		.dso = source->dso,
		.fd = source->fd,
		.key = source->key,
		.owner = source->pid,
		.table.number = UNWIND_TABLE_PENDING,
		.name = strdup(source->name),
	};
	uint32_t index;

	if (!file.name || (!tables->unused.n && add_unused(tables))) {
		free(file.name);
		return NULL;
	}
	index = tables->unused.data[tables->unused.n - 1];
	if (!map64__put(&tables->by_dso, source->dso, index)) {
		free(file.name);
		return NULL;
	}
	tables->unused.n--;
	tables->files.data[index] = file;
	return &tables->files.data[index];
}

uint32_t unwind_tables__find(struct unwind_tables *tables, const struct table_source *source,
			     enum table_user user)
{
	const uint64_t *known = map64__get(&tables->by_dso, source->dso);
	struct file *file = known ? &tables->files.data[*known] : add_file(tables, source);
	uint32_t index;

	if (!file)
		return 0;
	if (!file->pending)
		file->fd = source->fd; /* it may have been closed meanwhile */
	index = (uint32_t)(file - tables->files.data);
	if (file->over_share && source->pid != file->owner) { /* another one needs it, too */
		file->owner = source->pid;
		file->over_share = file->unbuildable = false;
	}
	if (user == TABLE_RECORDED)
		build(tables, file, user);
	if (tables->changed.n >= MANY_CHANGES) /* each is a descriptor */
		unwind_tables__publish(tables);
	return index;
}

void unwind_tables__need(struct unwind_tables *tables, uint32_t index, enum table_user user)
{
	if (index && !tables->files.data[index].waiting)
		build(tables, &tables->files.data[index], user);
}

bool unwind_tables__is_pending(const struct unwind_tables *tables, uint32_t index)
{
	return tables->files.data[index].pending;
}

void unwind_tables__wait(struct unwind_tables *tables, uint64_t until)
{
	parser__run_until(tables->parser, until);
}

int unwind_tables__fd(const struct unwind_tables *tables)
{
	return parser__fd(tables->parser);
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

bool unwind_tables__update(struct unwind_tables *tables)
{
	bool changed;

	parser__run_until(tables->parser, 0);
	if (tables->n_waiting && tables->released) {
		tables->released = false;
		retry(tables, TABLE_RECORDED);
		retry(tables, TABLE_WAKER);
	}
	count_refused(tables);
	changed = tables->changed_any || tables->evicted;
	tables->changed_any = tables->evicted = false;
	return changed;
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

bool unwind_tables__is_mapped(const struct unwind_tables *tables, uint32_t dso)
{
	uint32_t index = unwind_tables__index(tables, dso);

	return index && (tables->files.data[index].mappings || tables->files.data[index].pending);
}

void unwind_tables__close(struct unwind_tables *tables, uint32_t dso)
{
	uint32_t index = unwind_tables__index(tables, dso);

	if (index)
		tables->files.data[index].fd = -1;
}

void unwind_tables__forget(struct unwind_tables *tables, uint32_t dso)
{
	uint32_t index = unwind_tables__index(tables, dso);
	struct file *file = &tables->files.data[index];

	if (!index || file->mappings || file->pending || (file->built && drop(tables, file)) ||
	    array__push(&tables->unused, index))
		return;
	tables->n_waiting -= file->waiting;
	free(file->table.segments);
	free(file->name);
	*file = (struct file){.unbuildable = true, .table.number = UNWIND_TABLE_MISSING};
	map64__remove(&tables->by_dso, dso);
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

/*
 * In one batch: after each update of a map of maps, the kernel waits for about 10 ms until no
 * program uses the old map.
 */
void unwind_tables__publish(struct unwind_tables *tables)
{
	uint32_t n = (uint32_t)tables->changed.n;

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
		free(file->name);
	}
	parser__free(tables->parser);
	if (tables->empty_fd >= 0)
		close(tables->empty_fd);
	array__free(&tables->changed);
	array__free(&tables->changed_fds);
	array__free(&tables->changed_files);
	array__free(&tables->files);
	array__free(&tables->unused);
	map64__free(&tables->by_dso);
	map64__free(&tables->by_owner);
	free(tables);
}
