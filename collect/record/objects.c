// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/objects.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
		*known = recording_writer__string(objects->writer, path + at);
}

static uint32_t address_string(struct objects *objects, uint16_t family, const uint8_t *address,
			       uint16_t port)
{
	char host[INET6_ADDRSTRLEN] = "", text[INET6_ADDRSTRLEN + 16];

	if (!port || !inet_ntop(family, address, host, sizeof(host)))
		return 0;
	snprintf(text, sizeof(text), family == AF_INET6 ? "[%s]:%u" : "%s:%u", host, port);
	return recording_writer__string(objects->writer, text);
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
	return recording_writer__string(objects->writer, path);
}

static uint32_t file_name(struct objects *objects, uint32_t pid, const struct event_object *object)
{
	const uint64_t *known;

	if (S_ISFIFO(object->mode))
		return 0;
	known = aging_map__get(&objects->files, file_key(object->id, object->extra));
	return known ? (uint32_t)*known : file_by_descriptor(objects, pid, object);
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
	return recording_writer__object(objects->writer, &object);
}

void objects__free(struct objects *objects)
{
	aging_map__free(&objects->files);
}
