// SPDX-License-Identifier: BSD-2-Clause
#include "collect/stacks/address_spaces.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "collect/stacks/origins.h"
#include "privsep/parser.h"

/* A build id is waited for so long: meanwhile no events are read. */
#define BUILD_ID_NS 1000000000ULL

struct address_spaces {
	struct unwinder *unwinder;
	struct parser *parser; /* reads build ids */
	code_mapping_fn on_mapping;
	void *arg;
	struct map64 files;	/* path and build id -> number */
	struct map64 paths;	/* path and inode -> number */
	struct map64 generated; /* pid -> number */
	uint32_t vdso;		/* its number; 0: not seen yet */
	struct origins origins;
};

int address_spaces__new(struct unwinder *unwinder, struct privsep *privsep,
			code_mapping_fn on_mapping, void *arg, struct address_spaces **out)
{
	const struct parser_options options = {.request_ns = BUILD_ID_NS};
	struct address_spaces *spaces = calloc(1, sizeof(*spaces));
	int err;

	if (!spaces)
		return -ENOMEM;
	err = origins__init(&spaces->origins, unwinder);
	if (err) {
		free(spaces);
		return err;
	}
	spaces->unwinder = unwinder;
	spaces->on_mapping = on_mapping;
	spaces->arg = arg;
	err = parser__new(privsep, &options, &spaces->parser);
	if (err) {
		free(spaces);
		return err;
	}
	*out = spaces;
	return 0;
}

void address_spaces__keep_all(struct address_spaces *spaces)
{
	spaces->origins.keep_all = true;
}

struct opened_file {
	struct found_file found; /* its fd -1: none */
	char build_id[41];	 /* hex; "": none, or unknown */
};

/* Whether @file is the one that was mapped, by build id or inode. */
static bool is_the_file(const struct opened_file *file, const struct mapping_event *event)
{
	if (*event->build_id)
		return !strcmp(file->build_id, event->build_id);
	return !event->inode || file->found.inode == event->inode;
}

/*
 * Opens @path inside @root (NULL: dwell's own). 0, -ENOENT: it is not the file of @event, which may
 * be NULL; or another -errno: it is not to be tried again.
 */
static int open_if_it(struct address_spaces *spaces, const char *root, const char *path,
		      const struct mapping_event *event, struct opened_file *file)
{
	struct open_request request = {.root = root, .path = path};
	int err = 0;

	*file = (struct opened_file){.found.fd = -1};
	for (int tries = 0; tries < 2; tries++) { /* if it was killed, perhaps not by this file */
		if (file->found.fd >= 0)
			close(file->found.fd);
		*file = (struct opened_file){.found.fd = -1};
		err = parser__build_id(spaces->parser, &request, &file->found, file->build_id,
				       sizeof(file->build_id));
		if (err != -EFAULT)
			break;
	}
	if (file->found.fd >= 0 && (!event || is_the_file(file, event)))
		return 0;
	if (file->found.fd >= 0)
		close(file->found.fd);
	*file = (struct opened_file){.found.fd = -1};
	return err == -EFAULT || err == -ETIMEDOUT || err == -EPROTO ? err : -ENOENT;
}

/*
 * Opens the file of a mapping as the process sees it. *@replaced: @path is another file now, or
 * none.
 */
static void open_mapped(struct address_spaces *spaces, const struct mapping_event *event,
			const char *path, struct opened_file *file, bool *replaced)
{
	char root[32], name[96];
	int err;

	snprintf(root, sizeof(root), "/proc/%d/root", event->pid);
	err = open_if_it(spaces, root, path, event, file);
	if (err == -ENOENT) /* the process may be gone; then try dwell's own root directory */
		err = open_if_it(spaces, NULL, path, event, file);
	*replaced = err == -ENOENT;
	if (!*replaced)
		return;
	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, event->pid,
		 event->start, event->start + event->size);
	open_if_it(spaces, NULL, name, NULL, file);
}

/* Whether process @pid has the same root directory and mounts as dwell. */
static bool has_same_root(pid_t pid)
{
	char name[64], own[64], mounts[64], root[2];
	ssize_t n, own_n = readlink("/proc/self/ns/mnt", own, sizeof(own));

	snprintf(name, sizeof(name), "/proc/%d/ns/mnt", pid);
	n = readlink(name, mounts, sizeof(mounts));
	if (n <= 0 || n != own_n || memcmp(own, mounts, (size_t)n) != 0)
		return false;
	snprintf(name, sizeof(name), "/proc/%d/root", pid);
	return readlink(name, root, sizeof(root)) == 1;
}

/* Opens the file of the origin @number again, if that was closed while no process mapped it. */
static uint32_t reopen(struct address_spaces *spaces, const struct mapping_event *event,
		       const char *path, uint32_t number)
{
	struct kept_origin *kept = origins__get(&spaces->origins, number);
	struct opened_file file;
	bool replaced;

	if (!kept || !kept->closed || kept->origin.fd >= 0)
		return number;
	open_mapped(spaces, event, path, &file, &replaced);
	if (file.found.fd >= 0)
		origins__open(&spaces->origins, kept, file.found.fd);
	return number;
}

static uint64_t file_key(const char *path, const char *build_id)
{
	return hash__add(hash__bytes(path, strlen(path)), hash__bytes(build_id, strlen(build_id)));
}

/* The number of the file at @path that @event maps, which is opened only if it is new. */
static uint32_t file_origin(struct address_spaces *spaces, const struct mapping_event *event,
			    const char *path, bool deleted)
{
	struct mapping_event known = *event;
	struct code_origin origin = {.kind = CODE_FILE};
	struct opened_file file;
	bool unreachable;
	uint64_t *number;

	number = *event->build_id ? map64__get(&spaces->files, file_key(path, event->build_id))
				  : NULL;
	if (number)
		return reopen(spaces, event, path, (uint32_t)*number);
	open_mapped(spaces, event, path, &file, &unreachable);
	if (!*known.build_id)
		memcpy(known.build_id, file.build_id, sizeof(known.build_id));
	/* Without a build id, only the path identifies the file; it may be deleted by now. */
	number = map64__get(&spaces->files, file_key(path, known.build_id));
	if (number && (*known.build_id || file.found.fd < 0)) {
		if (file.found.fd >= 0)
			close(file.found.fd);
		return (uint32_t)*number;
	}
	origin.deleted = deleted || unreachable;
	memcpy(origin.build_id, known.build_id, sizeof(origin.build_id));
	origin.fd = file.found.fd;
	origin.key = (struct unwind_file_key){
		.inode = file.found.inode, .size = file.found.size, .device = file.found.device};
	origin.number = origins__add(&spaces->origins, origin, path);
	if (!origin.number)
		return 0;
	origins__get(&spaces->origins, origin.number)->same_root = has_same_root(event->pid);
	map64__put(&spaces->files, file_key(path, known.build_id), origin.number);
	return origin.number;
}

/*
 * The number of a file without a build id: it is identified by path and inode, as the same path may
 * be another file in another process, or later.
 */
static uint32_t file_origin_by_path(struct address_spaces *spaces,
				    const struct mapping_event *event, const char *path,
				    bool deleted)
{
	uint64_t key, *known;

	if (!event->inode)
		return file_origin(spaces, event, path, deleted);
	key = hash__add(hash__bytes(event->path, strlen(event->path)), event->inode);
	known = map64__get(&spaces->paths, key);
	if (!known)
		known = map64__put(&spaces->paths, key, file_origin(spaces, event, path, deleted));
	return known ? reopen(spaces, event, path, (uint32_t)*known) : 0;
}

/* Whether code is of no file, but generated at run time. */
static bool is_anonymous(const char *path)
{
	return !strncmp(path, "//anon", 6) || !strncmp(path, "[anon", 5) ||
	       !strncmp(path, "/memfd:", 7) || !strncmp(path, "/dev/zero", 9) ||
	       !strncmp(path, "/SYSV", 5) || !strcmp(path, "[heap]") ||
	       !strncmp(path, "[stack", 6) || !*path;
}

/* The uid of process @pid; -1: it is gone. */
static int64_t process_owner(pid_t pid)
{
	struct stat stats;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d", pid);
	return stat(name, &stats) ? -1 : (int64_t)stats.st_uid;
}

static uint32_t generated_origin(struct address_spaces *spaces, pid_t pid)
{
	struct code_origin origin = {.kind = CODE_GENERATED, .pid = (uint32_t)pid, .fd = -1};
	uint64_t *known = map64__put(&spaces->generated, (uint64_t)pid, 0);
	char name[32];

	if (!known)
		return 0;
	snprintf(name, sizeof(name), "[jit:%d]", pid);
	origin.owner = process_owner(pid);
	if (!*known)
		*known = origins__add(&spaces->origins, origin, name);
	return (uint32_t)*known;
}

static uint32_t vdso_origin(struct address_spaces *spaces)
{
	if (!spaces->vdso)
		spaces->vdso =
			origins__add(&spaces->origins,
				     (struct code_origin){.kind = CODE_VDSO, .fd = -1}, "[vdso]");
	return spaces->vdso;
}

/* The number of the origin that @event maps. */
static uint32_t mapped_origin(struct address_spaces *spaces, const struct mapping_event *event)
{
	static const char gone[] = " (deleted)";
	size_t length = strlen(event->path);
	char path[PATH_MAX];
	bool deleted;

	if (is_anonymous(event->path))
		return generated_origin(spaces, event->pid);
	if (event->path[0] != '/')
		return vdso_origin(spaces);
	deleted = length > sizeof(gone) - 1 &&
		  !strcmp(event->path + length - (sizeof(gone) - 1), gone);
	if (deleted)
		length -= sizeof(gone) - 1;
	snprintf(path, sizeof(path), "%.*s", (int)length, event->path);
	return *event->build_id ? file_origin(spaces, event, path, deleted)
				: file_origin_by_path(spaces, event, path, deleted);
}

const struct code_origin *address_spaces__origin(const struct address_spaces *spaces,
						 uint32_t number)
{
	const struct kept_origin *kept = origins__get(&spaces->origins, number);

	return kept ? &kept->origin : NULL;
}

bool address_spaces__locate(const struct address_spaces *spaces, uint32_t pid, uint64_t time,
			    uint64_t address, bool is_data, struct code_location *location)
{
	struct unwinder_origin found;

	if (!spaces->unwinder ||
	    !unwinder__origin(spaces->unwinder, pid, time, address, is_data, &found))
		return false;
	location->origin = address_spaces__origin(spaces, found.origin);
	if (!location->origin)
		return false;
	location->address = location->origin->kind == CODE_GENERATED ? address : found.offset;
	return true;
}

int address_spaces__fd_of(const struct address_spaces *spaces, const char *build_id)
{
	return origins__fd_of(&spaces->origins, build_id);
}

uint64_t address_spaces__lost_files(const struct address_spaces *spaces)
{
	return spaces->origins.lost;
}

/* Where the unwind table of @origin, mapped by @pid, comes from. */
static struct table_source table_source(const struct code_origin *origin, uint32_t pid)
{
	static const uint32_t without_file[] = {
		[CODE_GENERATED] = 0, [CODE_VDSO] = UNWIND_TABLES_VDSO};

	return (struct table_source){
		.dso = origin->kind == CODE_FILE ? origin->number : without_file[origin->kind],
		.fd = origin->fd,
		.name = origin->path,
		.key = origin->key,
		.pid = pid,
	};
}

void address_spaces__prepare(struct address_spaces *spaces, const char *path)
{
	struct mapping_event event = {.pid = getpid()};
	const struct code_origin *origin;
	struct table_source source;
	char real[PATH_MAX];

	if (!spaces->unwinder || !realpath(path, real))
		return;
	event.path = real;
	origin = address_spaces__origin(spaces, mapped_origin(spaces, &event));
	if (!origin)
		return;
	source = table_source(origin, 0);
	unwinder__prepare(spaces->unwinder, &source);
}

static void supply_unwinder(struct address_spaces *spaces, const struct code_mapping *mapping)
{
	struct unwinder_mapping mapped = {
		.pid = mapping->pid,
		.file = table_source(mapping->origin, mapping->pid),
		.time = mapping->time,
		.start = mapping->start,
		.size = mapping->size,
		.offset = mapping->offset,
		.origin = mapping->origin->number,
	};

	unwinder__map(spaces->unwinder, &mapped);
}

/* Removes what leads to origins that were forgotten from @map. */
static void forget_numbers(const struct address_spaces *spaces, struct map64 *map)
{
	ARRAY(uint64_t) gone = {};

	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used &&
		    !origins__get(&spaces->origins, (uint32_t)map->slots[i].value) &&
		    array__push(&gone, map->slots[i].key))
			break;
	for (size_t i = 0; i < gone.n; i++)
		map64__remove(map, gone.data[i]);
	array__free(&gone);
}

int address_spaces__add(struct address_spaces *spaces, const struct mapping_event *event)
{
	struct kept_origin *kept;
	struct code_mapping mapping = {
		.pid = (uint32_t)event->pid,
		.time = event->time,
		.start = event->start,
		.size = event->size,
		.offset = event->offset,
	};

	if (!strcmp(event->path, "[vsyscall]") || !strcmp(event->path, "[uprobes]"))
		return 0;
	kept = origins__get(&spaces->origins, mapped_origin(spaces, event));
	if (!kept)
		return -ENOMEM;
	origins__use(&spaces->origins, kept);
	mapping.origin = &kept->origin;
	if (spaces->unwinder)
		supply_unwinder(spaces, &mapping);
	spaces->on_mapping(spaces->arg, &mapping);
	origins__limit_open(&spaces->origins); /* not before: all that had to be read is */
	if (origins__forget_unused(&spaces->origins)) {
		forget_numbers(spaces, &spaces->files);
		forget_numbers(spaces, &spaces->paths);
		forget_numbers(spaces, &spaces->generated);
	}
	return 0;
}

int address_spaces__read_process(struct address_spaces *spaces, pid_t pid, uint64_t time,
				 void (*meanwhile)(void *arg), void *arg)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	char name[64];
	int err;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	file = fopen(name, "re");
	if (!file)
		return 0;
	while (getline(&line, &size, file) > 0) {
		struct mapping_event event = {.time = time, .pid = pid};
		uint64_t end;
		char rights[5];
		int path = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
			   &event.start, &end, rights, &event.offset, &event.inode, &path) < 5 ||
		    rights[2] != 'x')
			continue;
		line[strcspn(line, "\n")] = '\0';
		event.size = end - event.start;
		event.path = line + path;
		err = address_spaces__add(spaces, &event);
		if (err)
			return err;
		meanwhile(arg);
	}
	return 0;
}

uint32_t address_spaces__slot(const struct address_spaces *spaces, uint32_t number)
{
	return spaces->unwinder ? unwinder__slot(spaces->unwinder, number) : 0;
}

void address_spaces__free(struct address_spaces *spaces)
{
	parser__free(spaces->parser);
	origins__free(&spaces->origins);
	map64__free(&spaces->files);
	map64__free(&spaces->paths);
	map64__free(&spaces->generated);
	free(spaces);
}
