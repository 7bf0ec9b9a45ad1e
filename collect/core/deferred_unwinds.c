// SPDX-License-Identifier: BSD-2-Clause
#include "collect/core/deferred_unwinds.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A walk that goes on over a copy of its stack. */
struct unwind_walk {
	__u64 ip;
	__u64 sp;
	__u64 bp;
	__u64 di;
	__u8 end;
	__u8 cause;
	__u8 exact;
	const uint8_t *memory; /* of the stack, size bytes from at on */
	uint64_t at;
	uint32_t size;
	uint64_t *frames;
	uint32_t n;
};

static long read_stack(const struct unwind_walk *walk, void *to, uint32_t size, uint64_t from,
		       bool remote)
{
	(void)remote;
	if (from < walk->at || from - walk->at > walk->size ||
	    walk->size - (from - walk->at) < size)
		return -EFAULT;
	memcpy(to, walk->memory + (from - walk->at), size);
	return 0;
}

#include "abi/unwind_step.h"

/* How often a walk is tried at the end of a batch of events: the buffers are read in turn. */
#define TRIES 3

struct kept_rest {
	struct event_rest *event;
	unsigned int tries;
};

struct rests {
	struct recording_writer *writer;
	const struct unwinder *unwinder;
	ARRAY(struct kept_rest) kept;
};

int rests__new(struct recording_writer *writer, const struct unwinder *unwinder, struct rests **out)
{
	struct rests *rests = calloc(1, sizeof(*rests));

	if (!rests)
		return -ENOMEM;
	rests->writer = writer;
	rests->unwinder = unwinder;
	*out = rests;
	return 0;
}

/* From the present frame to its caller, as unwind_step() of the kernel side. */
static long step(const struct rests *rests, struct unwind_walk *walk,
		 const struct event_rest *event)
{
	uint64_t pc = walk->ip - !walk->exact;
	const struct unwind_row *row;
	struct unwinder_place place;

	if (!unwinder__find(rests->unwinder, event->pid, event->header.time, pc, &place))
		return step_by_frame_pointer(walk, STACK_NO_MAPPING, false);
	if (!place.is_file)
		return step_by_frame_pointer(walk, 0, false);
	if (!place.table->rows)
		return step_by_frame_pointer(walk, STACK_NO_TABLE, false);
	row = unwind_rows__find(place.table->rows, place.table->n_rows, pc - place.bias);
	if (!row)
		return step_by_frame_pointer(walk, STACK_UNSUPPORTED, false);
	if (UNWIND_CFA(row) == UNWIND_CFA_SIGNAL)
		walk->frames[walk->n - 1] = walk->ip + 1;
	return unwind_by(walk, row, false);
}

/*
 * Goes on with the walk of @event; @frames has room for DWELL_MAX_USER_FRAMES. Returns
 * whether it came to code of which more may be known in a moment.
 */
static bool walk_on(const struct rests *rests, const struct event_rest *event,
		    struct record_stack *stack, uint64_t *frames)
{
	const uint64_t *walked = (const void *)(event + 1);
	struct unwind_walk walk = {
		.ip = event->ip,
		.sp = event->sp,
		.bp = event->bp,
		.end = WALK_GOES_ON,
		.exact = event->exact,
		.memory = (const void *)(walked + event->depth),
		.at = event->sp - DWELL_RED_ZONE,
		.size = event->size,
		.frames = frames,
		.n = event->depth,
	};

	memcpy(frames, walked, event->depth * sizeof(*walked));
	while (!step(rests, &walk, event)) {
		frames[walk.n++] = frame_address(&walk, false);
		if (walk.n >= DWELL_MAX_USER_FRAMES) {
			walk.end = STACK_TOO_DEEP;
			break;
		}
	}
	*stack = (struct record_stack){.frames = frames, .depth = walk.n, .end = walk.end};
	return walk.cause == STACK_NO_MAPPING || walk.cause == STACK_NO_TABLE;
}

static bool is_whole(const struct event_rest *event, size_t size)
{
	return event->depth && event->depth < DWELL_MAX_USER_FRAMES &&
	       size - sizeof(*event) >= event->depth * sizeof(uint64_t) + event->size;
}

static bool keep(struct rests *rests, const struct event_rest *event, size_t size)
{
	struct kept_rest kept = {.event = malloc(size)};

	if (!kept.event)
		return false;
	memcpy(kept.event, event, size);
	if (!array__push(&rests->kept, kept))
		return true;
	free(kept.event);
	return false;
}

void rests__event(struct rests *rests, const struct event_rest *event, size_t size)
{
	uint64_t frames[DWELL_MAX_USER_FRAMES];
	struct record_stack stack;

	if (!is_whole(event, size))
		return;
	if (!walk_on(rests, event, &stack, frames) || !keep(rests, event, size))
		recording_writer__stack_frames(rests->writer, event->hash, &stack);
}

size_t rests__kept(const struct rests *rests)
{
	return rests->kept.n;
}

void rests__finish(struct rests *rests, bool last)
{
	uint64_t frames[DWELL_MAX_USER_FRAMES];
	struct record_stack stack;
	size_t kept = 0;

	for (size_t i = 0; i < rests->kept.n; i++) {
		struct kept_rest rest = rests->kept.data[i];
		bool early = walk_on(rests, rest.event, &stack, frames);

		if (early && !last && ++rest.tries < TRIES) {
			rests->kept.data[kept++] = rest;
			continue;
		}
		recording_writer__stack_frames(rests->writer, rest.event->hash, &stack);
		free(rest.event);
	}
	rests->kept.n = kept;
}

void rests__free(struct rests *rests)
{
	for (size_t i = 0; i < rests->kept.n; i++)
		free(rests->kept.data[i].event);
	array__free(&rests->kept);
	free(rests);
}
