// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/waits/waitlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So soon behind a wakeup, a thread that says so speaks of this one. */
#define SOON_NS 100000

/* The waiter that @source is, made when it is new; NO_WAITER without memory. */
static uint32_t waiter_of(struct waitlist *list, struct wait_cause source)
{
	uint64_t key = (uint64_t)source.type << 32 | source.id;
	uint64_t *known;

	if (source.type == CAUSE_THREAD)
		return source.id;
	if (source.type == CAUSE_UNKNOWN)
		return 0;
	known = map64__put(&list->others, key, list->waiters.n);
	if (!known)
		return NO_WAITER;
	if (*known == list->waiters.n &&
	    array__push(&list->waiters,
			((struct waiter){source.type, source.id, 0, source.type == CAUSE_DEVICE})))
		return NO_WAITER;
	return (uint32_t)*known;
}

int waitlist__add(struct waitlist *list, struct wait wait, struct wait_place place)
{
	if (wait.waiter == NO_WAITER || wait.waker == NO_WAITER)
		return -ENOMEM;
	if (wait.begin < list->from)
		wait.begin = list->from;
	if (wait.end > list->until)
		wait.end = list->until;
	if (wait.begin >= wait.end)
		return 0;
	return array__push(&list->waits, wait) ?: array__push(&list->places, place);
}

/* The waits of one thread are put together from several lists, all in the order of time. */
struct thread_walk {
	struct waitlist *list;
	const struct wait_causes *causes;
	const struct model_thread *thread;
	uint32_t index;	   /* of the thread */
	size_t annotation; /* the next one */
};

/* Whether the thread told, between two of its waits, that the first one ended for nothing. */
static bool woken_for_nothing(struct thread_walk *walk, const struct model_interval *interval,
			      const struct model_interval *next)
{
	const struct model_thread *thread = walk->thread;
	uint64_t from = interval->t_out + interval->blocked_ns, until = next->t_out;

	/* There may have been other waits in between, which were not recorded. */
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
 * The wait that begins with interval @i: *@last is the interval that it ends with,
 * a later one after false wakeups (wPerf, section 4.1). What lies between two of
 * them was spent on finding out, and belongs to the wait.
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

/* A kernel thread that has nothing to do loses nothing. */
static bool is_idle(const struct thread_walk *walk, const struct model_interval *interval)
{
	return walk->thread->flags & THREAD_KERNEL &&
	       wait_causes__kind(walk->causes, interval) == KIND_IDLE_THREAD;
}

/* After a false wakeup the way to the CPU belongs to the wait. */
static uint64_t wait_end(const struct model_interval *interval, bool false_wakeup)
{
	return wake_time(interval) + (false_wakeup ? interval->runq_ns : 0);
}

/*
 * Whether all between two waits, the first of which ended for nothing, belongs to them. In
 * sampling mode a wait in between may not be there, but where there is no room for one.
 */
static bool is_joined(const struct waitlist *list, const struct model_interval *interval)
{
	const struct model_interval *next = interval + 1;

	return list->model->trace || next->t_out <= wait_end(interval, true) + SOON_NS;
}

static int add_blocked(struct thread_walk *walk, size_t first, size_t last)
{
	const struct model_interval *intervals = walk->thread->intervals.data;
	struct waitlist *list = walk->list;
	struct wait_cause source = wait_causes__of(walk->causes, walk->index, &intervals[last]);
	uint32_t waker = waiter_of(list, source);
	int err = 0;

	for (size_t i = first; i <= last && !err; i++) {
		struct wait_place place = {
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

		if (intervals[i].blocked_ns || joined)
			err = waitlist__add(list, wait, place);
	}
	return err;
}

/* Room for as many waits as there can be: growing would take half as much again. */
static int make_room(struct waitlist *list)
{
	const struct model *model = list->model;
	size_t n = 0;

	for (size_t i = 1; i < model->threads.n; i++)
		n += model->threads.data[i].intervals.n;
	for (size_t i = 1; i < model->devices.n; i++)
		n += model->devices.data[i].idles.n;
	return array__reserve(&list->waits, n) ?: array__reserve(&list->places, n);
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
	uint32_t waiter = waiter_of(list, (struct wait_cause){CAUSE_DEVICE, index});
	int err = 0;

	for (size_t i = 0; i < device->idles.n && !err; i++) {
		const struct model_idle *idle = &device->idles.data[i];
		bool named = list->model->threads.data[idle->thread].tid;
		bool ended = idle->thread || idle->since + idle->ns < list->model->end;
		struct wait_cause feeder = {named   ? CAUSE_THREAD
					    : ended ? CAUSE_UNKNOWN
						    : CAUSE_END,
					    named ? idle->thread : 0};
		struct wait_place place = {
			.origin = WAIT_IDLE,
			.spacing = INTERVAL_SPACING(idle->flags),
			.index = (uint32_t)i,
		};

		err = waitlist__add(list,
				    (struct wait){.begin = idle->since,
						  .end = idle->since + idle->ns,
						  .waiter = waiter,
						  .waker = waiter_of(list, feeder)},
				    place);
	}
	return err;
}

static bool is_known(const struct model *model, const struct sample_filter *filter,
		     const struct model_thread *thread)
{
	/* It is there because of what was asked for, whatever that was. */
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
	if (list->from > list->until) /* an empty one */
		list->from = list->until;
	err = make_room(list);
	for (uint32_t i = 0; i < model->threads.n && !err; i++)
		err = array__push(&list->waiters,
				  ((struct waiter){i ? CAUSE_THREAD : CAUSE_UNKNOWN, i, 0, false}));
	for (uint32_t i = 1; i < model->threads.n && !err; i++) {
		if (!is_known(model, filter, &model->threads.data[i]))
			continue;
		list->waiters.data[i].known = true;
		err = add_thread(list, causes, i);
	}
	for (uint32_t i = 1; i < model->devices.n && !err; i++)
		err = add_device(list, i);
	return err ? err : waitlist__add_spins(list);
}

uint32_t waitlist__virtual(struct waitlist *list, uint32_t creator)
{
	struct waiter waiter = {CAUSE_THREAD, 0, creator, false};

	if (array__push(&list->waiters, waiter))
		return NO_WAITER;
	return (uint32_t)list->waiters.n - 1;
}

int waitlist__add_no_task(struct waitlist *list, uint32_t waiter, uint64_t begin, uint64_t end)
{
	struct wait_place place = {
		.origin = WAIT_NO_TASK,
		.spacing = (uint8_t)list->model->spacing,
	};
	struct wait wait = {
		.begin = begin,
		.end = end,
		.waiter = waiter,
		.waker = list->waiters.data[waiter].virtual,
	};

	return waitlist__add(list, wait, place);
}

void waitlist__free(struct waitlist *list)
{
	array__free(&list->waiters);
	array__free(&list->waits);
	array__free(&list->places);
	map64__free(&list->others);
}
