/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks that the kernel side could not end: a program or a library was so new
 * that it had no table yet. They go on here, over the copy of the stack that
 * came with them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "base/cleanup.h"
#include "collect/core/unwinder.h"
#include "collect/core/rings.h"

struct deferred_unwinds;

/* @on_event gets the stacks, as events of type EVENT_STACKS. Returns 0 or -ENOMEM. */
int deferred_unwinds__new(const struct unwinder *unwinder, event_fn on_event, void *arg,
			  struct deferred_unwinds **out);

/*
 * Goes on with the walk of @event, of @size bytes, and hands out the stack. One that
 * comes to code not known yet is kept for deferred_unwinds__finish(). A malformed event is
 * skipped.
 */
void deferred_unwinds__event(struct deferred_unwinds *deferred, const struct event_deferred *event,
			     size_t size);

/* How many walks are kept. */
size_t deferred_unwinds__kept(const struct deferred_unwinds *deferred);

/*
 * Goes on with the walks kept, and hands out their stacks: those that have been tried
 * often enough, and all at the @last call, whole or not. To be called when a batch
 * of events is over.
 */
void deferred_unwinds__finish(struct deferred_unwinds *deferred, bool last);

void deferred_unwinds__free(struct deferred_unwinds *deferred);
DEFINE_CLEANUP(struct deferred_unwinds *, deferred_unwinds__free)
