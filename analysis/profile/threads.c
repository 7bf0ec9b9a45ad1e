// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/profile/threads.h"

#include <errno.h>
#include <stdlib.h>

static int times_order(const void *a, const void *b)
{
	const struct thread_times *x = a, *y = b;

	if (x->ns[CLASS_CPU] != y->ns[CLASS_CPU])
		return x->ns[CLASS_CPU] < y->ns[CLASS_CPU] ? 1 : -1;
	if (x->lifetime_ns != y->lifetime_ns)
		return x->lifetime_ns < y->lifetime_ns ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* The thread passes if any of the names that it had passes. */
static bool thread_passes(const struct model *model, const struct sample_filter *filter,
			  const struct model_thread *thread)
{
	if (!thread->has_totals || !sample_filter__thread(filter, thread))
		return false;
	for (size_t i = 0; i < thread->comms.n; i++)
		if (sample_filter__comm(filter, model__string(model, thread->comms.data[i].name)))
			return true;
	return false;
}

/* Idle time by thread and class. */
typedef uint64_t idle_times[CLASS_COUNT];

static int add_idle(void *context, const struct weighted_sample *sample)
{
	idle_times *idle = context;

	if (sample->idle)
		idle[sample->thread][sample->class] += sample->ns;
	return 0;
}

/* Sets @idle, by thread, to idle times of the whole recording. */
static int find_idle(const struct model *model, const struct sample_filter *filter,
		     idle_times *idle)
{
	struct sample_filter whole = *filter;

	whole.classes = 0;
	whole.from = whole.until = 0;
	return filter->idle ? weighted_samples__visit(model, &whole, add_idle, idle) : 0;
}

static int add_thread(struct thread_summary *summary, const struct model *model, uint32_t index,
		      const idle_times idle)
{
	const struct model_thread *thread = &model->threads.data[index];
	struct thread_times times = {
		.thread = index,
		.comm = thread->comms.data[thread->comms.n - 1].name,
		.lifetime_ns = thread->ended - thread->created,
	};

	summary->lifetime_ns += times.lifetime_ns;
	for (int class = 0; class < CLASS_COUNT; class ++) {
		times.ns[class] = thread->ns[class];
		times.idle_ns[class] =
			idle[class] < times.ns[class] ? idle[class] : times.ns[class];
		summary->ns[class] += times.ns[class];
		summary->idle_ns[class] += times.idle_ns[class];
	}
	return array__push(&summary->threads, times);
}

int thread_summary__make(const struct model *model, const struct sample_filter *filter,
			 struct thread_summary *out)
{
	_cleanup_free_ idle_times *idle = calloc(model->threads.n, sizeof(*idle));
	struct thread_summary summary = {};
	int err = idle ? find_idle(model, filter, idle) : -ENOMEM;

	for (uint32_t i = 1; i < model->threads.n && !err; i++)
		if (thread_passes(model, filter, &model->threads.data[i]))
			err = add_thread(&summary, model, i, idle[i]);
	if (err) {
		thread_summary__free(&summary);
		return err;
	}
	if (summary.threads.n)
		qsort(summary.threads.data, summary.threads.n, sizeof(*summary.threads.data),
		      times_order);
	*out = summary;
	return 0;
}

void thread_summary__free(struct thread_summary *summary)
{
	array__free(&summary->threads);
}
