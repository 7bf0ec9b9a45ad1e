/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring buffers from the kernel side to user space, one per CPU up to a limit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "base/cleanup.h"

struct rings;

/* @event is valid during the call; @size is what was sent. */
typedef void (*event_fn)(void *arg, const struct event_header *event, size_t size);

/* Creates rings of @bytes each, a power of two of pages. -errno with a message. */
int rings__new(size_t bytes, event_fn on_event, void *arg, struct rings **out);

/* The descriptors of their *@n maps, a power of two, which stay the rings'. */
const int *rings__maps(const struct rings *rings, uint32_t *n);

/*
 * A descriptor that polls readable if a ring was filled to capture_settings.ring_wake_at since the
 * last rings__consume().
 */
int rings__fd(const struct rings *rings);

/*
 * Passes all events that were queued before the call to on_event, and of those that come meanwhile
 * at most as many as the rings hold. Rings are read in turns.
 */
void rings__consume(struct rings *rings);

void rings__free(struct rings *rings);
DEFINE_CLEANUP(struct rings *, rings__free)
