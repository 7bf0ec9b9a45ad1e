// SPDX-License-Identifier: BSD-2-Clause
/* Intervals, with the times in which the thread was not allowed to run. */
#include "collect/record/translator.h"

/* Sets the object of @interval, in whose blocked part the thread was not allowed to run. */
static void name_stop(struct translator *translator, const struct event_interval *event,
		      struct record_interval *interval)
{
	bool asleep = event->stop == STOP_FREEZER && event->class != CLASS_STOPPED;

	/* What a thread writes to is of more interest than the limit for the whole machine. */
	if (event->stop != STOP_WRITEBACK && event->stop != STOP_NONE)
		interval->object = objects__limit_number(&translator->objects, event->stop,
							 event->stopped_by, asleep);
}

/*
 * Writes @record, of which the thread was not allowed to run in the first event->stopped ns of the
 * run-queue part: two intervals, the second of which is the rest, unless there was only that.
 */
static void put_stopped(struct translator *translator, const struct event_interval *event,
			struct record *record)
{
	struct record_interval *interval = &record->interval;
	struct record first = *record;
	bool preempted = event->flags & INTERVAL_PREEMPTED;

	if (!preempted) {
		first.interval.runq_ns = first.interval.runq_points = 0;
		first.interval.flags &= ~(INTERVAL_UNFINISHED | INTERVAL_CPU_SEEN);
		first.interval.previous = first.interval.cpu = 0;
		first.interval.sequence =
			event->sequence > 1 ? event->sequence - 1 : INTERVAL_SEQUENCES;
		record_stream__put(translator->stream, &first);
		interval->t_out = event->t_wake;
		interval->stolen_ns = 0;
		interval->flags &= ~(INTERVAL_UNINTERRUPTIBLE | INTERVAL_BEGUN_BEFORE);
	}
	interval->class = CLASS_STOPPED;
	interval->blocked_ns = event->stopped;
	interval->blocked_points = event->stopped_points;
	interval->runq_ns = event->header.time - event->t_wake - event->stopped;
	interval->waker = interval->sender = interval->device = interval->request = 0;
	interval->waker_context = WAKER_UNKNOWN;
	name_stop(translator, event, interval);
	record_stream__put(translator->stream, record);
}

void translator__put_interval(struct translator *translator, const struct event_interval *event,
			      struct record *record)
{
	if (event->stopped) {
		put_stopped(translator, event, record);
		return;
	}
	if (event->class == CLASS_STOPPED || event->stop == STOP_FREEZER)
		name_stop(translator, event, &record->interval);
	record_stream__put(translator->stream, record);
}
