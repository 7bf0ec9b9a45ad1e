// SPDX-License-Identifier: BSD-2-Clause
#include "collect/stacks/origins.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Descriptors: reserved for other uses than those that are open already, and needed at least. */
#define SPARE_FDS 48
#define LEAST_FDS 16
#define MANY_NEW  64 /* after so many new ones, unused ones are looked for */

/* How many stay that no process maps: with files that can be found again, with others, without. */
#define KEPT_OPEN   64
#define KEPT_ALONE  128
#define KEPT_CLOSED 512

typedef ARRAY(struct kept_origin *) origin_list;

static size_t count_open(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	return n;
}

int origins__init(struct origins *origins, struct unwinder *unwinder)
{
	size_t reserved = count_open() + SPARE_FDS;
	struct rlimit limit;

	*origins = (struct origins){.unwinder = unwinder, .keep_all = !unwinder};
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < reserved + LEAST_FDS)
		return error__errno(-EMFILE, "cannot keep files of recorded programs open");
	origins->max_fds = limit.rlim_cur - reserved;
	return 0;
}

struct kept_origin *origins__get(const struct origins *origins, uint32_t number)
{
	const uint64_t *found = map64__get(&origins->by_number, number);

	return found ? (struct kept_origin *)(uintptr_t)*found : NULL;
}

void origins__use(struct origins *origins, struct kept_origin *kept)
{
	kept->used = ++origins->uses;
}

static void close_file(struct origins *origins, struct kept_origin *kept)
{
	if (origins->unwinder && kept->origin.kind == CODE_FILE)
		unwinder__close_file(origins->unwinder, kept->origin.number);
	close(kept->origin.fd);
	kept->origin.fd = -1;
	kept->closed = true;
	origins->n_fds--;
}

void origins__open(struct origins *origins, struct kept_origin *kept, int fd)
{
	kept->origin.fd = fd;
	origins->n_fds++;
	origins->fresh++;
}

static void free_origin(struct kept_origin *kept)
{
	free(kept->origin.path);
	free(kept);
}

uint32_t origins__add(struct origins *origins, struct code_origin origin, const char *path)
{
	struct kept_origin *kept = calloc(1, sizeof(*kept));
	int fd = origin.fd;

	if (kept) {
		kept->origin = origin;
		kept->origin.fd = -1;
		kept->origin.number = origins->last + 1;
		kept->origin.path = strdup(path);
	}
	if (!kept || !kept->origin.path ||
	    !map64__put(&origins->by_number, kept->origin.number, (uint64_t)(uintptr_t)kept)) {
		if (kept)
			free_origin(kept);
		if (fd >= 0)
			close(fd);
		return 0;
	}
	origins->last++;
	origins->fresh++;
	if (fd >= 0)
		origins__open(origins, kept, fd);
	return kept->origin.number;
}

static bool is_mapped(const struct origins *origins, const struct code_origin *origin)
{
	switch (origin->kind) {
	case CODE_FILE:
		return unwinder__is_mapped(origins->unwinder, origin->number);
	case CODE_GENERATED:
		return !kill((pid_t)origin->pid, 0) || errno != ESRCH;
	default:
		return true;
	}
}

/*
 * Whether the open file can be opened again by its path. Without build id, another one there could
 * not be told from it.
 */
static bool can_be_found(const struct kept_origin *kept)
{
	struct stat stats;

	return kept->same_root && !kept->origin.deleted && *kept->origin.build_id &&
	       !fstat(kept->origin.fd, &stats) && stats.st_nlink;
}

/* The last used first. */
static int compare_use(const void *a, const void *b)
{
	const struct kept_origin *x = *(struct kept_origin *const *)a;
	const struct kept_origin *y = *(struct kept_origin *const *)b;

	return x->used < y->used ? 1 : -(x->used > y->used);
}

/* Whether an open file with the build id of @kept is known already, which then has the names. */
static bool is_copy(struct map64 *build_ids, const struct kept_origin *kept)
{
	const char *id = kept->origin.build_id;
	size_t known = build_ids->n;

	return *id && map64__put(build_ids, hash__bytes(id, strlen(id)), 1) &&
	       build_ids->n == known;
}

/* Lists the origins that are not mapped, and the build ids of the others. */
static int find_unmapped(const struct origins *origins, origin_list *list, struct map64 *build_ids)
{
	for (size_t i = 0; i < origins->by_number.capacity; i++) {
		const struct map64_slot *slot = &origins->by_number.slots[i];
		struct kept_origin *kept = (struct kept_origin *)(uintptr_t)slot->value;

		if (!slot->used)
			continue;
		if (is_mapped(origins, &kept->origin))
			(void)(kept->origin.fd >= 0 && is_copy(build_ids, kept));
		else if (array__push(list, kept))
			return -ENOMEM;
	}
	array__sort(list, compare_use);
	return 0;
}

static size_t at_most(size_t n, size_t most)
{
	return n < most ? n : most;
}

bool origins__forget_unused(struct origins *origins)
{
	size_t most_open = at_most(KEPT_OPEN, origins->max_fds / 8);
	size_t most_alone = at_most(KEPT_ALONE, origins->max_fds / 4);
	size_t open = 0, alone = 0, closed = 0;
	struct map64 build_ids = {};
	origin_list list = {};

	if (origins->keep_all || origins->fresh < MANY_NEW)
		return false;
	origins->fresh = 0;
	if (find_unmapped(origins, &list, &build_ids))
		list.n = 0;
	for (size_t i = 0; i < list.n; i++) {
		struct kept_origin *kept = list.data[i];

		if (kept->origin.fd >= 0 && is_copy(&build_ids, kept)) {
			close_file(origins, kept);
		} else if (kept->origin.fd >= 0 && can_be_found(kept)) {
			if (++open > most_open)
				close_file(origins, kept);
		} else if (kept->origin.fd >= 0 && ++alone > most_alone) {
			close_file(origins, kept);
			origins->lost++;
		}
		if (kept->origin.fd >= 0 || ++closed <= KEPT_CLOSED)
			continue;
		map64__remove(&origins->by_number, kept->origin.number);
		unwinder__forget_file(origins->unwinder, kept->origin.number);
		free_origin(kept);
	}
	array__free(&list);
	map64__free(&build_ids);
	return closed > KEPT_CLOSED;
}

int origins__fd_of(const struct origins *origins, const char *build_id)
{
	for (size_t i = 0; i < origins->by_number.capacity && *build_id; i++) {
		const struct map64_slot *slot = &origins->by_number.slots[i];
		const struct kept_origin *kept = (const void *)(uintptr_t)slot->value;

		if (slot->used && kept->origin.fd >= 0 && !strcmp(kept->origin.build_id, build_id))
			return kept->origin.fd;
	}
	return -1;
}

/* Whether the file is being read for its unwind table. */
static bool is_read(const struct origins *origins, const struct kept_origin *kept)
{
	return origins->unwinder && kept->origin.kind == CODE_FILE &&
	       unwinder__is_pending(origins->unwinder, kept->origin.number);
}

void origins__limit_open(struct origins *origins)
{
	while (origins->n_fds > origins->max_fds) {
		struct kept_origin *first = NULL;

		for (size_t i = 0; i < origins->by_number.capacity; i++) {
			const struct map64_slot *slot = &origins->by_number.slots[i];
			struct kept_origin *kept = (struct kept_origin *)(uintptr_t)slot->value;

			if (slot->used && kept->origin.fd >= 0 && !is_read(origins, kept) &&
			    (!first || kept->used < first->used))
				first = kept;
		}
		if (!first)
			return;
		origins->lost += !can_be_found(first);
		close_file(origins, first);
	}
}

void origins__free(struct origins *origins)
{
	for (size_t i = 0; i < origins->by_number.capacity; i++) {
		const struct map64_slot *slot = &origins->by_number.slots[i];
		struct kept_origin *kept = (struct kept_origin *)(uintptr_t)slot->value;

		if (!slot->used)
			continue;
		if (kept->origin.fd >= 0)
			close(kept->origin.fd);
		free_origin(kept);
	}
	map64__free(&origins->by_number);
}
