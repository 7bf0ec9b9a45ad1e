// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "symbols/symbols.h"

/* Descriptors left to the rest of the program. */
#define SPARE_FDS 64

/* For mappings__file(). */
struct mapped_file {
	uint32_t dso;
	char *path;
};

struct mappings {
	struct recording_writer *writer;
	struct unwinder *unwinder;
	struct map64 dsos;  /* path and build id -> DSO number */
	struct map64 paths; /* path and inode -> DSO number */
	struct map64 fds;   /* DSO number -> descriptor */
	ARRAY(struct mapped_file) files;
	ARRAY(struct unwinder_mapping) code;
	bool keep; /* in code, all of them */
	size_t max_fds;
};

int mappings__new(struct recording_writer *writer, struct unwinder *unwinder, bool keep,
		  struct mappings **out)
{
	struct mappings *mappings = calloc(1, sizeof(*mappings));
	struct rlimit limit;

	if (!mappings)
		return -ENOMEM;
	mappings->writer = writer;
	mappings->unwinder = unwinder;
	mappings->keep = keep;
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		mappings->max_fds = limit.rlim_cur > SPARE_FDS ? limit.rlim_cur - SPARE_FDS : 0;
	}
	*out = mappings;
	return 0;
}

/* Whether the file open at @fd is the one that was mapped, as far as can be told. */
static bool is_the_file(int fd, const struct mapping_event *event)
{
	char found[sizeof(event->build_id)] = "";
	struct stat stats;

	if (*event->build_id)
		return !symbols__build_id(fd, found, sizeof(found)) &&
		       !strcmp(found, event->build_id);
	return !event->inode || (!fstat(fd, &stats) && stats.st_ino == event->inode);
}

static int open_if_it(const char *path, const struct mapping_event *event)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd >= 0 && is_the_file(fd, event) ? TAKE_FD(fd) : -1;
}

/*
 * Opens the file of a mapping as the process sees it. *@replaced: the path names
 * another file now, or none.
 */
static int open_mapped(const struct mapping_event *event, const char *path, bool *replaced)
{
	char name[PATH_MAX + 64];
	int fd;

	*replaced = false;
	snprintf(name, sizeof(name), "/proc/%d/root%s", event->pid, path);
	fd = open_if_it(name, event);
	if (fd < 0) /* the process may be gone; our own view is then the best guess */
		fd = open_if_it(path, event);
	if (fd >= 0)
		return fd;
	*replaced = true;
	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, event->pid,
		 event->start, event->start + event->size);
	return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void keep_fd(struct mappings *mappings, uint32_t dso, int fd)
{
	if (mappings->fds.n >= mappings->max_fds || !map64__put(&mappings->fds, dso, (uint64_t)fd))
		close(fd);
}

static void keep_file(struct mappings *mappings, uint32_t dso, const char *path)
{
	struct mapped_file file = {.dso = dso, .path = strdup(path)};

	if (!file.path || array__push(&mappings->files, file))
		free(file.path);
}

static uint64_t file_key(const char *path, const char *build_id)
{
	return hash__add(hash__bytes(path, strlen(path)), hash__bytes(build_id, strlen(build_id)));
}

/* The number of the file at @path that @event maps; opened only when it is new. */
static uint32_t file_dso(struct mappings *mappings, const struct mapping_event *event,
			 const char *path, bool deleted)
{
	struct mapping_event known = *event;
	struct record_dso dso = {.kind = DSO_FILE};
	_cleanup_close_ int fd = -1;
	bool unreachable;
	uint64_t *number;

	number = *event->build_id ? map64__get(&mappings->dsos, file_key(path, event->build_id))
				  : NULL;
	if (number)
		return (uint32_t)*number;
	fd = open_mapped(event, path, &unreachable);
	if (fd >= 0 && !*known.build_id &&
	    symbols__build_id(fd, known.build_id, sizeof(known.build_id)))
		known.build_id[0] = '\0';
	if (*known.build_id) {
		number = map64__get(&mappings->dsos, file_key(path, known.build_id));
		if (number)
			return (uint32_t)*number;
	}
	dso.path = recording_writer__string(mappings->writer, path);
	dso.build_id = recording_writer__string(mappings->writer, known.build_id);
	dso.deleted = deleted || unreachable;
	dso.number = recording_writer__dso(mappings->writer, &dso);
	keep_file(mappings, dso.number, path);
	if (*known.build_id)
		map64__put(&mappings->dsos, file_key(path, known.build_id), dso.number);
	if (fd >= 0)
		keep_fd(mappings, dso.number, TAKE_FD(fd));
	return dso.number;
}

/*
 * A file that is named by its path only: the same path may be another file in
 * another process, or later.
 */
static uint32_t file_dso_by_path(struct mappings *mappings, const struct mapping_event *event,
				 const char *path, bool deleted)
{
	char name[PATH_MAX + 64];
	struct stat stats = {};
	uint64_t key, *known;

	snprintf(name, sizeof(name), "/proc/%d/root%s", event->pid, path);
	if (event->inode)
		stats.st_ino = event->inode;
	else if (stat(name, &stats) && stat(path, &stats))
		return file_dso(mappings, event, path, deleted);
	key = hash__add(hash__bytes(event->path, strlen(event->path)), stats.st_ino);
	known = map64__get(&mappings->paths, key);
	if (!known)
		known = map64__put(&mappings->paths, key, file_dso(mappings, event, path, deleted));
	return known ? (uint32_t)*known : 0;
}

/* Code that belongs to no file: generated at run time. */
static bool is_anonymous(const char *path)
{
	return !strncmp(path, "//anon", 6) || !strncmp(path, "[anon", 5) ||
	       !strncmp(path, "/memfd:", 7) || !strncmp(path, "/dev/zero", 9) ||
	       !strncmp(path, "/SYSV", 5) || !strcmp(path, "[heap]") ||
	       !strncmp(path, "[stack", 6) || !*path;
}

static uint32_t jit_dso(struct mappings *mappings, pid_t pid)
{
	struct record_dso dso = {.kind = DSO_JIT, .pid = (uint32_t)pid};
	char name[32];

	snprintf(name, sizeof(name), "[jit:%d]", pid);
	dso.path = recording_writer__string(mappings->writer, name);
	return recording_writer__dso(mappings->writer, &dso);
}

static uint32_t vdso_dso(struct mappings *mappings)
{
	struct record_dso dso = {.kind = DSO_VDSO};

	dso.path = recording_writer__string(mappings->writer, "[vdso]");
	return recording_writer__dso(mappings->writer, &dso);
}

/* The number of the DSO that @event maps; files are recognized without opening them again. */
static uint32_t mapped_dso(struct mappings *mappings, const struct mapping_event *event)
{
	static const char gone[] = " (deleted)";
	size_t length = strlen(event->path);
	char path[PATH_MAX];
	bool deleted;

	if (is_anonymous(event->path))
		return jit_dso(mappings, event->pid);
	if (event->path[0] != '/')
		return vdso_dso(mappings);
	deleted = length > sizeof(gone) - 1 &&
		  !strcmp(event->path + length - (sizeof(gone) - 1), gone);
	if (deleted)
		length -= sizeof(gone) - 1;
	snprintf(path, sizeof(path), "%.*s", (int)length, event->path);
	return *event->build_id ? file_dso(mappings, event, path, deleted)
				: file_dso_by_path(mappings, event, path, deleted);
}

void mappings__prepare(struct mappings *mappings, const char *path)
{
	struct mapping_event event = {.pid = getpid()};
	char real[PATH_MAX];
	uint32_t dso;

	if (!mappings->unwinder || !realpath(path, real))
		return;
	event.path = real;
	dso = mapped_dso(mappings, &event);
	unwinder__prepare(mappings->unwinder, dso, mappings__fd(mappings, dso));
}

static int tell_unwinder(struct mappings *mappings, const struct mapping_event *event, uint32_t dso)
{
	struct unwinder_mapping mapping = {
		.pid = (uint32_t)event->pid,
		.dso = dso,
		.fd = mappings__fd(mappings, dso),
		.time = event->time,
		.start = event->start,
		.size = event->size,
		.offset = event->offset,
	};

	if (is_anonymous(event->path))
		mapping.dso = 0;
	else if (event->path[0] != '/')
		mapping.dso = TABLES_VDSO;
	unwinder__map(mappings->unwinder, &mapping);
	return mappings->keep && mapping.dso == dso ? array__push(&mappings->code, mapping) : 0;
}

int mappings__add(struct mappings *mappings, const struct mapping_event *event)
{
	struct record record = {
		.type = RECORD_MAP,
		.map = {.pid = (uint32_t)event->pid,
			.time = event->time,
			.start = event->start,
			.size = event->size,
			.offset = event->offset},
	};

	if (!strcmp(event->path, "[vsyscall]") || !strcmp(event->path, "[uprobes]"))
		return 0;
	record.map.dso = mapped_dso(mappings, event);
	if (mappings->unwinder && tell_unwinder(mappings, event, record.map.dso))
		return -ENOMEM;
	return recording_writer__put(mappings->writer, &record);
}

int mappings__read_process(struct mappings *mappings, pid_t pid, uint64_t time)
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
		err = mappings__add(mappings, &event);
		if (err)
			return err;
	}
	return 0;
}

bool mappings__file(const struct mappings *mappings, size_t index, uint32_t *dso, const char **path)
{
	if (index >= mappings->files.n)
		return false;
	*dso = mappings->files.data[index].dso;
	*path = mappings->files.data[index].path;
	return true;
}

bool mappings__code(const struct mappings *mappings, size_t index, struct unwinder_mapping *mapping)
{
	if (index >= mappings->code.n)
		return false;
	*mapping = mappings->code.data[index];
	return true;
}

void mappings__forget_code(struct mappings *mappings)
{
	mappings->code.n = 0;
}

int mappings__fd(const struct mappings *mappings, uint32_t dso)
{
	const uint64_t *fd = map64__get(&mappings->fds, dso);

	return fd ? (int)*fd : -1;
}

void mappings__free(struct mappings *mappings)
{
	for (size_t i = 0; i < mappings->fds.capacity; i++)
		if (mappings->fds.slots[i].used)
			close((int)mappings->fds.slots[i].value);
	for (size_t i = 0; i < mappings->files.n; i++)
		free(mappings->files.data[i].path);
	array__free(&mappings->code);
	array__free(&mappings->files);
	map64__free(&mappings->fds);
	map64__free(&mappings->dsos);
	map64__free(&mappings->paths);
	free(mappings);
}
