// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/profile/threads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/round.h"

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

/* Waits by thread and class: all of them, and idle ones. */
struct wait_times {
	uint64_t ns[CLASS_COUNT];
	uint64_t idle_ns[CLASS_COUNT];
};

struct idle_shares {
	struct wait_times *threads;
	struct map64 by_name; /* string -> index in names */
	ARRAY(struct wait_times) names;
};

static int add_wait(void *context, const struct weighted_sample *sample)
{
	struct idle_shares *shares = context;

	shares->threads[sample->thread].ns[sample->class] += sample->ns;
	if (sample->idle)
		shares->threads[sample->thread].idle_ns[sample->class] += sample->ns;
	return 0;
}

static uint32_t last_name(const struct model_thread *thread)
{
	return thread->comms.data[thread->comms.n - 1].name;
}

static struct wait_times *named_times(struct idle_shares *shares, const struct model_thread *thread)
{
	uint64_t *at = map64__put(&shares->by_name, last_name(thread), shares->names.n);

	if (!at || (*at == shares->names.n && !array__add(&shares->names)))
		return NULL;
	return &shares->names.data[*at];
}

/* Sums up idle times of the whole recording, by thread and by name. */
static int find_idle(const struct model *model, const struct sample_filter *filter,
		     struct idle_shares *shares)
{
	struct sample_filter whole = *filter;
	int err;

	whole.classes = 0;
	whole.from = whole.until = 0;
	shares->threads = calloc(model->threads.n, sizeof(*shares->threads));
	if (!shares->threads)
		return -ENOMEM;
	err = filter->idle ? weighted_samples__visit(model, &whole, add_wait, shares) : 0;
	for (uint32_t i = 1; i < model->threads.n && !err; i++) {
		struct wait_times *named = named_times(shares, &model->threads.data[i]);

		if (!named)
			return -ENOMEM;
		for (int class = 0; class < CLASS_COUNT; class ++) {
			named->ns[class] += shares->threads[i].ns[class];
			named->idle_ns[class] += shares->threads[i].idle_ns[class];
		}
	}
	return err;
}

/*
 * The part of the exact time of thread @index in @class that it was idle: the share is that of its
 * samples, or else of those of all that have its name. (As a time of its own, which is at most the
 * exact one, the sum over threads with few samples would come out too low.)
 */
static uint64_t idle_part(struct idle_shares *shares, const struct model *model, uint32_t index,
			  enum wait_class class)
{
	const struct model_thread *thread = &model->threads.data[index];
	const struct wait_times *times = &shares->threads[index];

	if (!times->ns[class])
		times = named_times(shares, thread);
	if (!times->idle_ns[class])
		return 0;
	return round__uint64((double)thread->ns[class] *
			     ((double)times->idle_ns[class] / (double)times->ns[class]));
}

static int add_thread(struct thread_summary *summary, struct sampling_error errors[CLASS_COUNT],
		      const struct model *model, uint32_t index, struct idle_shares *shares)
{
	const struct model_thread *thread = &model->threads.data[index];
	struct thread_times times = {
		.thread = index,
		.comm = last_name(thread),
		.lifetime_ns = thread->ended - thread->created,
		.stolen_ns = thread->stolen_ns,
		.unseen_ns = thread->unseen_ns,
	};

	summary->lifetime_ns += times.lifetime_ns;
	summary->stolen_ns += times.stolen_ns;
	summary->unseen_ns += times.unseen_ns;
	summary->counted |= thread->counted;
	for (int class = 0; class < CLASS_COUNT; class ++) {
		times.ns[class] = thread->ns[class];
		times.idle_ns[class] = idle_part(shares, model, index, class);
		times.differs[class] = model_thread__is_calibrated(model, thread, class);
		summary->ns[class] += times.ns[class];
		summary->idle_ns[class] += times.idle_ns[class];
		sampling_error__add(&errors[class], model, thread, class);
	}
	return array__push(&summary->threads, times);
}

static void set_errors(struct thread_summary *summary, const struct model *model,
		       const struct sampling_error errors[CLASS_COUNT])
{
	for (int class = 0; class < CLASS_COUNT; class ++) {
		if (model->trace && class != CLASS_CPU)
			continue;
		summary->error_ns[class] = round__uint64(sampling_error__ns(&errors[class], model));
		summary->differs[class] = sampling_error__is_exceeded(&errors[class], model);
	}
}

int thread_summary__make(const struct model *model, const struct sample_filter *filter,
			 struct thread_summary *out)
{
	struct sampling_error errors[CLASS_COUNT] = {};
	struct thread_summary summary = {};
	struct idle_shares shares = {};
	int err = find_idle(model, filter, &shares);

	for (uint32_t i = 1; i < model->threads.n && !err; i++)
		if (thread_passes(model, filter, &model->threads.data[i]))
			err = add_thread(&summary, errors, model, i, &shares);
	free(shares.threads);
	array__free(&shares.names);
	map64__free(&shares.by_name);
	if (err) {
		thread_summary__free(&summary);
		return err;
	}
	set_errors(&summary, model, errors);
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
