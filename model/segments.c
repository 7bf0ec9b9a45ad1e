// SPDX-License-Identifier: BSD-2-Clause
/* What TCP held back: loaded, and linked to the waits that it made longer. */
#include <errno.h>

#include "model/loader.h"

/* Who listens, or does not read: as the recorder found it in /proc, or the kernel side told. */
static void find_owner(struct model_loader *loader, const struct record_segment *from,
		       uint32_t writer, uint32_t *pid, uint32_t *name)
{
	const struct model_thread *thread = &loader->model->threads.data[writer];

	*pid = from->owner_pid;
	*name = model_loader__string(loader, from->owner);
	if (*pid || from->role != SEGMENT_SPACE || !thread->comms.n)
		return;
	*pid = thread->tgid;
	*name = thread->comms.data[thread->comms.n - 1].name;
}

int model_loader__segment(struct model_loader *loader, const struct record *record)
{
	const struct record_segment *from = &record->segment;
	uint32_t writer = model_loader__thread(loader, from->writer);
	uint32_t thread = model_loader__thread(loader, from->thread);
	uint32_t plain = number_map__get(&loader->objects, from->object);
	struct model_segment segment = {
		.time = from->time,
		.written = from->role == SEGMENT_SPACE ? 0 : from->time - from->written,
		.left = from->time - from->left,
		.writer = writer,
		.role = from->role < SEGMENT_ROLE_COUNT ? from->role : SEGMENT_DATA,
	};
	uint32_t owner_pid, owner;

	if (!thread || segment.written > segment.left)
		return -EINVAL;
	find_owner(loader, from, writer, &owner_pid, &owner);
	for (int i = 0; i < SEGMENT_HOLDS && from->reasons[i]; i++) {
		struct model_object object = loader->model->objects.data[plain];

		object.hold = from->reasons[i] < HOLD_COUNT ? from->reasons[i] : HOLD_OTHER;
		object.owner_pid = owner_pid;
		object.owner = owner;
		segment.reasons[i] = object.hold;
		segment.until[i] = from->time - from->until[i];
		segment.objects[i] = model_loader__merge_object(loader, &object);
		if (!segment.objects[i])
			return -ENOMEM;
		segment.n++;
	}
	if (!segment.n)
		return -EINVAL;
	return array__push(&loader->model->threads.data[thread].segments, segment);
}

size_t model_interval__holds(const struct model_thread *thread,
			     const struct model_interval *interval,
			     struct model_hold holds[SEGMENT_HOLDS])
{
	uint64_t wake = interval->t_out + interval->blocked_ns, at = interval->t_out;
	const struct model_segment *segment;
	size_t n = 0;

	if (!interval->segment)
		return 0;
	segment = &thread->segments.data[interval->segment - 1];
	if (segment->written > at)
		at = segment->written;
	for (size_t i = 0; i < segment->n; i++) {
		uint64_t until = segment->until[i] < wake ? segment->until[i] : wake;

		if (until <= at)
			continue;
		holds[n++] = (struct model_hold){.from = at,
						 .until = until,
						 .object = segment->objects[i],
						 .reason = segment->reasons[i]};
		at = until;
	}
	return n;
}

/* If most of the blocked part of @interval was held back, that is what it waited for. */
static void explain(const struct model_thread *thread, struct model_interval *interval)
{
	struct model_hold holds[SEGMENT_HOLDS];
	size_t n = model_interval__holds(thread, interval, holds), longest = 0;
	uint64_t held = 0;

	for (size_t i = 0; i < n; i++) {
		held += holds[i].until - holds[i].from;
		if (holds[i].until - holds[i].from > holds[longest].until - holds[longest].from)
			longest = i;
	}
	if (!n || held <= interval->blocked_ns / 2)
		return;
	interval->held = holds[longest].object;
}

/* The wait that most of the time of @segment is, in which no answer came: an interrupt ended it. */
static void explain_no_answer(struct model_thread *thread, const struct model_segment *segment)
{
	size_t n = model_thread__intervals_until(thread, segment->time, thread->intervals.n);
	uint64_t least = (segment->left - segment->written) / 2;

	for (; n; n--) {
		struct model_interval *interval = &thread->intervals.data[n - 1];

		if (interval->t_out < segment->written)
			return;
		if (interval->blocked_ns <= least || interval->waker_context < WAKER_SOFTIRQ)
			continue;
		interval->object = segment->objects[0];
		return;
	}
}

void model_loader__join_segments(struct model_thread *thread)
{
	size_t at = 0;

	for (size_t i = 0; i < thread->segments.n; i++)
		if (thread->segments.data[i].role == SEGMENT_NO_ANSWER)
			explain_no_answer(thread, &thread->segments.data[i]);

	for (size_t i = 0; i < thread->intervals.n && at < thread->segments.n; i++) {
		struct model_interval *interval = &thread->intervals.data[i];
		uint64_t wake = interval->t_out + interval->blocked_ns;

		while (at < thread->segments.n && thread->segments.data[at].time < wake)
			at++;
		if (at == thread->segments.n || thread->segments.data[at].time != wake ||
		    thread->segments.data[at].role == SEGMENT_NO_ANSWER ||
		    interval->flags & INTERVAL_PREEMPTED)
			continue;
		interval->segment = (uint32_t)at + 1;
		explain(thread, interval);
	}
}
