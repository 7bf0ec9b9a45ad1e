// SPDX-License-Identifier: BSD-2-Clause
/* What TCP held back. */
#include "collect/record/translator.h"

/* Sets who listens, or does not read. */
static void name_owner(struct translator *translator, const struct event_segment *event,
		       struct record_segment *segment)
{
	const struct known_thread *thread =
		translator__find_thread(translator, event->header.thread);
	bool listens = false, wanted = false;
	struct socket_owner owner;

	for (int i = 0; i < SEGMENT_HOLDS; i++) {
		listens |= event->reasons[i] == HOLD_LISTEN_QUEUE && event->role != SEGMENT_DATA;
		wanted |= listens ||
			  (event->reasons[i] == HOLD_WINDOW && event->role == SEGMENT_SPACE);
	}
	if (!wanted || !thread || (event->role == SEGMENT_SPACE && event->writer))
		return;
	owner = socket_owners__find(&translator->owners, thread->tgid, &event->object, listens);
	segment->owner_pid = owner.pid;
	if (owner.pid)
		segment->owner = translator__comm(translator, owner.comm);
}

void translator__segment(struct translator *translator, const struct event_segment *event)
{
	uint64_t time = event->header.time;
	struct record record = {
		.type = RECORD_SEGMENT,
		.segment = {.thread = event->header.thread,
			    .writer = event->writer,
			    .time = time,
			    .written = event->written ? time - event->written : 0,
			    .left = time - event->left,
			    .role = event->role},
	};

	if (event->role == SEGMENT_NOT_ANSWERED) { /* who listens may be gone when it matters */
		name_owner(translator, event, &record.segment);
		return;
	}
	/* It may have been read while it was being written. */
	if (event->written > event->left || event->left > time)
		return;
	for (int i = 0; i < SEGMENT_HOLDS && event->reasons[i]; i++) {
		if (event->until[i] > event->left)
			return;
		record.segment.reasons[i] = event->reasons[i];
		record.segment.until[i] = time - event->until[i];
	}
	record.segment.object =
		translator__object(translator, event->header.thread, &event->object);
	name_owner(translator, event, &record.segment);
	record_stream__put(translator->stream, &record);
}
