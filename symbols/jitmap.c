// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/jitmap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "symbols/elf/elf_file.h"

#define MAX_MAP_SIZE (512 << 20)

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

/* The uid of the process that has @pid now, or our own if there is none. */
static uid_t process_uid(uint32_t pid)
{
	char path[64];
	struct stat stats;

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	return stat(path, &stats) ? geteuid() : stats.st_uid;
}

static int open_map(const char *root, uint32_t pid, uid_t owner)
{
	_cleanup_close_ int fd = -1;
	struct stat stats;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", pid);
	fd = file__open_no_link(root, path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &stats))
		return -errno;
	if (stats.st_uid && stats.st_uid != owner)
		return -EPERM;
	return TAKE_FD(fd);
}

static int find_map(const char *root, uint32_t pid, uid_t owner)
{
	uint32_t inside = innermost_pid(pid);
	char own_root[64];
	const struct {
		const char *root;
		uint32_t pid;
	} places[] = {{root, inside}, {root, pid}, {own_root, inside}, {NULL, pid}};
	int err = -ENOENT;

	snprintf(own_root, sizeof(own_root), "/proc/%" PRIu32 "/root", pid);
	for (size_t i = root ? 0 : 2; i < ARRAY_SIZE(places); i++) {
		int fd = open_map(places[i].root, places[i].pid, owner);

		if (fd >= 0)
			return fd;
		if (fd == -EPERM || fd == -ELOOP)
			err = fd;
	}
	return err;
}

/* "START SIZE NAME"; the name may contain spaces. */
static bool parse_entry(char *line, struct jitmap_entry *entry)
{
	uint64_t size;
	char *end;

	entry->start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end + 1;
	size = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	entry->name = end + 1 + strspn(end + 1, " ");
	entry->end = entry->start + size;
	return entry->name[0] && entry->end > entry->start;
}

static int jitmap_parse(struct jitmap *jitmap)
{
	struct jitmap_entry entry;
	char *line = jitmap->text;

	for (char *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (parse_entry(line, &entry) && array__push(jitmap, entry))
			return -ENOMEM;
	}
	return jitmap->n < UINT32_MAX / 2 ? 0 : -EFBIG;
}

static uint32_t written_last(const void *context, uint32_t value)
{
	return value;
}

/* Cuts the entries into disjoint ranges: at each address the entry written last wins. */
static int jitmap_flatten(struct jitmap *jitmap)
{
	struct ranges entries = {};
	int err = 0;

	for (size_t i = 0; i < jitmap->n && !err; i++)
		err = ranges__add(&entries, jitmap->data[i].start, jitmap->data[i].end,
				  (uint32_t)i);
	ranges__seal(&entries);
	if (!err)
		err = ranges__flatten(&entries, written_last, NULL, &jitmap->ranges);
	ranges__seal(&jitmap->ranges);
	ranges__free(&entries);
	return err;
}

int jitmap__read(struct jitmap *jitmap, const char *root, uint32_t pid, int64_t owner)
{
	_cleanup_close_ int fd = find_map(root, pid, owner < 0 ? process_uid(pid) : (uid_t)owner);
	size_t size;
	int err;

	if (fd < 0)
		return fd;
	err = file__read(fd, MAX_MAP_SIZE, &jitmap->text, &size);
	if (!err)
		err = jitmap_parse(jitmap);
	if (!err)
		err = jitmap_flatten(jitmap);
	if (err)
		jitmap__free(jitmap);
	return err;
}

const char *jitmap__find(const struct jitmap *jitmap, uint64_t address)
{
	const struct range *range = ranges__find(&jitmap->ranges, address);

	return range ? jitmap->data[range->value].name : NULL;
}

void jitmap__free(struct jitmap *jitmap)
{
	free(jitmap->text);
	array__free(jitmap);
	ranges__free(&jitmap->ranges);
	*jitmap = (struct jitmap){};
}
