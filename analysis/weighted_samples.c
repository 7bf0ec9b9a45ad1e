// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/weighted_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool sample_filter__comm(const struct sample_filter *filter, const char *comm)
{
	for (size_t i = 0; i < filter->comms.n; i++)
		if (!strcmp(filter->comms.data[i], comm))
			return true;
	return !filter->comms.n;
}

static bool number_in(const uint32_t *list, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return !n;
}

bool sample_filter__thread(const struct sample_filter *filter, const struct model_thread *thread)
{
	if (model_thread__is_helper(thread) && !filter->helpers && !filter->tids.n &&
	    !filter->pids.n)
		return false;
	return number_in(filter->tids.data, filter->tids.n, thread->tid) &&
	       number_in(filter->pids.data, filter->pids.n, thread->tgid);
}

bool sample_filter__active(const struct sample_filter *filter)
{
	return filter->classes || filter->comms.n || filter->tids.n || filter->pids.n ||
	       filter->from || filter->until;
}

void sample_filter__free(struct sample_filter *filter)
{
	array__free(&filter->comms);
	array__free(&filter->tids);
	array__free(&filter->pids);
}

/* One walk over a thread's timeline. */
struct walk {
	const struct model *model;
	const struct sample_filter *filter;
	const struct model_thread *thread;
	uint32_t thread_index;
	uint64_t from; /* the window */
	uint64_t until;
	size_t comm; /* the name in force */
	bool comm_passes;
	bool comm_known; /* comm_passes is that of comm */
	int (*visit)(void *context, const struct weighted_sample *sample);
	void *context;
};

/* Moves on to the thread's name at @time; times never go back within a walk. */
static bool walk_comm(struct walk *walk, uint64_t time)
{
	const struct model_thread *thread = walk->thread;

	while (walk->comm + 1 < thread->comms.n &&
	       thread->comms.data[walk->comm + 1].time <= time) {
		walk->comm++;
		walk->comm_known = false;
	}
	if (!walk->comm_known) {
		const char *name = model__string(walk->model, thread->comms.data[walk->comm].name);

		walk->comm_passes = sample_filter__comm(walk->filter, name);
		walk->comm_known = true;
	}
	return walk->comm_passes;
}

static bool walk_class(const struct walk *walk, enum wait_class class)
{
	return !walk->filter->classes || walk->filter->classes & 1U << class;
}

static int walk_sample(struct walk *walk, const struct model_sample *recorded)
{
	struct weighted_sample sample = {
		.thread = walk->thread_index,
		.kernel = recorded->kernel,
		.user = recorded->user,
		.syscall = -1,
		.class = CLASS_CPU,
		.from = recorded->time,
		.until = recorded->time,
		.points = recorded->weight,
		.ns = model_thread__time(walk->model, walk->thread, CLASS_CPU, recorded->weight),
		.sampled_ns = recorded->weight * walk->model->period_ns,
		.sample = recorded,
	};

	if (recorded->time < walk->from || recorded->time >= walk->until || !recorded->weight ||
	    !walk_comm(walk, recorded->time))
		return 0;
	sample.comm = walk->thread->comms.data[walk->comm].name;
	return walk->visit(walk->context, &sample);
}

/* Of @points spread evenly over @length, those in the first @part of it. */
static uint64_t points_before(uint64_t points, uint64_t part, uint64_t length)
{
	return length ? (uint64_t)((unsigned __int128)points * part / length) : 0;
}

/* One part of an interval: [from, from + length), with @points. */
static int walk_part(struct walk *walk, struct weighted_sample *sample, uint64_t from,
		     uint64_t length, uint64_t points)
{
	uint64_t until = from + length;

	if (!walk_class(walk, sample->class))
		return 0;
	sample->from = from > walk->from ? from : walk->from;
	sample->until = until < walk->until ? until : walk->until;
	if (sample->from > sample->until ||
	    (sample->from == sample->until && (length || from == walk->until)))
		return 0;
	sample->points = points;
	if (length)
		sample->points = points_before(points, sample->until - from, length) -
				 points_before(points, sample->from - from, length);
	sample->sampled_ns = sample->points * walk->model->period_ns;
	sample->ns = model_thread__time(walk->model, walk->thread, sample->class, sample->points);
	if (walk->model->trace)
		sample->ns = sample->sampled_ns = sample->until - sample->from;
	if (!sample->points && !sample->ns)
		return 0;
	return walk->visit(walk->context, sample);
}

static int walk_interval(struct walk *walk, const struct model_interval *interval)
{
	const struct idle_waits *idle = walk->filter->idle;
	size_t index = (size_t)(interval - walk->thread->intervals.data);
	struct weighted_sample sample = {
		.thread = walk->thread_index,
		.kernel = interval->kernel,
		.user = interval->user,
		.object = model_interval__object(interval),
		.syscall = interval->syscall,
		.flags = interval->flags,
		.class = interval->class,
		.idle = idle ? idle_waits__reason(idle, walk->thread_index, index) : IDLE_NOT,
		.interval = interval,
	};
	uint64_t t_wake = interval->t_out + interval->blocked_ns;
	int err = 0;

	if (interval->t_out >= walk->until || t_wake + interval->runq_ns < walk->from ||
	    !walk_comm(walk, interval->t_out))
		return 0;
	sample.comm = walk->thread->comms.data[walk->comm].name;
	if (interval->blocked_ns || interval->blocked_points)
		err = walk_part(walk, &sample, interval->t_out, interval->blocked_ns,
				interval->blocked_points);
	sample.class = CLASS_SCHED;
	sample.idle = IDLE_NOT;
	if (!err && (interval->runq_ns || interval->runq_points))
		err = walk_part(walk, &sample, t_wake, interval->runq_ns, interval->runq_points);
	return err;
}

/* Samples and intervals of one thread, merged by time. */
static int walk_thread(struct walk *walk)
{
	const struct model_thread *thread = walk->thread;
	bool cpu = walk_class(walk, CLASS_CPU);
	bool off_cpu = !walk->filter->classes || walk->filter->classes & ~(1U << CLASS_CPU);
	size_t s = cpu ? 0 : thread->samples.n;
	size_t i = off_cpu ? 0 : thread->intervals.n;
	int err = 0;

	while (!err && (s < thread->samples.n || i < thread->intervals.n)) {
		if (i == thread->intervals.n ||
		    (s < thread->samples.n &&
		     thread->samples.data[s].time <= thread->intervals.data[i].t_out))
			err = walk_sample(walk, &thread->samples.data[s++]);
		else
			err = walk_interval(walk, &thread->intervals.data[i++]);
	}
	return err;
}

int weighted_samples__visit_thread(
	const struct model *model, const struct sample_filter *filter, uint32_t thread,
	int (*visit)(void *context, const struct weighted_sample *sample), void *context)
{
	struct walk walk = {
		.model = model,
		.filter = filter,
		.thread = &model->threads.data[thread],
		.thread_index = thread,
		.from = filter->from ? model->start + filter->from : 0,
		.until = filter->until ? model->start + filter->until : MODEL_FOREVER,
		.visit = visit,
		.context = context,
	};

	return sample_filter__thread(filter, walk.thread) ? walk_thread(&walk) : 0;
}

int weighted_samples__visit(const struct model *model, const struct sample_filter *filter,
			    int (*visit)(void *context, const struct weighted_sample *sample),
			    void *context)
{
	int err = 0;

	for (uint32_t i = 1; i < model->threads.n && !err; i++)
		err = weighted_samples__visit_thread(model, filter, i, visit, context);
	return err;
}

struct collection {
	struct sample_groups *groups;
	struct map64 index; /* hash -> group */
};

static bool group_same(const struct sample_group *a, const struct sample_group *b)
{
	return a->thread == b->thread && a->comm == b->comm && a->kernel == b->kernel &&
	       a->user == b->user && a->object == b->object && a->syscall == b->syscall &&
	       a->flags == b->flags && a->class == b->class && a->idle == b->idle;
}

static struct sample_group *collection_group(struct collection *collection,
					     const struct sample_group *wanted)
{
	struct sample_groups *groups = collection->groups;
	uint64_t key = hash__add((uint64_t)wanted->thread << 32 | wanted->comm,
				 (uint64_t)wanted->kernel << 32 | wanted->user);

	key = hash__add(key, (uint64_t)wanted->object << 32 | (uint16_t)wanted->syscall |
				     (uint64_t)wanted->flags << 16 | (uint64_t)wanted->class << 28 |
				     (uint64_t)wanted->idle << 24);
	for (;; key++) {
		uint64_t *at = map64__put(&collection->index, key, groups->groups.n);

		if (!at)
			return NULL;
		if (*at == groups->groups.n)
			return array__push(&groups->groups, *wanted) ? NULL
								     : &groups->groups.data[*at];
		if (group_same(&groups->groups.data[*at], wanted))
			return &groups->groups.data[*at];
	}
}

static int collection_add(void *context, const struct weighted_sample *sample)
{
	struct collection *collection = context;
	struct sample_group wanted = {
		.thread = sample->thread,
		.comm = sample->comm,
		.kernel = sample->kernel,
		.user = sample->user,
		.object = sample->object,
		.syscall = sample->syscall,
		.class = sample->class,
		.idle = sample->idle,
	};
	struct sample_group *group;

	if (sample->class == CLASS_SCHED) {
		wanted.flags = sample->flags & (INTERVAL_PREEMPTED | INTERVAL_FIRST);
		/* It waits for a CPU, no longer for the object. */
		wanted.object = 0;
	}
	group = collection_group(collection, &wanted);
	if (!group)
		return -ENOMEM;
	group->count++;
	group->points += sample->points;
	group->ns += sample->ns;
	collection->groups->points += sample->points;
	collection->groups->ns += sample->ns;
	if (sample->idle) {
		collection->groups->idle_points += sample->points;
		collection->groups->idle_ns += sample->ns;
		collection->groups->sampled_idle_ns[sample->class] += sample->sampled_ns;
	}
	collection->groups->class_ns[sample->class] += sample->ns;
	collection->groups->sampled_ns[sample->class] += sample->sampled_ns;
	return 0;
}

int sample_groups__collect(const struct model *model, const struct sample_filter *filter,
			   struct sample_groups *out)
{
	struct sample_groups groups = {};
	struct collection collection = {.groups = &groups};
	int err = weighted_samples__visit(model, filter, collection_add, &collection);

	map64__free(&collection.index);
	if (err) {
		sample_groups__free(&groups);
		return err;
	}
	*out = groups;
	return 0;
}

void sample_groups__free(struct sample_groups *groups)
{
	array__free(&groups->groups);
}
