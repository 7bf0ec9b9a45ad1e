/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes records of the objects that are waited for, with their names. For translate.c. */
#pragma once

#include "abi/event.h"
#include "base/aging_map.h"
#include "recording/recording.h"

struct objects {
	struct recording_writer *writer;
	struct aging_map files; /* inode and device -> string */
};

/* Keeps the path of @event, of @size bytes: names from the file up to the root. */
void objects__file(struct objects *objects, const struct event_file *event, size_t size);

/* The number of @seen, which is written if it is new; 0: it is none. @pid has its descriptor. */
uint32_t objects__number(struct objects *objects, const struct event_object *seen, uint32_t pid);

void objects__free(struct objects *objects);
