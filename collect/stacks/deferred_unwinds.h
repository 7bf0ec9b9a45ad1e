/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deferred unwinds: completes walks that the kernel side could not, because a program or library
 * had no table yet, over the copy of the stack in the event.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "base/cleanup.h"
#include "collect/stacks/unwinder.h"
#include "collect/kernel/rings.h"

struct deferred_unwinds;

/* @on_event gets the stacks as events of type EVENT_STACKS. Returns 0 or -ENOMEM. */
int deferred_unwinds__new(struct unwinder *unwinder, event_fn on_event, void *arg,
			  struct deferred_unwinds **out);

/*
 * Continues the walk of @event, of @size bytes, and sends the stack. A walk that reaches code that
 * is not known yet is kept for deferred_unwinds__finish(). Skips a malformed event.
 */
void deferred_unwinds__event(struct deferred_unwinds *deferred, const struct event_deferred *event,
			     size_t size);

/* The number of walks that are kept. */
size_t deferred_unwinds__kept(const struct deferred_unwinds *deferred);

/*
 * Tries the kept walks again, and sends the stacks of those that are complete or were tried often
 * enough while no table that they need was being built; with @last, of all. To be called after each
 * batch of events.
 */
void deferred_unwinds__finish(struct deferred_unwinds *deferred, bool last);

void deferred_unwinds__free(struct deferred_unwinds *deferred);
DEFINE_CLEANUP(struct deferred_unwinds *, deferred_unwinds__free)
