/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which processes are recorded, by the events of their threads, and what that means for
 * address spaces: those of new processes are copies, of new programs empty, and of processes
 * that were there before they are read from /proc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "base/cleanup.h"
#include "collect/core/address_spaces.h"

struct processes;

/* @start is the begin of the recording: mappings read from /proc are as of then. */
int processes__new(struct address_spaces *spaces, struct unwinder *unwinder, uint64_t start,
		   struct processes **out);

/* Adds a process that is there already, with its mappings. */
void processes__add(struct processes *processes, uint32_t pid);

/* Takes notice of @event of @size bytes, if it is of the kind that matters here. */
void processes__event(struct processes *processes, const struct event_header *event, size_t size);

/* An executable mapping that any process of the machine has made. */
void processes__mapping(struct processes *processes, const struct mapping_event *event);

/*
 * Passes on the mappings made up to @time by processes that are recorded, as far as events have
 * told; keeps the others.
 */
void processes__release_mappings(struct processes *processes, uint64_t time);

/* Drops the mappings kept that were made before @time: of processes that are not recorded. */
void processes__drop_mappings(struct processes *processes, uint64_t time);

/* Those whose parents came late have them now. To be called when a batch of events is over. */
void processes__find_parents(struct processes *processes);

/* Mappings for which there was no memory. */
uint64_t processes__lost(const struct processes *processes);

void processes__free(struct processes *processes);
DEFINE_CLEANUP(struct processes *, processes__free)
