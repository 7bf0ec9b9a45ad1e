/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes records of the objects that are waited for, with their names. For translate.c. */
#pragma once

#include "abi/event.h"
#include "base/aging_map.h"
#include "base/array.h"
#include "base/hash.h"
#include "recording/record_stream.h"
#include "recording/recording.h"

struct known_limit {
	uint32_t name; /* strings */
	uint32_t value;
};

struct objects {
	struct record_stream *stream;
	/* Inode and device -> string; with the pid of a process that has not mapped the file -> 0.
	 */
	struct aging_map files;
	ARRAY(struct known_limit) limits; /* LIMITS_MAX at most */
	struct map64 limits_by_id;	  /* hash of cause and id -> index there */
};

/* Keeps the path of @event, of @size bytes: names from the file up to the root. */
void objects__file(struct objects *objects, const struct event_file *event, size_t size);

/* Keeps what @event, of @size bytes, says of a limit. */
void objects__limit(struct objects *objects, const struct event_limit *event, size_t size);

/*
 * The number of the limit (OBJECT_LIMIT) @id that stopped a thread for @cause, as the last
 * EVENT_LIMIT describes it. @since_unknown: the thread slept when it was stopped.
 */
uint32_t objects__limit_number(struct objects *objects, enum stop_cause cause, uint64_t id,
			       bool since_unknown);

/* The number of @seen, which is written if it is new; 0: it is none. @pid has its descriptor. */
uint32_t objects__number(struct objects *objects, const struct event_object *seen, uint32_t pid);

void objects__free(struct objects *objects);
