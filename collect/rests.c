// SPDX-License-Identifier: BSD-2-Clause
#include "collect/rests.h"

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

#include "bpf/step.h"

struct rests {
	struct recording_writer *writer;
	const struct unwinder *unwinder;
	ARRAY(struct event_rest *) kept;
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

/* Goes on with the walk of @event; @frames has room for DWELL_MAX_USER_FRAMES. */
static void walk_on(const struct rests *rests, const struct event_rest *event,
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
}

static bool is_whole(const struct event_rest *event, size_t size)
{
	return event->depth && event->depth < DWELL_MAX_USER_FRAMES &&
	       size - sizeof(*event) >= event->depth * sizeof(uint64_t) + event->size;
}

static bool keep(struct rests *rests, const struct event_rest *event, size_t size)
{
	struct event_rest *copy = malloc(size);

	if (!copy)
		return false;
	memcpy(copy, event, size);
	if (!array__push(&rests->kept, copy))
		return true;
	free(copy);
	return false;
}

void rests__event(struct rests *rests, const struct event_rest *event, size_t size)
{
	uint64_t frames[DWELL_MAX_USER_FRAMES];
	struct record_stack stack;

	if (!is_whole(event, size))
		return;
	walk_on(rests, event, &stack, frames);
	if ((stack.end == STACK_NO_MAPPING || stack.end == STACK_NO_TABLE) &&
	    keep(rests, event, size))
		return;
	recording_writer__stack_frames(rests->writer, event->hash, &stack);
}

size_t rests__kept(const struct rests *rests)
{
	return rests->kept.n;
}

void rests__finish(struct rests *rests)
{
	uint64_t frames[DWELL_MAX_USER_FRAMES];
	struct record_stack stack;

	for (size_t i = 0; i < rests->kept.n; i++) {
		struct event_rest *event = rests->kept.data[i];

		walk_on(rests, event, &stack, frames);
		recording_writer__stack_frames(rests->writer, event->hash, &stack);
		free(event);
	}
	rests->kept.n = 0;
}

void rests__free(struct rests *rests)
{
	for (size_t i = 0; i < rests->kept.n; i++)
		free(rests->kept.data[i]);
	array__free(&rests->kept);
	free(rests);
}
