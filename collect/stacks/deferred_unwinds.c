// SPDX-License-Identifier: BSD-2-Clause
#include "collect/stacks/deferred_unwinds.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* A walk over a copy of the stack. */
struct unwind_walk {
	__u64 ip;
	__u64 sp;
	__u64 fp;
	__u64 link;
	__u8 end;
	__u8 cause;
	__u8 exact;
	bool last;	       /* it is not tried again */
	bool pending;	       /* it ended at a file whose table is being built */
	const uint8_t *memory; /* the copy: size bytes from address at on */
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

#include "arch/unwind_step.h"

/* How often a walk is tried: what it needs may be in buffers that are read later. */
#define TRIES 3
/* Walks that are kept at most; each has up to 33 KiB. */
#define MAX_KEPT 1024

struct kept_walk {
	struct event_deferred *event;
	unsigned int tries;
};

struct deferred_unwinds {
	struct unwinder *unwinder;
	event_fn on_event;
	void *arg;
	ARRAY(struct kept_walk) kept;
	/* The event that is sent: struct event_stacks and its frames. */
	uint64_t stack[sizeof(struct event_stacks) / sizeof(uint64_t) + DWELL_MAX_USER_FRAMES];
};

int deferred_unwinds__new(struct unwinder *unwinder, event_fn on_event, void *arg,
			  struct deferred_unwinds **out)
{
	struct deferred_unwinds *deferred = calloc(1, sizeof(*deferred));

	if (!deferred)
		return -ENOMEM;
	deferred->unwinder = unwinder;
	deferred->on_event = on_event;
	deferred->arg = arg;
	*out = deferred;
	return 0;
}

/* Steps from the current frame to its caller, like unwind_step() of the kernel side. */
static long step(const struct deferred_unwinds *deferred, struct unwind_walk *walk,
		 const struct event_deferred *event)
{
	uint64_t pc = walk->ip - !walk->exact;
	const struct unwind_row *row;
	struct unwinder_place place;

	if (!unwinder__find(deferred->unwinder, event->pid, event->header.time, pc, &place))
		return step_by_frame_pointer(walk, STACK_NO_MAPPING, false);
	if (!place.is_file)
		return step_by_frame_pointer(walk, 0, false);
	walk->pending = !place.table->rows && place.is_pending && !walk->last;
	if (walk->pending)
		return end_walk(walk, STACK_NO_TABLE);
	if (!place.table->rows)
		return step_by_frame_pointer(walk, STACK_NO_TABLE, false);
	row = unwind_rows__find(place.table->rows, place.table->n_rows, pc - place.bias);
	if (!row)
		return step_by_frame_pointer(walk, STACK_UNSUPPORTED, false);
	if (UNWIND_CFA(row) == UNWIND_CFA_SIGNAL)
		walk->frames[walk->n - 1] = walk->ip + 1;
	return unwind_by(walk, row, false);
}

enum walk_result {
	WALK_DONE,
	WALK_INCOMPLETE, /* it met code whose mapping or table is not known, but may be soon */
	WALK_PENDING,	 /* it met code whose table is being built */
};

/*
 * Continues the walk of @event, and stores the result in deferred->stack. @last: it is not tried
 * again.
 */
static enum walk_result continue_walk(struct deferred_unwinds *deferred,
				      const struct event_deferred *event, bool last)
{
	const uint64_t *walked = (const void *)(event + 1);
	struct event_stacks *whole = (void *)deferred->stack;
	uint64_t *frames = deferred->stack + sizeof(*whole) / sizeof(*frames);
	struct unwind_walk walk = {
		.ip = event->ip,
		.sp = event->sp,
		.fp = event->fp,
		.end = WALK_GOES_ON,
		.exact = event->exact,
		.last = last,
		.memory = (const void *)(walked + event->depth),
		.at = event->sp - RED_ZONE,
		.size = event->size,
		.frames = frames,
		.n = event->depth,
	};

	memcpy(frames, walked, event->depth * sizeof(*walked));
	while (!step(deferred, &walk, event)) {
		frames[walk.n++] = frame_address(&walk, false);
		if (walk.n >= DWELL_MAX_USER_FRAMES) {
			walk.end = STACK_TOO_DEEP;
			break;
		}
	}
	whole->header = (struct event_header){.type = EVENT_STACKS, .time = event->header.time};
	whole->pid = event->pid;
	whole->stack = (struct event_stack){
		.user_hash = event->hash, .user_depth = (uint16_t)walk.n, .user_end = walk.end};
	if (walk.pending)
		return WALK_PENDING;
	return walk.cause == STACK_NO_MAPPING || walk.cause == STACK_NO_TABLE ? WALK_INCOMPLETE
									      : WALK_DONE;
}

static void send_stack(const struct deferred_unwinds *deferred)
{
	const struct event_stacks *event = (const void *)deferred->stack;

	deferred->on_event(deferred->arg, &event->header,
			   sizeof(*event) + event->stack.user_depth * sizeof(uint64_t));
}

static bool is_well_formed(const struct event_deferred *event, size_t size)
{
	return size >= sizeof(*event) && event->depth && event->depth < DWELL_MAX_USER_FRAMES &&
	       size - sizeof(*event) >= event->depth * sizeof(uint64_t) + event->size;
}

static bool keep(struct deferred_unwinds *deferred, const struct event_deferred *event, size_t size)
{
	struct kept_walk kept = {.event = deferred->kept.n < MAX_KEPT ? malloc(size) : NULL};

	if (!kept.event)
		return false;
	memcpy(kept.event, event, size);
	if (!array__push(&deferred->kept, kept))
		return true;
	free(kept.event);
	return false;
}

void deferred_unwinds__event(struct deferred_unwinds *deferred, const struct event_deferred *event,
			     size_t size)
{
	if (!is_well_formed(event, size))
		return;
	if (continue_walk(deferred, event, false) != WALK_DONE) {
		if (keep(deferred, event, size))
			return;
		continue_walk(deferred, event, true);
	}
	send_stack(deferred);
}

size_t deferred_unwinds__kept(const struct deferred_unwinds *deferred)
{
	return deferred->kept.n;
}

void deferred_unwinds__finish(struct deferred_unwinds *deferred, bool last)
{
	size_t kept = 0;

	for (size_t i = 0; i < deferred->kept.n; i++) {
		struct kept_walk walk = deferred->kept.data[i];
		enum walk_result result = continue_walk(deferred, walk.event, last);

		if (!last && (result == WALK_PENDING ||
			      (result == WALK_INCOMPLETE && ++walk.tries < TRIES))) {
			deferred->kept.data[kept++] = walk;
			continue;
		}
		send_stack(deferred);
		free(walk.event);
	}
	deferred->kept.n = kept;
}

void deferred_unwinds__free(struct deferred_unwinds *deferred)
{
	for (size_t i = 0; i < deferred->kept.n; i++)
		free(deferred->kept.data[i].event);
	array__free(&deferred->kept);
	free(deferred);
}
