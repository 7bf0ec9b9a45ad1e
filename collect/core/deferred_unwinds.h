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
#include "collect/core/unwinder.h"
#include "recording/recording.h"

struct rests;

/* @writer gets the stacks. Both stay the caller's. Returns 0 or -ENOMEM. */
int rests__new(struct recording_writer *writer, const struct unwinder *unwinder,
	       struct rests **out);

/*
 * Goes on with the walk of @event, of @size bytes, and writes the stack. One that
 * comes to code not known yet is kept for rests__finish(). A malformed event is
 * skipped. The writer keeps its error.
 */
void rests__event(struct rests *rests, const struct event_rest *event, size_t size);

/* How many walks are kept. */
size_t rests__kept(const struct rests *rests);

/*
 * Goes on with the walks kept, and writes their stacks: those that have been tried
 * often enough, and all at the @last call, whole or not. To be called when a batch
 * of events is over.
 */
void rests__finish(struct rests *rests, bool last);

void rests__free(struct rests *rests);
