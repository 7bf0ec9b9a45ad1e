// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/path/path_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/path_links.h"
#include "base/cleanup.h"

static const struct {
	const char *name;
	bool accounted;
} categories[PATH_CATEGORY_COUNT] = {
	[PATH_RUNNING] = {"running", true},
	[PATH_NOT_SAMPLED] = {"not_sampled", true},
	[PATH_DISK_ACTIVE] = {"disk_active", true},
	[PATH_DISK_QUEUED] = {"disk_queued", true},
	[PATH_RUN_QUEUE] = {"run_queue", true},
	[PATH_PREEMPTED] = {"preempted", true},
	[PATH_SLEEP] = {"sleep", true},
	[PATH_TIMEOUT] = {"timeout", true},
	[PATH_PEER] = {"peer", true},
	[PATH_INTERRUPT] = {"interrupt", true},
	[PATH_DELIVERY] = {"delivery", true},
	[PATH_IDLE] = {"idle", true},
	[PATH_OTHER_PATH] = {"other_path", true},
	[PATH_NOT_RECORDED] = {"not_recorded", false},
	[PATH_GAP] = {"gap", false},
	[PATH_UNKNOWN] = {"unknown", false},
};

const char *path_category__name(enum path_category category)
{
	return categories[category].name;
}

bool path_category__is_accounted(enum path_category category)
{
	return categories[category].accounted;
}

/* A level that is being walked along. */
struct walker {
	struct path_level level;
	uint64_t at;		 /* what is before is done */
	size_t next;		 /* interval: the first that ends after @at */
	size_t sample;		 /* the first at or after @at */
	struct poll_chain chain; /* that was found last */
};

struct walking {
	const struct path_walk *walk;
	const struct path_visitor *visitor;
	ARRAY(struct walker) levels;
	uint8_t *on_path; /* by thread */
	size_t *found;	  /* by thread: where an interval was found last */
};

static const struct model_thread *thread_of(const struct walking *walking,
					    const struct walker *walker)
{
	return &walking->walk->model->threads.data[walker->level.thread];
}

static uint64_t end_of(const struct model_interval *interval)
{
	return interval->t_out + interval->blocked_ns + interval->runq_ns;
}

static uint64_t min_time(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The first interval of @thread that may end after @at. */
static size_t first_interval(const struct model_thread *thread, uint64_t at, size_t *found)
{
	*found = model_thread__intervals_until(thread, at, *found);
	return *found ? *found - 1 : 0;
}

static size_t first_sample(const struct model_thread *thread, uint64_t at)
{
	size_t low = 0, high = thread->samples.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (thread->samples.data[middle].time < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int enter(struct walking *walking, const struct path_level *level)
{
	const struct model_thread *thread = &walking->walk->model->threads.data[level->thread];
	struct walker *walker = array__add(&walking->levels);

	if (!walker)
		return -ENOMEM;
	walker->level = *level;
	walker->at = level->from;
	walker->next = first_interval(thread, level->from, &walking->found[level->thread]);
	walker->sample = first_sample(thread, level->from);
	walking->on_path[level->thread] = 1;
	return walking->visitor->enter ? walking->visitor->enter(walking->visitor->context, level)
				       : 0;
}

static int leave(struct walking *walking)
{
	struct path_level level = walking->levels.data[--walking->levels.n].level;

	walking->on_path[level.thread] = 0;
	return walking->visitor->leave ? walking->visitor->leave(walking->visitor->context, &level)
				       : 0;
}

/* Ends the current piece of @walker, at @step->until, as one step. */
static int put_step(struct walking *walking, struct walker *walker, struct path_step *step)
{
	step->thread = walker->level.thread;
	step->from = walker->at;
	walker->at = step->until;
	return walking->visitor->step ? walking->visitor->step(walking->visitor->context, step) : 0;
}

/* A time in a run at which it is known where the thread was. */
struct known_place {
	uint64_t time;
	uint32_t sample;   /* 1 + number of a sample; 0: an interval's stack */
	uint32_t interval; /* 1 + number */
};

/* Ends the part of a run that belongs to the place in @step, at @until if that is not before. */
static int put_place(struct walking *walking, struct walker *walker, struct path_step *step,
		     uint64_t until)
{
	step->until = until;
	return until > walker->at ? put_step(walking, walker, step) : 0;
}

/* The last one is where the thread was at @time; the part until then is divided in the middle. */
static int next_place(struct walking *walking, struct walker *walker, struct path_step *step,
		      const struct known_place *place, uint64_t *last)
{
	int err = 0;

	if (step->category == PATH_RUNNING)
		err = put_place(walking, walker, step, *last + (place->time - *last) / 2);
	step->category = PATH_RUNNING;
	step->sample = place->sample;
	step->interval = place->interval;
	*last = place->time;
	return err;
}

/*
 * Interval @number - 1 of @thread if it was preempted in user mode then: its stack is where it goes
 * on. A preemption in a system call often comes at once, because that woke another thread, and says
 * nothing about what is around it.
 */
static struct known_place preempted_at(const struct model_thread *thread, size_t number,
				       uint64_t time)
{
	struct known_place place = {.time = time};
	const struct model_interval *interval;

	if (!number || number > thread->intervals.n)
		return place;
	interval = &thread->intervals.data[number - 1];
	if (interval->flags & INTERVAL_PREEMPTED && interval->user && interval->syscall < 0)
		place.interval = (uint32_t)number;
	return place;
}

/*
 * A run until @until, before interval @next. Each part of it is in the functions of the sample that
 * is closest, or of the preemption that began or ended it.
 */
static int put_run(struct walking *walking, struct walker *walker, uint64_t until, size_t next)
{
	const struct model_thread *thread = thread_of(walking, walker);
	bool is_ended = next < thread->intervals.n && thread->intervals.data[next].t_out == until;
	struct known_place begin = preempted_at(thread, next, walker->at);
	struct known_place end = preempted_at(thread, is_ended ? next + 1 : 0, until);
	struct path_step step = {.category = PATH_NOT_SAMPLED,
				 .interval = next < thread->intervals.n ? (uint32_t)next + 1 : 0};
	uint64_t last = walker->at;
	int err = 0;

	if (begin.interval)
		err = next_place(walking, walker, &step, &begin, &last);
	while (walker->sample < thread->samples.n &&
	       thread->samples.data[walker->sample].time < last)
		walker->sample++;
	for (; walker->sample < thread->samples.n && !err; walker->sample++) {
		struct known_place place = {.time = thread->samples.data[walker->sample].time,
					    .sample = (uint32_t)walker->sample + 1};

		if (place.time > until)
			break;
		err = next_place(walking, walker, &step, &place, &last);
	}
	if (end.interval && !err)
		err = next_place(walking, walker, &step, &end, &last);
	return err ? err : put_place(walking, walker, &step, until);
}

/* The thread did not exist yet, or was not recorded yet, until @until. */
static int put_before(struct walking *walking, struct walker *walker, uint64_t until)
{
	const struct model_thread *thread = thread_of(walking, walker);
	struct path_step step = {
		.category = PATH_NOT_RECORDED, .until = until, .id = walker->level.thread};
	struct path_level creator = {.thread = thread->parent,
				     .depth = walker->level.depth,
				     .from = walker->at,
				     .until = until,
				     .waiter = walker->level.waiter,
				     .interval = walker->level.interval};

	if (!(thread->flags & THREAD_CREATED) || !thread->parent || !walker->level.depth)
		return put_step(walking, walker, &step);
	step.id = thread->parent;
	if (walking->on_path[thread->parent]) {
		step.category = PATH_OTHER_PATH;
		return put_step(walking, walker, &step);
	}
	if (!model_thread__is_recorded(&walking->walk->model->threads.data[thread->parent]))
		return put_step(walking, walker, &step);
	walker->at = until;
	return enter(walking, &creator);
}

static int put_disk(struct walking *walking, struct walker *walker, uint64_t until, size_t number)
{
	const struct model_interval *interval = &thread_of(walking, walker)->intervals.data[number];
	uint64_t issued = path_links__issued(walking->walk->model, interval);
	struct path_step step = {.interval = (uint32_t)number + 1, .id = interval->device};
	int err = 0;

	if (issued > walker->at) {
		step.category = PATH_DISK_QUEUED;
		step.until = min_time(issued, until);
		err = put_step(walking, walker, &step);
	}
	if (err || walker->at >= until)
		return err;
	step.category = PATH_DISK_ACTIVE;
	step.until = until;
	return put_step(walking, walker, &step);
}

/* A wait that @waker ended, of which the part until @until is to be explained. */
static int put_wait_for(struct walking *walking, struct walker *walker, uint64_t until,
			size_t number, uint32_t waker)
{
	const struct path_walk *walk = walking->walk;
	struct path_step step = {.until = until, .interval = (uint32_t)number + 1, .id = waker};
	struct path_level level = {.thread = waker,
				   .depth = walker->level.depth + 1,
				   .from = walker->at,
				   .until = until,
				   .waiter = walker->level.thread,
				   .interval = (uint32_t)number};

	if (walking->on_path[waker])
		step.category =
			until - walker->at > walk->slack_ns ? PATH_OTHER_PATH : PATH_DELIVERY;
	else if (!model_thread__is_recorded(&walk->model->threads.data[waker]))
		step.category = path_links__is_sleep(walk, walker->level.thread, number)
					? PATH_SLEEP /* that a signal ended */
					: PATH_NOT_RECORDED;
	else if (level.depth > walk->max_depth)
		step.category = walk->max_depth ? PATH_UNKNOWN : PATH_OTHER_PATH;
	else {
		walker->at = until;
		return enter(walking, &level);
	}
	return put_step(walking, walker, &step);
}

static int put_wait(struct walking *walking, struct walker *walker, uint64_t until, size_t number)
{
	const struct path_walk *walk = walking->walk;
	struct path_step step = {.until = until, .interval = (uint32_t)number + 1};
	struct wait_cause cause;

	if (!walker->level.depth && walk->idle &&
	    idle_waits__reason(walk->idle, walker->level.thread, number)) {
		step.category = PATH_IDLE;
		return put_step(walking, walker, &step);
	}
	cause = path_links__cause(walk, walker->level.thread, number, &walker->chain);
	/* It polls for work, which a thread further out will give it later: this poll timed out. */
	if (cause.type == CAUSE_THREAD && walking->on_path[cause.id] && walker->chain.is_timeout)
		cause = (struct wait_cause){CAUSE_TIMER, 0};
	step.id = cause.id;
	switch (cause.type) {
	case CAUSE_THREAD:
		return put_wait_for(walking, walker, until, number, cause.id);
	case CAUSE_DEVICE:
		return put_disk(walking, walker, until, number);
	case CAUSE_TIMER:
		step.category = path_links__is_sleep(walk, walker->level.thread, number)
					? PATH_SLEEP
					: PATH_TIMEOUT;
		break;
	case CAUSE_PEER:
		step.category = PATH_PEER;
		break;
	case CAUSE_INTERRUPT:
		step.category = PATH_INTERRUPT;
		break;
	default:
		step.category = path_links__is_sleep(walk, walker->level.thread, number)
					? PATH_SLEEP
					: PATH_UNKNOWN;
		break;
	}
	return put_step(walking, walker, &step);
}

/* The time before interval @number, or after the last: a run, unless events were lost. */
static int put_between(struct walking *walking, struct walker *walker, uint64_t until,
		       size_t number)
{
	const struct model_thread *thread = thread_of(walking, walker);
	struct path_step step = {.category = PATH_GAP, .until = until};

	if (!model_thread__lost_before(thread, number))
		return put_run(walking, walker, until, number);
	if (number < thread->intervals.n)
		step.interval = (uint32_t)number + 1;
	return put_step(walking, walker, &step);
}

/* The next piece of the innermost level, up to the next change of its thread's state. */
static int put_piece(struct walking *walking, struct walker *walker)
{
	const struct model_thread *thread = thread_of(walking, walker);
	const struct model_interval *interval;
	uint64_t until = walker->level.until, wake;
	struct path_step step = {};
	size_t number;

	if (walker->at < thread->created)
		return put_before(walking, walker, min_time(until, thread->created));
	if (thread->exited && walker->at >= thread->ended) {
		step.category = PATH_UNKNOWN;
		step.until = until;
		return put_step(walking, walker, &step);
	}
	while (walker->next < thread->intervals.n &&
	       end_of(&thread->intervals.data[walker->next]) <= walker->at)
		walker->next++;
	number = walker->next;
	if (thread->exited)
		until = min_time(until, thread->ended);
	if (number == thread->intervals.n)
		return put_between(walking, walker, until, number);
	interval = &thread->intervals.data[number];
	if (interval->t_out > walker->at)
		return put_between(walking, walker, min_time(until, interval->t_out), number);
	step.interval = (uint32_t)number + 1;
	wake = interval->t_out + interval->blocked_ns;
	if (walker->at < wake)
		return put_wait(walking, walker, min_time(until, wake), number);
	step.category = interval->flags & INTERVAL_PREEMPTED ? PATH_PREEMPTED : PATH_RUN_QUEUE;
	step.until = min_time(until, end_of(interval));
	return put_step(walking, walker, &step);
}

int path__walk(const struct path_walk *walk, uint32_t thread, uint64_t from, uint64_t until,
	       const struct path_visitor *visitor)
{
	struct path_level base = {.thread = thread, .from = from, .until = until};
	struct walking walking = {.walk = walk, .visitor = visitor};
	int err = 0;

	walking.on_path = calloc(walk->model->threads.n, 1);
	walking.found = calloc(walk->model->threads.n, sizeof(*walking.found));
	if (!walking.on_path || !walking.found)
		err = -ENOMEM;
	if (from < until && !err)
		err = enter(&walking, &base);
	while (walking.levels.n && !err) {
		struct walker *walker = &walking.levels.data[walking.levels.n - 1];

		err = walker->at < walker->level.until ? put_piece(&walking, walker)
						       : leave(&walking);
	}
	array__free(&walking.levels);
	free(walking.on_path);
	free(walking.found);
	return err;
}
