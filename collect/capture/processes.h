/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows, by the events of threads, which processes are recorded, and keeps their address spaces
 * for the unwinder: a new process gets a copy of its parent's, a new program an empty one, and
 * those of processes that existed before are read from /proc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "base/cleanup.h"
#include "collect/stacks/address_spaces.h"

struct processes;

/*
 * @start: begin of the recording, the time of mappings that are read from /proc. @meanwhile is
 * called again and again while these are read, and may call processes__release_mappings(). 0 or
 * -ENOMEM.
 */
int processes__new(struct address_spaces *spaces, struct unwinder *unwinder, uint64_t start,
		   void (*meanwhile)(void *arg), void *arg, struct processes **out);

/* Adds a process that exists, with its mappings. */
void processes__add(struct processes *processes, uint32_t pid);

/* Handles @event of @size bytes; most types are ignored. */
void processes__event(struct processes *processes, const struct event_header *event, size_t size);

/* Handles an executable mapping of any process of the machine. */
void processes__mapping(struct processes *processes, const struct mapping_event *event);

/*
 * Passes on the pending mappings that are not later than @time, of processes that are recorded
 * according to the events so far. The others stay pending, as do those of the process that is being
 * read.
 */
void processes__release_mappings(struct processes *processes, uint64_t time);

/* Drops the pending mappings from before @time: their processes are not recorded. */
void processes__drop_mappings(struct processes *processes, uint64_t time);

/*
 * Copies mappings to new processes whose parents were unknown when they were created. To be called
 * after each batch of events.
 */
void processes__find_parents(struct processes *processes);

/*
 * Ends processes that have lost their memory since their leader exited. To be called after each
 * batch of events, and after processes__find_parents().
 */
void processes__end(struct processes *processes);

/* Whether the kernel has no thread @tid of process @tgid any more; false also if that is unknown.
 */
bool processes__is_gone(uint32_t tgid, uint32_t tid);

/* The number of mappings lost for lack of memory. */
uint64_t processes__lost(const struct processes *processes);

void processes__free(struct processes *processes);
DEFINE_CLEANUP(struct processes *, processes__free)
