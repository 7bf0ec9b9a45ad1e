// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/objects.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static uint64_t file_key(uint64_t inode, uint64_t device)
{
	return hash__add(hash__add(1, inode), device);
}

void objects__file(struct objects *objects, const struct event_file *event, size_t size)
{
	char path[2 * DWELL_PATH_SIZE];
	size_t at = sizeof(path) - 1;
	const char *name = event->names;
	const char *end;
	bool pseudo = event->flags & 1;
	uint64_t *known;

	if (event->size > size - sizeof(*event))
		return;
	path[at] = '\0';
	for (end = name + event->size; name < end;) {
		size_t length = strnlen(name, (size_t)(end - name));

		if (length + 1 > at)
			break;
		at -= length;
		memcpy(path + at, name, length);
		/* A path in a pseudo file system has no root: "pipe:[17]", a memfd. Nor has one
		 * that was cut. */
		if (!pseudo || name + length + 1 < end)
			path[--at] = '/';
		name += length + 1;
	}
	known = aging_map__put(&objects->files, file_key(event->inode, event->device), 0);
	if (known) /* the inode may have been another file's */
		*known = record_stream__string(objects->stream, path + at);
}

#define LIMITS_MAX 65536 /* that are remembered: for each, a program needs a control group */

static uint64_t limit_key(enum stop_cause cause, uint64_t id)
{
	return hash__add(hash__add(2, id), cause);
}

/* "/a/b" of the names "b", "a", "" of a group, or the name of a process and its pid. */
static void limit_name(const struct event_limit *event, char text[2 * DWELL_PATH_SIZE])
{
	char path[2 * DWELL_PATH_SIZE];
	size_t at = sizeof(path) - 1;
	const char *name = event->names, *end = name + event->size;

	if (event->cause == STOP_SIGNAL || event->cause == STOP_TRACER) {
		snprintf(text, sizeof(path), "by %.*s (%llu)", (int)event->size, name, event->id);
		return;
	}
	path[at] = '\0';
	while (name < end) {
		size_t length = strnlen(name, (size_t)(end - name));

		if (length && length + 1 <= at) {
			at -= length;
			memcpy(path + at, name, length);
			path[--at] = '/';
		}
		name += length + 1;
	}
	snprintf(text, sizeof(path), "%s", event->size && !path[at] ? "/" : path + at);
}

/* "0-3,8" of a CPU mask, a bit for each CPU. */
static void cpu_list(const struct event_limit *event, char text[2 * DWELL_PATH_SIZE])
{
	unsigned int n = event->size * 8, first;
	int at = 0;

	text[0] = '\0';
	for (unsigned int cpu = 0; cpu < n && at < DWELL_PATH_SIZE; cpu++) {
		if (!(event->names[cpu / 8] >> cpu % 8 & 1))
			continue;
		first = cpu;
		while (cpu + 1 < n && event->names[(cpu + 1) / 8] >> (cpu + 1) % 8 & 1)
			cpu++;
		at += snprintf(text + at, 64, first < cpu ? "%s%u-%u" : "%s%u", at ? "," : "",
			       first, cpu);
	}
}

static void limit_value(const struct event_limit *event, char text[64])
{
	text[0] = '\0';
	switch ((enum stop_cause)event->cause) {
	case STOP_QUOTA:
	case STOP_DEADLINE:
		if (event->period)
			snprintf(text, 64, "%.4g of %.4g ms", (double)event->value / 1e6,
				 (double)event->period / 1e6);
		break;
	case STOP_AFFINITY:
		snprintf(text, 64, "not allowed on the idle CPUs");
		break;
	case STOP_MEMORY:
		if (event->value)
			snprintf(text, 64, "memory.high %.4g MiB",
				 (double)event->value / (1 << 20));
		break;
	default:
		break;
	}
}

void objects__limit(struct objects *objects, const struct event_limit *event, size_t size)
{
	char name[2 * DWELL_PATH_SIZE], value[64];
	uint64_t key = limit_key(event->cause, event->id);
	const uint64_t *index;
	struct known_limit limit;

	if (event->size > size - sizeof(*event))
		return;
	if (event->cause == STOP_AFFINITY)
		cpu_list(event, name);
	else
		limit_name(event, name);
	limit_value(event, value);
	limit.name = record_stream__string(objects->stream, name);
	limit.value = record_stream__string(objects->stream, value);
	index = map64__get(&objects->limits_by_id, key);
	if (index)
		objects->limits.data[*index] = limit; /* the last of the same id counts */
	else if (objects->limits.n < LIMITS_MAX && !array__push(&objects->limits, limit))
		map64__put(&objects->limits_by_id, key, objects->limits.n - 1);
}

uint32_t objects__limit_number(struct objects *objects, enum stop_cause cause, uint64_t id,
			       bool since_unknown)
{
	const uint64_t *index = map64__get(&objects->limits_by_id, limit_key(cause, id));
	const struct known_limit *known = index ? &objects->limits.data[*index] : NULL;
	struct record_object object = {
		.type = OBJECT_LIMIT,
		.id = id,
		.mode = cause,
		.extra = since_unknown,
		.name = known ? known->name : 0,
		.local = known ? known->value : 0,
	};

	return record_stream__object(objects->stream, &object);
}

static uint32_t address_string(struct objects *objects, uint16_t family, const uint8_t *address,
			       uint16_t port)
{
	char host[INET6_ADDRSTRLEN] = "", text[INET6_ADDRSTRLEN + 16];

	if (!port || !inet_ntop(family, address, host, sizeof(host)))
		return 0;
	snprintf(text, sizeof(text), family == AF_INET6 ? "[%s]:%u" : "%s:%u", host, port);
	return record_stream__string(objects->stream, text);
}

/* The path of a file whose EVENT_FILE has not come (yet): what the descriptor refers to now. */
static uint32_t file_by_descriptor(struct objects *objects, uint32_t pid,
				   const struct event_object *object)
{
	char name[64], path[PATH_MAX];
	struct stat stats;
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%u/fd/%u", pid, object->fd);
	if (stat(name, &stats) || stats.st_ino != object->id)
		return 0;
	n = readlink(name, path, sizeof(path) - 1);
	if (n <= 0)
		return 0;
	path[n] = '\0';
	return record_stream__string(objects->stream, path);
}

/* The path of a file that process @pid has mapped, and that is read by a page fault. */
static uint32_t file_by_mapping(struct objects *objects, uint32_t pid,
				const struct event_object *object)
{
	char name[64], *path;
	_cleanup_free_ char *line = NULL;
	unsigned int major, minor;
	unsigned long inode;
	uint32_t string = 0;
	size_t size = 0;
	FILE *maps;
	int at;

	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	maps = fopen(name, "re");
	while (maps && !string && getline(&line, &size, maps) > 0) {
		at = 0;
		if (sscanf(line, "%*x-%*x %*s %*x %x:%x %lu %n", &major, &minor, &inode, &at) < 3 ||
		    !at || inode != object->id || (major << 20 | minor) != object->extra)
			continue;
		path = line + at;
		path[strcspn(path, "\n")] = '\0';
		string = record_stream__string(objects->stream, path);
	}
	if (maps)
		fclose(maps);
	return string;
}

static uint32_t file_name(struct objects *objects, uint32_t pid, const struct event_object *object)
{
	uint64_t key = file_key(object->id, object->extra), missing = hash__add(key, pid);
	const uint64_t *known;
	uint64_t *kept;
	uint32_t name;

	if (S_ISFIFO(object->mode))
		return 0;
	known = aging_map__get(&objects->files, key);
	if (known)
		return (uint32_t)*known;
	if (object->fd != UINT32_MAX)
		return file_by_descriptor(objects, pid, object);
	/* A process can have many mappings: that none of them is this file is kept for a while. */
	if (aging_map__get(&objects->files, missing))
		return 0;
	name = file_by_mapping(objects, pid, object);
	kept = aging_map__put(&objects->files, name ? key : missing, 0);
	if (kept)
		*kept = name;
	return name;
}

uint32_t objects__number(struct objects *objects, const struct event_object *seen, uint32_t pid)
{
	struct record_object object = {
		.type = seen->type,
		.id = seen->id,
		.extra = seen->extra,
		.mode = seen->mode,
		.family = seen->family,
		.protocol = seen->protocol,
		.side = seen->side,
	};

	switch (seen->type) {
	case OBJECT_NONE:
		return 0;
	case OBJECT_FILE:
		object.name = file_name(objects, pid, seen);
		break;
	case OBJECT_SOCKET:
		object.name = address_string(objects, seen->family, seen->peer, seen->peer_port);
		object.local = address_string(objects, seen->family, seen->local, seen->local_port);
		break;
	default:
		break;
	}
	return record_stream__object(objects->stream, &object);
}

void objects__free(struct objects *objects)
{
	aging_map__free(&objects->files);
	array__free(&objects->limits);
	map64__free(&objects->limits_by_id);
}
