// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdlib.h>

#include "model/annotated_spans.h"
#include "model/loader.h"
#include "model/tagged_spans.h"

/* qsort() order of two times. */
static int compare_times(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

#define DEFINE_TIME_ORDER(type, field)                                                             \
	static int compare_##type(const void *a, const void *b)                                    \
	{                                                                                          \
		return compare_times(((const struct type *)a)->field,                              \
				     ((const struct type *)b)->field);                             \
	}

DEFINE_TIME_ORDER(model_comm, time)
DEFINE_TIME_ORDER(model_exec, time)
DEFINE_TIME_ORDER(model_sample, time)
DEFINE_TIME_ORDER(model_interval, t_out)
DEFINE_TIME_ORDER(model_wake, time)
DEFINE_TIME_ORDER(model_segment, time)
DEFINE_TIME_ORDER(model_annotation, time)
DEFINE_TIME_ORDER(model_call, end)
DEFINE_TIME_ORDER(model_idle, since)
DEFINE_TIME_ORDER(model_request, completed)
DEFINE_TIME_ORDER(model_span, ended)

/* Removes names that repeat the previous one: exec reports the new name twice. */
static void merge_comms(struct model_thread *thread)
{
	size_t n = 1;

	for (size_t i = 1; i < thread->comms.n; i++)
		if (thread->comms.data[i].name != thread->comms.data[n - 1].name)
			thread->comms.data[n++] = thread->comms.data[i];
	thread->comms.n = n;
}

/* Links each interval to the wake at its t_wake. Both are sorted by time. */
static void join_wakes(struct model_thread *thread)
{
	size_t wake = 0;

	for (size_t i = 0; i < thread->intervals.n && wake < thread->wakes.n; i++) {
		struct model_interval *interval = &thread->intervals.data[i];
		uint64_t t_wake = interval->t_out + interval->blocked_ns;

		while (wake < thread->wakes.n && thread->wakes.data[wake].time < t_wake)
			wake++;
		if (wake < thread->wakes.n && thread->wakes.data[wake].time == t_wake &&
		    !(interval->flags & INTERVAL_PREEMPTED))
			interval->wake = (uint32_t)wake + 1;
	}
}

static int compare_cpu_runs(const void *a, const void *b)
{
	const struct model_cpu_run *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return (x->until > y->until) - (x->until < y->until);
}

/* Sorts requests, and replaces their numbers in intervals by 1 + their index. */
static int join_requests(struct model *model)
{
	struct map64 by_number = {};
	int err = 0;

	array__sort(&model->requests, compare_model_request);
	for (size_t i = 0; i < model->requests.n && !err; i++)
		if (!map64__put(&by_number, model->requests.data[i].number, i + 1))
			err = -ENOMEM;
	for (size_t t = 1; t < model->threads.n && !err; t++) {
		struct model_thread *thread = &model->threads.data[t];

		for (size_t i = 0; i < thread->intervals.n; i++) {
			struct model_interval *interval = &thread->intervals.data[i];
			const uint64_t *index = map64__get(&by_number, interval->request);

			interval->request = interval->request && index ? (uint32_t)*index : 0;
		}
	}
	map64__free(&by_number);
	return err;
}

/* The time of the first event of a thread that was never announced. */
static uint64_t first_time(const struct model_thread *thread, uint64_t fallback)
{
	uint64_t first = MODEL_FOREVER;

	if (thread->samples.n)
		first = thread->samples.data[0].time;
	if (thread->intervals.n && thread->intervals.data[0].t_out < first)
		first = thread->intervals.data[0].t_out;
	return first == MODEL_FOREVER ? fallback : first;
}

/*
 * Sets what of the thread's life was not seen. All times are at most its life: one that is not much
 * more is within the accuracy of the kernel's counts in the middle of a run.
 */
static void settle_times(struct model_thread *thread)
{
	uint64_t left = thread->ended - thread->created, *cpu = &thread->ns[CLASS_CPU];

	if (!thread->counted) {
		thread->stolen_ns = 0;
		return;
	}
	for (int class = CLASS_CPU + 1; class < CLASS_COUNT; class ++)
		left = left > thread->ns[class] ? left - thread->ns[class] : 0;
	*cpu = *cpu < left ? *cpu : left;
	left -= *cpu;
	thread->stolen_ns = thread->stolen_ns < left ? thread->stolen_ns : left;
	thread->unseen_ns = left - thread->stolen_ns;
}

/* Whether all threads have totals that the kernel side sent, unless they were lost. */
static bool has_all_totals(const struct model *model)
{
	for (size_t i = 1; i < model->threads.n; i++)
		if (model->threads.data[i].counted)
			return model__meta(model, "end");
	return false;
}

int model_loader__timelines(struct model_loader *loader)
{
	struct model *model = loader->model;
	bool ended = has_all_totals(model);

	for (size_t i = 1; i < model->threads.n; i++) {
		struct model_thread *thread = &model->threads.data[i];

		if (!thread->comms.n) {
			struct model_comm unnamed = {.name = model->dsos.data[0].name};

			if (array__push(&thread->comms, unnamed))
				return -ENOMEM;
		}
		array__sort(&thread->comms, compare_model_comm);
		merge_comms(thread);
		array__sort(&thread->execs, compare_model_exec);
		array__sort(&thread->samples, compare_model_sample);
		array__sort(&thread->intervals, compare_model_interval);
		array__sort(&thread->wakes, compare_model_wake);
		array__sort(&thread->segments, compare_model_segment);
		array__sort(&thread->annotations, compare_model_annotation);
		array__sort(&thread->calls, compare_model_call);
		join_wakes(thread);
		model_loader__join_segments(thread);
		if (thread->created == MODEL_FOREVER)
			thread->created = first_time(thread, model->start);
		if (!thread->has_totals) {
			thread->ended = model->end;
			thread->totals_lost = ended;
		}
		if (thread->ended < thread->created)
			thread->ended = thread->created;
		settle_times(thread);
	}
	for (size_t i = 1; i < model->devices.n; i++)
		array__sort(&model->devices.data[i].idles, compare_model_idle);
	array__sort(&model->cpu_runs, compare_cpu_runs);
	return join_requests(model);
}

int model_loader__spans(struct model_loader *loader)
{
	struct model *model = loader->model;

	if (annotated_spans__add(model) || tagged_spans__add(model))
		return -ENOMEM;
	array__sort(&model->spans, compare_model_span);
	array__sort(&model->pushes, compare_model_span);
	return 0;
}
