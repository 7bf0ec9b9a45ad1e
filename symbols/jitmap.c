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

#define LARGEST_MAP (512 << 20)

/* The pid that @pid has in its innermost pid namespace, by which it names its files. */
static uint32_t pid__inside(uint32_t pid)
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

/* The user of the process that has @pid now, else our own. */
static uid_t pid__owner(uint32_t pid)
{
	char path[64];
	struct stat stats;

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	return stat(path, &stats) ? geteuid() : stats.st_uid;
}

static int map__open(const char *root, uint32_t pid, uid_t owner)
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

static int map__find(const char *root, uint32_t pid, uid_t owner)
{
	uint32_t inside = pid__inside(pid);
	char own_root[64];
	const struct {
		const char *root;
		uint32_t pid;
	} places[] = {{root, inside}, {root, pid}, {own_root, inside}, {NULL, pid}};
	int err = -ENOENT;

	snprintf(own_root, sizeof(own_root), "/proc/%" PRIu32 "/root", pid);
	for (size_t i = root ? 0 : 2; i < ARRAY_SIZE(places); i++) {
		int fd = map__open(places[i].root, places[i].pid, owner);

		if (fd >= 0)
			return fd;
		if (fd == -EPERM || fd == -ELOOP)
			err = fd;
	}
	return err;
}

/* "START SIZE NAME"; the name may hold spaces. */
static bool entry__parse(char *line, struct jitmap_entry *entry)
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

static int jitmap__parse(struct jitmap *jitmap)
{
	struct jitmap_entry entry;
	char *line = jitmap->text;

	for (char *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (entry__parse(line, &entry) && array__push(jitmap, entry))
			return -ENOMEM;
	}
	return jitmap->n < UINT32_MAX / 2 ? 0 : -EFBIG;
}

/* A heap of entry numbers, the greatest (last written) on top. */
struct heap {
	uint32_t *data;
	size_t n;
};

static void heap__push(struct heap *heap, uint32_t value)
{
	size_t at = heap->n++;

	while (at && heap->data[(at - 1) / 2] < value) {
		heap->data[at] = heap->data[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap->data[at] = value;
}

static void heap__pop(struct heap *heap)
{
	uint32_t value = heap->data[--heap->n];
	size_t at = 0;

	for (size_t child; (child = 2 * at + 1) < heap->n; at = child) {
		if (child + 1 < heap->n && heap->data[child + 1] > heap->data[child])
			child++;
		if (heap->data[child] <= value)
			break;
		heap->data[at] = heap->data[child];
	}
	heap->data[at] = value;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Sweeps over every address where an entry starts or ends (@edges, sorted);
 * @starts are the entries by start.
 */
static int jitmap__sweep(struct jitmap *jitmap, const struct ranges *starts, const uint64_t *edges,
			 struct heap *heap)
{
	size_t at = 0;

	for (size_t i = 0; i + 1 < 2 * jitmap->n; i++) {
		for (; at < starts->n && starts->data[at].start <= edges[i]; at++)
			heap__push(heap, starts->data[at].value);
		while (heap->n && jitmap->data[heap->data[0]].end <= edges[i])
			heap__pop(heap);
		if (heap->n && ranges__add(&jitmap->ranges, edges[i], edges[i + 1], heap->data[0]))
			return -ENOMEM;
	}
	ranges__seal(&jitmap->ranges);
	return 0;
}

/* Cuts the entries into disjoint ranges, each with the entry that was written last. */
static int jitmap__flatten(struct jitmap *jitmap)
{
	_cleanup_free_ uint64_t *edges = calloc(2 * jitmap->n + 1, sizeof(*edges));
	_cleanup_free_ uint32_t *numbers = calloc(jitmap->n + 1, sizeof(*numbers));
	struct heap heap = {.data = numbers};
	struct ranges starts = {};
	int err = 0;

	if (!edges || !numbers)
		return -ENOMEM;
	for (size_t i = 0; i < jitmap->n && !err; i++) {
		const struct jitmap_entry *entry = &jitmap->data[i];

		edges[2 * i] = entry->start;
		edges[2 * i + 1] = entry->end;
		err = ranges__add(&starts, entry->start, entry->end, (uint32_t)i);
	}
	if (!err) {
		qsort(edges, 2 * jitmap->n, sizeof(*edges), compare_addresses);
		ranges__seal(&starts);
		err = jitmap__sweep(jitmap, &starts, edges, &heap);
	}
	ranges__free(&starts);
	return err;
}

int jitmap__read(struct jitmap *jitmap, const char *root, uint32_t pid, int64_t owner)
{
	_cleanup_close_ int fd = map__find(root, pid, owner < 0 ? pid__owner(pid) : (uid_t)owner);
	size_t size;
	int err;

	if (fd < 0)
		return fd;
	err = file__read(fd, LARGEST_MAP, &jitmap->text, &size);
	if (!err)
		err = jitmap__parse(jitmap);
	if (!err)
		err = jitmap__flatten(jitmap);
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
