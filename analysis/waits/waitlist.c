// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/waitlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An annotation within this time after a wakeup refers to that wakeup. */
#define SOON_NS 100000

uint32_t waitlist__node(struct waitlist *list, struct wait_cause cause)
{
	uint64_t key = (uint64_t)cause.type << 32 | cause.id;
	uint64_t *known;

	if (cause.type == CAUSE_THREAD)
		return cause.id;
	if (cause.type == CAUSE_UNKNOWN)
		return 0;
	known = map64__put(&list->others, key, list->nodes.n);
	if (!known)
		return NO_NODE;
	if (*known == list->nodes.n &&
	    array__push(&list->nodes,
			((struct wait_node){.type = cause.type,
					    .id = cause.id,
					    .waits_known = cause.type == CAUSE_DEVICE ||
							   cause.type == CAUSE_TCP ||
							   cause.type == CAUSE_QUEUE})))
		return NO_NODE;
	return (uint32_t)*known;
}

int waitlist__add(struct waitlist *list, struct wait wait, struct wait_source source)
{
	if (wait.waiter == NO_NODE || wait.waker == NO_NODE)
		return -ENOMEM;
	if (wait.begin < list->from)
		wait.begin = list->from;
	if (wait.end > list->until)
		wait.end = list->until;
	if (wait.begin >= wait.end)
		return 0;
	return array__push(&list->waits, wait) ?: array__push(&list->sources, source);
}

/* Merges the intervals and annotations of one thread, both in the order of time. */
struct thread_walk {
	struct waitlist *list;
	const struct wait_causes *causes;
	const struct model_thread *thread;
	uint32_t index;	   /* of the thread */
	size_t annotation; /* the next one */
};

/* Whether the thread annotated, between @interval and @next, that it was woken for nothing. */
static bool woken_for_nothing(struct thread_walk *walk, const struct model_interval *interval,
			      const struct model_interval *next)
{
	const struct model_thread *thread = walk->thread;
	uint64_t from = interval->t_out + interval->blocked_ns, until = next->t_out;

	/* In sampling mode there may have been waits in between that were not recorded. */
	if (!walk->list->model->trace && until > from + interval->runq_ns + SOON_NS)
		until = from + interval->runq_ns + SOON_NS;

	for (; walk->annotation < thread->annotations.n; walk->annotation++) {
		const struct model_annotation *at = &thread->annotations.data[walk->annotation];

		if (at->time >= until)
			return false;
		if (at->time >= from && at->type == ANNOTATION_WOKEN_FOR_NOTHING)
			return true;
	}
	return false;
}

static uint64_t wake_time(const struct model_interval *interval)
{
	return interval->t_out + interval->blocked_ns;
}

/*
 * Sets *@last to the interval with which the wait ends that begins with interval @i: a later one
 * after false wakeups (wPerf, section 4.1). The time in between, in which the thread checks its
 * condition, belongs to the wait.
 */
static void follow_false_wakeups(struct thread_walk *walk, size_t i, size_t *last)
{
	const struct model_thread *thread = walk->thread;
	const struct model_interval *intervals = thread->intervals.data;

	*last = i;
	for (size_t next = i + 1; next < thread->intervals.n; next++) {
		if (!intervals[next].blocked_ns)
			continue;
		if (!woken_for_nothing(walk, &intervals[*last], &intervals[next]))
			return;
		walk->list->false_wakeups++;
		*last = next;
	}
}

/* Whether a kernel thread waits for work: nothing is lost by that. */
static bool is_idle(const struct thread_walk *walk, const struct model_interval *interval)
{
	return walk->thread->flags & THREAD_KERNEL &&
	       wait_causes__kind(walk->causes, interval) == KIND_IDLE_THREAD;
}

/* After a false wakeup the time in the run queue belongs to the wait. */
static uint64_t wait_end(const struct model_interval *interval, bool false_wakeup)
{
	return wake_time(interval) + (false_wakeup ? interval->runq_ns : 0);
}

/*
 * Whether the waits on both sides of a false wakeup are one. In sampling mode only if they are too
 * close together for an unrecorded wait in between.
 */
static bool is_joined(const struct waitlist *list, const struct model_interval *interval)
{
	const struct model_interval *next = interval + 1;

	return list->model->trace || next->t_out <= wait_end(interval, true) + SOON_NS;
}

/* Who or what @hold is a wait for: TCP, or the peer that does not read. */
static uint32_t holder(struct thread_walk *walk, const struct model_hold *hold)
{
	struct wait_peer peer = wait_causes__peer_of_hold(walk->causes, walk->index, hold);

	return waitlist__node(walk->list, peer.name ? (struct wait_cause){CAUSE_PEER, peer.name}
						    : wait_causes__of_hold(walk->causes, hold));
}

/* Adds @wait, which TCP held up in between: each part of it is a wait for what is to blame. */
static int add_held(struct thread_walk *walk, const struct model_interval *interval,
		    struct wait wait, struct wait_source source)
{
	struct waitlist *list = walk->list;
	struct model_hold holds[SEGMENT_HOLDS];
	size_t n = model_interval__holds(walk->thread, interval, holds);
	struct wait part = wait;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		part.end = holds[i].from;
		err = waitlist__add(list, part, source);
		if (err)
			break;
		err = waitlist__add(list,
				    (struct wait){.begin = holds[i].from,
						  .end = holds[i].until,
						  .waiter = wait.waiter,
						  .waker = holder(walk, &holds[i])},
				    source);
		part.begin = holds[i].until;
	}
	part.end = wait.end;
	return err ? err : waitlist__add(list, part, source);
}

static int add_blocked(struct thread_walk *walk, size_t first, size_t last)
{
	const struct model_interval *intervals = walk->thread->intervals.data;
	struct waitlist *list = walk->list;
	struct wait_cause cause =
		wait_causes__beside_holds(walk->causes, walk->index, &intervals[last]);
	uint32_t waker = waitlist__node(list, cause);
	int err = 0;

	for (size_t i = first; i <= last && !err; i++) {
		struct wait_source source = {
			.origin = WAIT_BLOCKED,
			.spacing = INTERVAL_SPACING(intervals[i].flags),
			.index = (uint32_t)i,
		};
		bool joined = i < last && is_joined(list, &intervals[i]);
		struct wait wait = {
			.begin = intervals[i].t_out,
			.end = joined ? intervals[i + 1].t_out : wait_end(&intervals[i], i < last),
			.waiter = walk->index,
			.waker = waker,
			.idle = is_idle(walk, &intervals[i]),
		};

		if (intervals[i].segment)
			err = add_held(walk, &intervals[i], wait, source);
		else if (intervals[i].blocked_ns || joined)
			err = waitlist__add(list, wait, source);
	}
	return err;
}

/* Reserves room for all waits but spins: growing the arrays would take 1.5 times the memory. */
static int make_room(struct waitlist *list)
{
	const struct model *model = list->model;
	size_t n = 0;

	for (size_t i = 1; i < model->threads.n; i++)
		n += model->threads.data[i].intervals.n;
	for (size_t i = 1; i < model->devices.n; i++)
		n += model->devices.data[i].idles.n;
	return array__reserve(&list->waits, n) ?: array__reserve(&list->sources, n);
}

static int add_thread(struct waitlist *list, const struct wait_causes *causes, uint32_t index)
{
	struct thread_walk walk = {
		.list = list,
		.causes = causes,
		.thread = &list->model->threads.data[index],
		.index = index,
	};
	const struct model_thread *thread = walk.thread;
	int err = 0;

	for (size_t i = 0, last; i < thread->intervals.n && !err; i = last + 1) {
		last = i;
		if (!thread->intervals.data[i].blocked_ns)
			continue;
		if (thread->annotations.n)
			follow_false_wakeups(&walk, i, &last);
		err = add_blocked(&walk, i, last);
	}
	return err;
}

static int add_device(struct waitlist *list, uint32_t index)
{
	const struct model_device *device = &list->model->devices.data[index];
	uint32_t waiter = waitlist__node(list, (struct wait_cause){CAUSE_DEVICE, index});
	int err = 0;

	for (size_t i = 0; i < device->idles.n && !err; i++) {
		const struct model_idle *idle = &device->idles.data[i];
		bool named = list->model->threads.data[idle->thread].tid;
		bool ended = idle->thread || idle->since + idle->ns < list->model->end;
		struct wait_cause feeder = {named   ? CAUSE_THREAD
					    : ended ? CAUSE_UNKNOWN
						    : CAUSE_UNFINISHED,
					    named ? idle->thread : 0};
		struct wait_source source = {
			.origin = WAIT_DEVICE_IDLE,
			.spacing = INTERVAL_SPACING(idle->flags),
			.index = (uint32_t)i,
		};

		err = waitlist__add(list,
				    (struct wait){.begin = idle->since,
						  .end = idle->since + idle->ns,
						  .waiter = waiter,
						  .waker = waitlist__node(list, feeder)},
				    source);
	}
	return err;
}

/* Whether @thread was recorded, and passes @filter. */
static bool waits_are_known(const struct model *model, const struct sample_filter *filter,
			    const struct model_thread *thread)
{
	/* Helpers always pass: they were recorded because they woke a thread that was asked for. */
	if (model_thread__is_helper(thread))
		return true;
	if (thread->announced && !(thread->flags & THREAD_TARGET))
		return false;
	if (!sample_filter__thread(filter, thread))
		return false;
	for (size_t i = 0; i < thread->comms.n; i++)
		if (sample_filter__comm(filter, model__string(model, thread->comms.data[i].name)))
			return true;
	return false;
}

int waitlist__make(const struct model *model, const struct wait_causes *causes,
		   const struct sample_filter *filter, struct waitlist *list)
{
	int err;

	list->model = model;
	list->from = list->until = model->end;
	if (filter->from < model->end - model->start)
		list->from = model->start + filter->from;
	if (filter->until && filter->until < model->end - model->start)
		list->until = model->start + filter->until;
	if (list->from > list->until) /* an empty window */
		list->from = list->until;
	err = make_room(list);
	for (uint32_t i = 0; i < model->threads.n && !err; i++)
		err = array__push(
			&list->nodes,
			((struct wait_node){.type = i ? CAUSE_THREAD : CAUSE_UNKNOWN, .id = i}));
	for (uint32_t i = 1; i < model->threads.n && !err; i++) {
		if (!waits_are_known(model, filter, &model->threads.data[i]))
			continue;
		list->nodes.data[i].waits_known = true;
		err = add_thread(list, causes, i);
	}
	for (uint32_t i = 1; i < model->devices.n && !err; i++)
		err = add_device(list, i);
	err = err ? err : waitlist__add_peers(list, causes, filter->idle);
	err = err ? err : waitlist__add_tcp(list);
	return err ? err : waitlist__add_spins(list);
}

uint32_t waitlist__add_short_lived(struct waitlist *list, uint32_t creator)
{
	struct wait_node node = {.type = CAUSE_THREAD, .creator = creator};

	if (array__push(&list->nodes, node))
		return NO_NODE;
	return (uint32_t)list->nodes.n - 1;
}

int waitlist__add_no_task(struct waitlist *list, uint32_t node, uint64_t begin, uint64_t end)
{
	struct wait_source source = {
		.origin = WAIT_NO_TASK,
		.spacing = (uint8_t)list->model->spacing,
	};
	struct wait wait = {
		.begin = begin,
		.end = end,
		.waiter = node,
		.waker = list->nodes.data[node].creator,
	};

	return waitlist__add(list, wait, source);
}

void waitlist__free(struct waitlist *list)
{
	array__free(&list->nodes);
	array__free(&list->waits);
	array__free(&list->sources);
	map64__free(&list->others);
}
