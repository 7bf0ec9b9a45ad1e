// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/latency/slow_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/latency/call_names.h"

static enum latency_part part_of(const struct slow_calls *slow,
				 const struct model_interval *interval)
{
	const struct wait_description wait = {.class = interval->class,
					      .flags = interval->flags,
					      .syscall = interval->syscall,
					      .kernel = interval->kernel,
					      .object = interval->object};
	const struct kind_info *kind = kind__info(kinds__of(slow->kinds, &wait));

	if (interval->class == CLASS_LOCK || kind->role == KIND_ROLE_LOCK)
		return LATENCY_LOCK;
	if (interval->class == CLASS_SCHED)
		return LATENCY_RUN_QUEUE;
	if (interval->class == CLASS_IO || kind->groups & KIND_GROUP_DISK)
		return LATENCY_DISK;
	return kind->groups & KIND_GROUP_NETWORK ? LATENCY_NETWORK : LATENCY_OTHER;
}

static int add_holder(const struct slow_calls *slow, const struct model_thread *thread,
		      const struct model_interval *interval, uint64_t ns)
{
	struct latency_function *function = slow->function;
	struct latency_holder *holder;
	uint32_t name;
	int err;

	if (!interval->waker)
		return 0;
	err = call_names__waker(slow->model, thread, interval, &name);
	if (err)
		return err;
	for (size_t i = 0; i < function->holders.n; i++) {
		holder = &function->holders.data[i];
		if (holder->thread == interval->waker && holder->function == name) {
			holder->ns += ns;
			return 0;
		}
	}
	return array__push(&function->holders,
			   ((struct latency_holder){interval->waker, name, ns}));
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

int slow_calls__add(struct slow_calls *slow, uint32_t index, uint32_t number)
{
	const struct model_thread *thread = &slow->model->threads.data[index];
	const struct model_call *call = &thread->calls.data[number];
	size_t i = model_thread__intervals_until(thread, call->begin, 0);
	uint64_t length = model_call__length(call), off = 0;
	uint64_t until = call->begin; /* intervals of a damaged file may overlap */
	int err = 0;

	if (slow->function->slow_ns + (call->end - call->begin) < slow->function->slow_ns)
		return 0; /* times that only a damaged file has */
	for (i = i ? i - 1 : 0; i < thread->intervals.n && !err; i++) {
		const struct model_interval *interval = &thread->intervals.data[i];
		uint64_t woken = interval->t_out + interval->blocked_ns;
		uint64_t end = woken + interval->runq_ns;
		uint64_t blocked = overlap(interval->t_out, woken, until, call->end);
		uint64_t queued = overlap(woken, end, until, call->end);
		enum latency_part part;

		if (interval->t_out >= call->end)
			break;
		part = blocked ? part_of(slow, interval) : LATENCY_RUN_QUEUE;
		slow->function->parts[part] += blocked;
		slow->function->parts[LATENCY_RUN_QUEUE] += queued;
		off += blocked + queued;
		until = end > until ? end : until;
		if (part == LATENCY_LOCK)
			err = add_holder(slow, thread, interval, blocked);
		if (queued && !err)
			err = add_competitor(slow->function, interval->previous, queued);
	}
	slow->function->slow++;
	slow->function->slow_ns += length > off ? length : off;
	slow->function->parts[LATENCY_CPU] += length > off ? length - off : 0;
	return err;
}

static int by_competition(const void *a, const void *b)
{
	const struct latency_competitor *one = a, *other = b;

	return one->ns > other->ns ? -1 : one->ns < other->ns;
}

static int by_time(const void *a, const void *b)
{
	const struct latency_holder *one = a, *other = b;

	return one->ns > other->ns ? -1 : one->ns < other->ns;
}

void slow_calls__finish(struct slow_calls *slow)
{
	if (slow->function->holders.n)
		qsort(slow->function->holders.data, slow->function->holders.n,
		      sizeof(*slow->function->holders.data), by_time);
	if (slow->function->competitors.n)
		qsort(slow->function->competitors.data, slow->function->competitors.n,
		      sizeof(*slow->function->competitors.data), by_competition);
}
