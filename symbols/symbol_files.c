// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/symbol_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbols/elf/elf_file.h"

bool symbol_file__is_build_id(const char *name)
{
	size_t n = name ? strlen(name) : 0;

	return n >= 4 && n < BUILD_ID_HEX_SIZE && n == strspn(name, "0123456789abcdef");
}

bool symbol_file__is_base_name(const char *name)
{
	return name && *name && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

/* Whether @path, which is absolute, is of a file in @directory or below it, by its components. */
static bool is_inside(const char *path, const char *directory, size_t n)
{
	return !strncmp(path, directory, n) && path[n] == '/' && !strstr(path, "/../") &&
	       !strstr(path, "/./");
}

/* Drops "DIRECTORY/../" and "./" from absolute path @path. */
static void simplify(char *path)
{
	char *to = path;

	for (const char *at = path; *at;) {
		size_t n = 1 + strcspn(at + 1, "/");

		if (n == 3 && !strncmp(at, "/..", 3)) {
			while (to > path && *--to != '/')
				;
		} else if (n > 1 && !(n == 2 && at[1] == '.')) {
			memmove(to, at, n);
			to += n;
		}
		at += n;
	}
	*to = '\0';
}

static int alternate_path(const struct symbol_source *source, const char *debug_root,
			  const char *name, char *path, size_t size)
{
	const char *slash = strrchr(source->path, '/');

	if (!name || name[0] != '/')
		return -EINVAL;
	if (snprintf(path, size, "%s", name) >= (int)size)
		return -ENAMETOOLONG;
	simplify(path);
	if (is_inside(path, debug_root, strlen(debug_root)))
		return 0;
	if (is_inside(path, source->path, (size_t)(slash - source->path)) &&
	    strrchr(path, '/') == path + (slash - source->path))
		return 0;
	return -EINVAL;
}

static int id_path(const char *debug_root, const char *name, const char *suffix, char *path,
		   size_t size)
{
	if (!symbol_file__is_build_id(name))
		return -EINVAL;
	return snprintf(path, size, "%s/.build-id/%.2s/%s%s", debug_root, name, name + 2, suffix) <
			       (int)size
		       ? 0
		       : -ENAMETOOLONG;
}

/* @before, the program's directory, @between, @name. */
static int link_path(const struct symbol_source *source, const char *before, const char *between,
		     const char *name, char *path, size_t size)
{
	int directory = (int)(strrchr(source->path, '/') - source->path);

	if (!symbol_file__is_base_name(name))
		return -EINVAL;
	if (snprintf(path, size, "%s%.*s%s%s", before, directory, source->path, between, name) >=
	    (int)size)
		return -ENAMETOOLONG;
	/* Not the program itself, if its link has its own name. */
	return strcmp(path, source->path) ? 0 : -ENOENT;
}

int symbol_file__path(const struct symbol_source *source, const char *debug_root,
		      const struct symbol_file_request *request, char *path, size_t size)
{
	const char *name = request->name;

	if (request->kind == SYMBOL_FILE_DEBUG_ID)
		return id_path(debug_root, name, ".debug", path, size);
	if (request->kind == SYMBOL_FILE_PROGRAM_ID)
		return id_path(debug_root, name, "", path, size);
	/* "[heap]", "memfd:..." and the like are not paths. */
	if (!source->path || source->path[0] != '/')
		return -ENOENT;
	switch (request->kind) {
	case SYMBOL_FILE_PROGRAM:
		return snprintf(path, size, "%s", source->path) < (int)size ? 0 : -ENAMETOOLONG;
	case SYMBOL_FILE_LINK_BESIDE:
		return link_path(source, "", "/", name, path, size);
	case SYMBOL_FILE_LINK_BELOW:
		return link_path(source, "", "/.debug/", name, path, size);
	case SYMBOL_FILE_LINK_DEBUG:
		return link_path(source, debug_root, "/", name, path, size);
	case SYMBOL_FILE_ALTERNATE:
		return alternate_path(source, debug_root, name, path, size);
	default:
		return -EINVAL;
	}
}

/* The pid of @pid in its innermost pid namespace: the one that it puts into file names. */
static uint32_t innermost_pid(uint32_t pid)
{
	_cleanup_fclose_ FILE *status = NULL;
	char line[256];
	uint32_t inside = pid;

	snprintf(line, sizeof(line), "/proc/%" PRIu32 "/status", pid);
	status = fopen(line, "re");
	while (status && fgets(line, sizeof(line), status)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NSpid:", 6) && last)
			inside = (uint32_t)strtoul(last, NULL, 10);
	}
	return inside;
}

size_t symbol_file__jit_places(const char *root, uint32_t pid,
			       struct jit_map_place places[JIT_MAP_PLACES])
{
	uint32_t inside = innermost_pid(pid);
	char own_root[64];
	const struct {
		const char *root;
		uint32_t pid;
	} all[] = {{root, inside}, {root, pid}, {own_root, inside}, {"", pid}};
	size_t n = 0;

	snprintf(own_root, sizeof(own_root), "/proc/%" PRIu32 "/root", pid);
	for (size_t i = root ? 0 : 2; i < ARRAY_SIZE(all); i++, n++) {
		if (snprintf(places[n].root, sizeof(places[n].root), "%s", all[i].root) >=
		    (int)sizeof(places[n].root))
			snprintf(places[n].root, sizeof(places[n].root), "%s", own_root);
		snprintf(places[n].path, sizeof(places[n].path), "/tmp/perf-%" PRIu32 ".map",
			 all[i].pid);
	}
	return n;
}

uint32_t symbol_file__jit_owner(uint32_t pid, int64_t owner)
{
	char path[64];
	struct stat stats;

	if (owner >= 0)
		return (uint32_t)owner;
	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	return stat(path, &stats) ? geteuid() : stats.st_uid;
}

static int open_jit_map(const struct jit_map_place *place, uint32_t owner)
{
	_cleanup_close_ int fd = file__open_no_link(*place->root ? place->root : NULL, place->path);
	struct stat stats;

	if (fd < 0)
		return fd;
	if (fstat(fd, &stats))
		return -errno;
	if (stats.st_uid && stats.st_uid != owner)
		return -EPERM;
	return TAKE_FD(fd);
}

static int find_jit_map(const struct symbol_source *source)
{
	uint32_t owner = symbol_file__jit_owner(source->pid, source->owner);
	struct jit_map_place places[JIT_MAP_PLACES];
	size_t n = symbol_file__jit_places(source->root, source->pid, places);
	int err = -ENOENT;

	for (size_t i = 0; i < n; i++) {
		int fd = open_jit_map(&places[i], owner);

		if (fd >= 0)
			return fd;
		if (fd == -EPERM || fd == -ELOOP)
			err = fd;
	}
	return err;
}

/* Not a duplicate, which shares the file position and may not be readable (O_PATH). */
static int reopen(int fd)
{
	char link[64];
	int own;

	if (fd < 0)
		return -ENOENT;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	own = file__open(NULL, link);
	if (own < 0)
		own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return own < 0 ? -errno : own;
}

int symbol_file__open(const struct symbol_source *source, const char *debug_root,
		      const struct symbol_file_request *request)
{
	char path[PATH_MAX];
	int err;

	if (request->kind == SYMBOL_FILE_MAPPED)
		return reopen(source->fd);
	if (request->kind == SYMBOL_FILE_JIT_MAP)
		return find_jit_map(source);
	err = symbol_file__path(source, debug_root, request, path, sizeof(path));
	return err ? err : file__open(request->outside ? NULL : source->root, path);
}
