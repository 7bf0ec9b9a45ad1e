// SPDX-License-Identifier: BSD-2-Clause
#include "collect/latency/shadow_memory_map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/error.h"

#define MAPPING_SIZE ((size_t)SHADOW_STACKS * SHADOW_STACK_SIZE)

/* That a process may have, each for 127 threads; it can map any number. */
#define MAX_MAPPINGS 1024

static bool is_mapped(const struct shadow_memory_map *map, uint64_t address)
{
	for (size_t i = 0; i < map->mappings.n; i++)
		if (map->mappings.data[i].address == address)
			return true;
	return false;
}

/* The id in the status file @path as its process or thread sees itself; 0: it has ended. */
static uint32_t own_id(const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	char line[256];
	uint32_t own = 0;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "NSpid:", 6))
			own = (uint32_t)strtoul(strrchr(line, '\t') + 1, NULL, 10);
	return own;
}

static uint32_t own_pid(uint32_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return own_id(path);
}

/* In another pid namespace, threads have other tids there. */
static uint32_t find_tid(uint32_t pid, uint32_t own_tid)
{
	char path[300];
	struct dirent *entry;
	uint32_t found = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	tasks = opendir(path);
	while (tasks && !found && (entry = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/%u/task/%s/status", pid, entry->d_name);
		if (*entry->d_name != '.' && own_id(path) == own_tid)
			found = (uint32_t)strtoul(entry->d_name, NULL, 10);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

uint32_t shadow_memory_map__tid(const struct shadow_memory_map *map, uint32_t own_tid)
{
	bool same = map->mappings.n && map->mappings.data[0].memory->pid == map->pid;
	char path[64];

	if (!own_tid || !same)
		return own_tid ? find_tid(map->pid, own_tid) : 0;
	/* The program can write any number there: not that of a thread of another process. */
	snprintf(path, sizeof(path), "/proc/%u/task/%u", map->pid, own_tid);
	return access(path, F_OK) && errno == ENOENT ? 0 : own_tid;
}

static int refuse(uint32_t pid)
{
	return error__set(
		-EPROTO,
		"process %u was built by dwell-cc of another version of dwell; build it again",
		pid);
}

/*
 * Whether what is mapped of the memory at @fd stays there: reads behind the end of a file raise
 * SIGBUS. Files that are no memory have no seals.
 */
static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && seals & F_SEAL_SHRINK;
}

static bool is_whole(int fd)
{
	struct stat stats;

	return !fstat(fd, &stats) && stats.st_size >= (off_t)MAPPING_SIZE;
}

/* The device of memory files, as stat() has it; 0: unknown. */
static dev_t memory_device(void)
{
	_cleanup_close_ int fd = memfd_create("dwell", MFD_CLOEXEC);
	struct stat stats;

	return fd >= 0 && !fstat(fd, &stats) ? stats.st_dev : 0;
}

/*
 * Maps [@from, @until) of the process. 0: it is not the process's own: a child has its parent's
 * until it goes on after fork(); or it is not complete yet.
 */
static int map_one(struct shadow_memory_map *map, uint64_t from, uint64_t until)
{
	const struct shadow_memory *memory;
	_cleanup_close_ int fd = -1;
	char path[96];
	int err = -EAGAIN;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, map->pid, from,
		 until);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!is_sealed(fd))
		return refuse(map->pid);
	if (!is_whole(fd))
		return 0;
	memory = mmap(NULL, MAPPING_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	if (memory->magic == SHADOW_MAGIC &&
	    (memory->version != SHADOW_VERSION || memory->stacks != SHADOW_STACKS - 1))
		err = refuse(map->pid);
	else if (memory->magic == SHADOW_MAGIC && memory->pid == own_pid(map->pid))
		err = array__push(&map->mappings, ((struct shadow_mapping){memory, from, 0}));
	if (err)
		munmap((void *)memory, MAPPING_SIZE);
	return err == -EAGAIN ? 0 : err ? err : 1;
}

/*
 * Whether @line of /proc/PID/maps is memory as dwell-cc's programs have it. Any file can have such
 * a name, and opening it could block: so the device must be that of memory, too.
 */
static bool is_shadow_memory(const char *line, dev_t device, uint64_t *from, uint64_t *until)
{
	unsigned int high, low;

	return strstr(line, "/memfd:" SHADOW_MEMORY_NAME " ") &&
	       sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %x:%x", from, until, &high, &low) ==
		       4 &&
	       *until - *from == MAPPING_SIZE && makedev(high, low) == device;
}

int shadow_memory_map__update(struct shadow_memory_map *map)
{
	const dev_t device = memory_device();
	_cleanup_fclose_ FILE *maps = NULL;
	char path[64], line[4096];
	int n = 0, result;

	snprintf(path, sizeof(path), "/proc/%u/maps", map->pid);
	maps = fopen(path, "re");
	if (!maps)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), maps)) {
		uint64_t from, until;

		if (!is_shadow_memory(line, device, &from, &until) || is_mapped(map, from) ||
		    map->mappings.n >= MAX_MAPPINGS)
			continue;
		result = map_one(map, from, until);
		if (result < 0)
			return result;
		n += result;
	}
	return n;
}

bool shadow_memory_map__has_grown(const struct shadow_memory_map *map)
{
	for (size_t i = 0; i < map->mappings.n; i++) {
		uint64_t next =
			__atomic_load_n(&map->mappings.data[i].memory->next, __ATOMIC_RELAXED);

		if (next && !is_mapped(map, next))
			return true;
	}
	return false;
}

void shadow_memory_map__free(struct shadow_memory_map *map)
{
	for (size_t i = 0; i < map->mappings.n; i++)
		munmap((void *)map->mappings.data[i].memory, MAPPING_SIZE);
	array__free(&map->mappings);
}
