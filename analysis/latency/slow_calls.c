// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/slow_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/kinds/call_names.h"

static enum latency_part part_of(const struct model_interval *interval, enum wait_kind kind)
{
	const struct kind_info *info = kind__info(kind);

	if (interval->class == CLASS_LOCK || info->role == KIND_ROLE_LOCK)
		return LATENCY_LOCK;
	if (interval->class == CLASS_SCHED)
		return LATENCY_RUN_QUEUE;
	if (interval->class == CLASS_IO || info->groups & KIND_GROUP_DISK)
		return LATENCY_DISK;
	return info->groups & KIND_GROUP_NETWORK ? LATENCY_NETWORK : LATENCY_OTHER;
}

static bool is_same(const struct latency_wait *one, const struct latency_wait *other)
{
	return one->part == other->part && one->kind == other->kind &&
	       one->cause.type == other->cause.type && one->cause.id == other->cause.id &&
	       one->function == other->function;
}

/* Adds the wait in @interval, of thread @index. */
static int add_wait(const struct slow_calls *slow, uint32_t index,
		    const struct model_interval *interval, uint64_t ns, enum latency_part *part)
{
	struct latency_function *function = slow->function;
	struct latency_wait wait = {.kind = wait_causes__kind(slow->causes, interval),
				    .cause = wait_causes__of(slow->causes, index, interval),
				    .ns = ns};
	int err = call_names__waker(slow->model, &slow->model->threads.data[index], interval,
				    wait.cause, &wait.function);

	*part = wait.part = part_of(interval, wait.kind);
	if (err || *part == LATENCY_RUN_QUEUE)
		return err;
	for (size_t i = 0; i < function->waits.n; i++) {
		if (is_same(&function->waits.data[i], &wait)) {
			function->waits.data[i].ns += ns;
			return 0;
		}
	}
	return array__push(&function->waits, wait);
}

static int add_competitor(struct latency_function *function, uint32_t thread, uint64_t ns)
{
	for (size_t i = 0; i < function->competitors.n; i++)
		if (function->competitors.data[i].thread == thread) {
			function->competitors.data[i].ns += ns;
			return 0;
		}
	return array__push(&function->competitors, ((struct latency_competitor){thread, ns}));
}

/* The part of [@from, @until) that lies in [@begin, @end). */
static uint64_t overlap(uint64_t from, uint64_t until, uint64_t begin, uint64_t end)
{
	from = from > begin ? from : begin;
	until = until < end ? until : end;
	return until > from ? until - from : 0;
}

static uint64_t least(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* Adds @call, whose parts are known, to its function. */
static int keep(struct latency_function *function, const struct slow_call *call)
{
	function->slow_ns += call->length;
	function->slow_uncertain += call->uncertain;
	for (int i = 0; i < LATENCY_PARTS; i++)
		function->parts[i] += call->parts[i];
	return array__push(&function->slow, *call);
}

/*
 * What was stolen from the runs of @thread in @call, from interval number @at on. Of a run that is
 * in the call in part, its share: when in the run it was is not known.
 */
static uint64_t stolen_in(const struct model_thread *thread, const struct model_call *call,
			  size_t at)
{
	struct model_run run;
	double stolen = 0;

	for (; at <= thread->intervals.n; at++) {
		if (model_thread__run_before(thread, at, &run) && run.stolen_ns)
			stolen += (double)run.stolen_ns *
				  (double)overlap(run.from, run.until, call->begin, call->end) /
				  (double)(run.until - run.from);
		if (at < thread->intervals.n && thread->intervals.data[at].t_out >= call->end)
			break;
	}
	return round__uint64(stolen);
}

int slow_calls__add(struct slow_calls *slow, uint32_t index, uint32_t number)
{
	const struct model_thread *thread = &slow->model->threads.data[index];
	const struct model_call *call = &thread->calls.data[number];
	size_t i = model_thread__intervals_until(thread, call->begin, 0);
	uint64_t length = model_call__length(call);
	uint64_t left = length;	      /* less than to the end: without what probes took */
	uint64_t until = call->begin; /* intervals of a damaged file may overlap */
	struct slow_call one = {.thread = index,
				.begin = call->begin,
				.length = length,
				.uncertain = (uint64_t)call->begin_slack + call->end_slack};
	int err = 0;

	if (slow->function->slow_ns + (call->end - call->begin) < slow->function->slow_ns)
		return 0; /* times that only a damaged file has */
	for (i = i ? i - 1 : 0; i < thread->intervals.n && !err; i++) {
		const struct model_interval *interval = &thread->intervals.data[i];
		uint64_t woken = interval->t_out + interval->blocked_ns;
		uint64_t end = woken + interval->runq_ns;
		uint64_t blocked = least(overlap(interval->t_out, woken, until, call->end), left);
		uint64_t queued = least(overlap(woken, end, until, call->end), left - blocked);
		enum latency_part part = LATENCY_RUN_QUEUE;

		if (interval->t_out >= call->end)
			break;
		if (blocked)
			err = add_wait(slow, index, interval, blocked, &part);
		one.parts[part] += blocked;
		one.parts[LATENCY_RUN_QUEUE] += queued;
		left -= blocked + queued;
		until = end > until ? end : until;
		if (queued && !err)
			err = add_competitor(slow->function, interval->previous, queued);
	}
	if (slow->model->trace)
		one.parts[LATENCY_STOLEN] =
			least(stolen_in(thread, call,
					model_thread__intervals_until(thread, call->begin, 0)),
			      left);
	one.parts[LATENCY_CPU] += left - one.parts[LATENCY_STOLEN];
	return err ? err : keep(slow->function, &one);
}

static int by_competition(const void *a, const void *b)
{
	const struct latency_competitor *one = a, *other = b;

	return one->ns > other->ns ? -1 : one->ns < other->ns;
}

static int by_time(const void *a, const void *b)
{
	const struct latency_wait *one = a, *other = b;

	return one->ns > other->ns ? -1 : one->ns < other->ns;
}

void slow_calls__finish(struct slow_calls *slow)
{
	if (slow->function->waits.n)
		qsort(slow->function->waits.data, slow->function->waits.n,
		      sizeof(*slow->function->waits.data), by_time);
	if (slow->function->competitors.n)
		qsort(slow->function->competitors.data, slow->function->competitors.n,
		      sizeof(*slow->function->competitors.data), by_competition);
}
