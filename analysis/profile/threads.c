// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/profile/threads.h"

#include <errno.h>
#include <stdlib.h>

static int times__order(const void *a, const void *b)
{
	const struct thread_times *x = a, *y = b;

	if (x->ns[CLASS_CPU] != y->ns[CLASS_CPU])
		return x->ns[CLASS_CPU] < y->ns[CLASS_CPU] ? 1 : -1;
	if (x->lifetime_ns != y->lifetime_ns)
		return x->lifetime_ns < y->lifetime_ns ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* The thread passes if any of the names that it had passes. */
static bool thread__passes(const struct model *model, const struct sample_filter *filter,
			   const struct model_thread *thread)
{
	if (!thread->has_totals || !sample_filter__thread(filter, thread))
		return false;
	for (size_t i = 0; i < thread->comms.n; i++)
		if (sample_filter__comm(filter, model__string(model, thread->comms.data[i].name)))
			return true;
	return false;
}

int thread_summary__make(const struct model *model, const struct sample_filter *filter,
			 struct thread_summary *out)
{
	struct thread_summary summary = {};

	for (size_t i = 1; i < model->threads.n; i++) {
		const struct model_thread *thread = &model->threads.data[i];
		struct thread_times times = {.thread = (uint32_t)i};

		if (!thread__passes(model, filter, thread))
			continue;
		times.comm = thread->comms.data[thread->comms.n - 1].name;
		times.lifetime_ns = thread->ended - thread->created;
		summary.lifetime_ns += times.lifetime_ns;
		for (int class = 0; class < CLASS_COUNT; class ++) {
			times.ns[class] = thread->ns[class];
			summary.ns[class] += thread->ns[class];
		}
		if (array__push(&summary.threads, times)) {
			thread_summary__free(&summary);
			return -ENOMEM;
		}
	}
	if (summary.threads.n)
		qsort(summary.threads.data, summary.threads.n, sizeof(*summary.threads.data),
		      times__order);
	*out = summary;
	return 0;
}

void thread_summary__free(struct thread_summary *summary)
{
	array__free(&summary->threads);
}
