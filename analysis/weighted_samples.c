// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/weighted_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool moment_filter__comm(const struct moment_filter *filter, const char *comm)
{
	for (size_t i = 0; i < filter->comms.n; i++)
		if (!strcmp(filter->comms.data[i], comm))
			return true;
	return !filter->comms.n;
}

static bool number__in(const uint32_t *list, size_t n, uint32_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return !n;
}

bool moment_filter__thread(const struct moment_filter *filter, const struct model_thread *thread)
{
	if (model_thread__is_helper(thread) && !filter->helpers && !filter->tids.n &&
	    !filter->pids.n)
		return false;
	return number__in(filter->tids.data, filter->tids.n, thread->tid) &&
	       number__in(filter->pids.data, filter->pids.n, thread->tgid);
}

bool moment_filter__active(const struct moment_filter *filter)
{
	return filter->classes || filter->comms.n || filter->tids.n || filter->pids.n ||
	       filter->from || filter->until;
}

void moment_filter__free(struct moment_filter *filter)
{
	array__free(&filter->comms);
	array__free(&filter->tids);
	array__free(&filter->pids);
}

/* One walk over a thread's timeline. */
struct walk {
	const struct model *model;
	const struct moment_filter *filter;
	const struct model_thread *thread;
	uint32_t thread_index;
	uint64_t from; /* the window */
	uint64_t until;
	size_t comm; /* the name in force */
	bool comm_passes;
	bool comm_known; /* comm_passes is that of comm */
	int (*visit)(void *context, const struct moment *moment);
	void *context;
};

/* Moves on to the thread's name at @time; times never go back within a walk. */
static bool walk__comm(struct walk *walk, uint64_t time)
{
	const struct model_thread *thread = walk->thread;

	while (walk->comm + 1 < thread->comms.n &&
	       thread->comms.data[walk->comm + 1].time <= time) {
		walk->comm++;
		walk->comm_known = false;
	}
	if (!walk->comm_known) {
		const char *name = model__string(walk->model, thread->comms.data[walk->comm].name);

		walk->comm_passes = moment_filter__comm(walk->filter, name);
		walk->comm_known = true;
	}
	return walk->comm_passes;
}

static bool walk__class(const struct walk *walk, enum wait_class class)
{
	return !walk->filter->classes || walk->filter->classes & 1U << class;
}

static int walk__sample(struct walk *walk, const struct model_sample *sample)
{
	struct moment moment = {
		.thread = walk->thread_index,
		.kernel = sample->kernel,
		.user = sample->user,
		.syscall = -1,
		.class = CLASS_CPU,
		.from = sample->time,
		.until = sample->time,
		.points = sample->weight,
		.ns = sample->weight * walk->model->period_ns,
		.sample = sample,
	};

	if (sample->time < walk->from || sample->time >= walk->until || !sample->weight ||
	    !walk__comm(walk, sample->time))
		return 0;
	moment.comm = walk->thread->comms.data[walk->comm].name;
	return walk->visit(walk->context, &moment);
}

/* Of @points spread evenly over @length, those in the first @part of it. */
static uint64_t points__before(uint64_t points, uint64_t part, uint64_t length)
{
	return length ? (uint64_t)((unsigned __int128)points * part / length) : 0;
}

/* One part of an interval: [from, from + length), with @points. */
static int walk__part(struct walk *walk, struct moment *moment, uint64_t from, uint64_t length,
		      uint64_t points)
{
	uint64_t until = from + length;

	if (!walk__class(walk, moment->class))
		return 0;
	moment->from = from > walk->from ? from : walk->from;
	moment->until = until < walk->until ? until : walk->until;
	if (moment->from > moment->until ||
	    (moment->from == moment->until && (length || from == walk->until)))
		return 0;
	moment->points = points;
	if (length)
		moment->points = points__before(points, moment->until - from, length) -
				 points__before(points, moment->from - from, length);
	moment->ns = walk->model->trace ? moment->until - moment->from
					: moment->points * walk->model->period_ns;
	if (!moment->points && !moment->ns)
		return 0;
	return walk->visit(walk->context, moment);
}

static int walk__interval(struct walk *walk, const struct model_interval *interval)
{
	struct moment moment = {
		.thread = walk->thread_index,
		.kernel = interval->kernel,
		.user = interval->user,
		.object = interval->object,
		.syscall = interval->syscall,
		.flags = interval->flags,
		.class = interval->class,
		.interval = interval,
	};
	uint64_t t_wake = interval->t_out + interval->blocked_ns;
	int err = 0;

	if (interval->t_out >= walk->until || t_wake + interval->runq_ns < walk->from ||
	    !walk__comm(walk, interval->t_out))
		return 0;
	moment.comm = walk->thread->comms.data[walk->comm].name;
	if (interval->blocked_ns || interval->blocked_points)
		err = walk__part(walk, &moment, interval->t_out, interval->blocked_ns,
				 interval->blocked_points);
	moment.class = CLASS_SCHED;
	if (!err && (interval->runq_ns || interval->runq_points))
		err = walk__part(walk, &moment, t_wake, interval->runq_ns, interval->runq_points);
	return err;
}

/* Samples and intervals of one thread, merged by time. */
static int walk__thread(struct walk *walk)
{
	const struct model_thread *thread = walk->thread;
	bool cpu = walk__class(walk, CLASS_CPU);
	bool off_cpu = !walk->filter->classes || walk->filter->classes & ~(1U << CLASS_CPU);
	size_t s = cpu ? 0 : thread->samples.n;
	size_t i = off_cpu ? 0 : thread->intervals.n;
	int err = 0;

	while (!err && (s < thread->samples.n || i < thread->intervals.n)) {
		if (i == thread->intervals.n ||
		    (s < thread->samples.n &&
		     thread->samples.data[s].time <= thread->intervals.data[i].t_out))
			err = walk__sample(walk, &thread->samples.data[s++]);
		else
			err = walk__interval(walk, &thread->intervals.data[i++]);
	}
	return err;
}

int moments__visit(const struct model *model, const struct moment_filter *filter,
		   int (*visit)(void *context, const struct moment *moment), void *context)
{
	int err = 0;

	for (size_t i = 1; i < model->threads.n && !err; i++) {
		struct walk walk = {
			.model = model,
			.filter = filter,
			.thread = &model->threads.data[i],
			.thread_index = (uint32_t)i,
			.from = filter->from ? model->start + filter->from : 0,
			.until = filter->until ? model->start + filter->until : MODEL_FOREVER,
			.visit = visit,
			.context = context,
		};

		if (moment_filter__thread(filter, walk.thread))
			err = walk__thread(&walk);
	}
	return err;
}

struct collection {
	struct moment_groups *groups;
	struct map64 index; /* hash -> group */
};

static bool group__same(const struct moment_group *a, const struct moment_group *b)
{
	return a->thread == b->thread && a->comm == b->comm && a->kernel == b->kernel &&
	       a->user == b->user && a->object == b->object && a->syscall == b->syscall &&
	       a->flags == b->flags && a->class == b->class;
}

static struct moment_group *collection__group(struct collection *collection,
					      const struct moment_group *wanted)
{
	struct moment_groups *groups = collection->groups;
	uint64_t key = hash__add((uint64_t)wanted->thread << 32 | wanted->comm,
				 (uint64_t)wanted->kernel << 32 | wanted->user);

	key = hash__add(key, (uint64_t)wanted->object << 32 | (uint16_t)wanted->syscall |
				     (uint64_t)wanted->flags << 16 | (uint64_t)wanted->class << 28);
	for (;; key++) {
		uint64_t *at = map64__put(&collection->index, key, groups->groups.n);

		if (!at)
			return NULL;
		if (*at == groups->groups.n)
			return array__push(&groups->groups, *wanted) ? NULL
								     : &groups->groups.data[*at];
		if (group__same(&groups->groups.data[*at], wanted))
			return &groups->groups.data[*at];
	}
}

static int collection__add(void *context, const struct moment *moment)
{
	struct collection *collection = context;
	struct moment_group wanted = {
		.thread = moment->thread,
		.comm = moment->comm,
		.kernel = moment->kernel,
		.user = moment->user,
		.object = moment->object,
		.syscall = moment->syscall,
		.class = moment->class,
	};
	struct moment_group *group;

	if (moment->class == CLASS_SCHED) {
		wanted.flags = moment->flags & (INTERVAL_PREEMPTED | INTERVAL_FIRST);
		/* It waits for a CPU, no longer for the object. */
		wanted.object = 0;
	}
	group = collection__group(collection, &wanted);
	if (!group)
		return -ENOMEM;
	group->count++;
	group->points += moment->points;
	group->ns += moment->ns;
	collection->groups->points += moment->points;
	collection->groups->ns += moment->ns;
	collection->groups->class_points[moment->class] += moment->points;
	collection->groups->class_ns[moment->class] += moment->ns;
	return 0;
}

int moment_groups__collect(const struct model *model, const struct moment_filter *filter,
			   struct moment_groups *out)
{
	struct moment_groups groups = {};
	struct collection collection = {.groups = &groups};
	int err = moments__visit(model, filter, collection__add, &collection);

	map64__free(&collection.index);
	if (err) {
		moment_groups__free(&groups);
		return err;
	}
	*out = groups;
	return 0;
}

void moment_groups__free(struct moment_groups *groups)
{
	array__free(&groups->groups);
}
