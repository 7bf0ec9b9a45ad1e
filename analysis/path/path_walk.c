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
	[PATH_ESTIMATED] = {"estimated", true},
	[PATH_NOT_SAMPLED] = {"not_sampled", true},
	[PATH_MEMORY] = {"memory", true},
	[PATH_MEMORY_ESTIMATED] = {"memory_estimated", true},
	[PATH_DISK_ACTIVE] = {"disk_active", true},
	[PATH_DISK_QUEUED] = {"disk_queued", true},
	[PATH_STOPPED] = {"stopped", true},
	[PATH_TCP] = {"tcp", true},
	[PATH_RUN_QUEUE] = {"run_queue", true},
	[PATH_PREEMPTED] = {"preempted", true},
	[PATH_CPU_IDLE] = {"cpu_idle", true},
	[PATH_SLEEP] = {"sleep", true},
	[PATH_TIMEOUT] = {"timeout", true},
	[PATH_PEER] = {"peer", true},
	[PATH_INTERRUPT] = {"interrupt", true},
	[PATH_DELIVERY] = {"delivery", true},
	[PATH_IDLE] = {"idle", true},
	[PATH_OTHER_PATH] = {"other_path", false},
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

static enum path_category queue_category(const struct model_interval *interval)
{
	return interval->flags & INTERVAL_PREEMPTED ? PATH_PREEMPTED : PATH_RUN_QUEUE;
}

/*
 * Running to get memory, if that is what @step is. Of the runs of a group, as many as its samples
 * tell: each run is one or the other, whatever part of the path is looked at.
 */
static enum path_category running_category(const struct path_walk *walk,
					   const struct path_step *step)
{
	const struct model_thread *thread = &walk->model->threads.data[step->thread];
	const struct run_group *group;
	uint32_t kernel;

	if (!walk->kinds)
		return step->category;
	if (step->category == PATH_ESTIMATED) {
		group = run_groups__at(walk->runs, step->group);
		return hash__add(step->thread, step->interval) % group->weight.unsampled <
				       group->memory
			       ? PATH_MEMORY_ESTIMATED
			       : PATH_ESTIMATED;
	}
	kernel = step->sample ? thread->samples.data[step->sample - 1].kernel : 0;
	return kernel && kinds__of_running(walk->kinds, kernel) != KIND_RUNNING ? PATH_MEMORY
										: PATH_RUNNING;
}

/* Ends the current piece of @walker, at @step->until, as one step. */
static int put_step(struct walking *walking, struct walker *walker, const struct path_step *piece)
{
	const struct path_level *level = &walker->level;
	const struct model_thread *waiter = &walking->walk->model->threads.data[level->waiter];
	struct path_step step = *piece;

	step.thread = level->thread;
	step.from = walker->at;
	step.doing = step.category;
	if (step.doing == PATH_RUNNING || step.doing == PATH_ESTIMATED)
		step.category = running_category(walking->walk, &step);
	if (level->relation == PATH_HAS_CPU) {
		step.category = queue_category(&waiter->intervals.data[level->interval]);
		step.id = level->thread;
	}
	walker->at = step.until;
	return walking->visitor->step ? walking->visitor->step(walking->visitor->context, &step)
				      : 0;
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

	if (walking->walk->runs)
		err = run_groups__find(walking->walk->runs, walker->level.thread, next,
				       &step.group);
	if (begin.interval && !err)
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
	if (step.category == PATH_NOT_SAMPLED && step.group)
		step.category = PATH_ESTIMATED;
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

/* The time until @until of a wait, in which TCP held nothing back. */
static int put_unheld(struct walking *walking, struct walker *walker, uint64_t until, size_t number)
{
	const struct path_walk *walk = walking->walk;
	struct path_step step = {.until = until, .interval = (uint32_t)number + 1};
	struct wait_cause cause;

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
	case CAUSE_QUEUE:
		step.category = PATH_PEER;
		break;
	case CAUSE_LIMIT:
		step.category = PATH_STOPPED;
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

/* What TCP held back for a wait was written by @segment's writer, left, and is under way. */
static bool is_under_way(const struct walker *walker, const struct model_segment *segment)
{
	return segment->role == SEGMENT_DATA && segment->writer && walker->at >= segment->left;
}

/*
 * The next part of interval @number, of whose wait TCP held something back: until it was written,
 * that it was held back, or was under way.
 */
static int put_held(struct walking *walking, struct walker *walker, uint64_t until, size_t number)
{
	const struct model_thread *thread = thread_of(walking, walker);
	const struct model_interval *interval = &thread->intervals.data[number];
	const struct model_segment *segment = &thread->segments.data[interval->segment - 1];
	struct path_step step = {.until = until, .interval = (uint32_t)number + 1};
	struct model_hold holds[SEGMENT_HOLDS];
	size_t n = model_interval__holds(thread, interval, holds);

	for (size_t i = 0; i < n; i++) {
		if (walker->at >= holds[i].until)
			continue;
		if (walker->at < holds[i].from)
			return put_unheld(walking, walker, min_time(until, holds[i].from), number);
		step.category = PATH_TCP;
		step.id = holds[i].object;
		step.until = min_time(until, holds[i].until);
		return put_step(walking, walker, &step);
	}
	if (!is_under_way(walker, segment))
		return put_unheld(walking, walker, until, number);
	step.category = PATH_DELIVERY;
	step.id = segment->writer;
	return put_step(walking, walker, &step);
}

static int put_wait(struct walking *walking, struct walker *walker, uint64_t until, size_t number)
{
	const struct path_walk *walk = walking->walk;
	struct path_step step = {
		.category = PATH_IDLE, .until = until, .interval = (uint32_t)number + 1};

	if (!walker->level.depth && walk->idle &&
	    idle_waits__reason(walk->idle, walker->level.thread, number))
		return put_step(walking, walker, &step);
	if (thread_of(walking, walker)->intervals.data[number].segment)
		return put_held(walking, walker, until, number);
	return put_unheld(walking, walker, until, number);
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

/* Limits of the search for who gave a thread its work. */
#define MAX_HAND_OVERS	8
#define MAX_PREEMPTIONS 256

/* Whether the thread waited in @interval, rather than being preempted or not allowed to run. */
static bool is_wait(const struct model *model, const struct model_interval *interval)
{
	return interval->blocked_ns && !wait_causes__is_limit(model, interval);
}

/*
 * The wait of @thread before the run that interval @next ends, however often the thread lost its
 * CPU since. NULL: not known.
 */
static const struct model_interval *wait_before(const struct model *model,
						const struct model_thread *thread, size_t next)
{
	for (size_t n = 0; next && n < MAX_PREEMPTIONS; n++) {
		const struct model_interval *interval;

		if (model_thread__lost_before(thread, next))
			return NULL;
		interval = &thread->intervals.data[--next];
		if (is_wait(model, interval))
			return interval;
	}
	return NULL;
}

/* Since when @walker's thread works at what it does, or did when it began its present wait. */
static uint64_t busy_since(const struct walking *walking, const struct walker *walker)
{
	const struct model *model = walking->walk->model;
	const struct model_thread *thread = thread_of(walking, walker);
	const struct model_interval *last, *present = NULL;
	size_t next = walker->next;

	if (next < thread->intervals.n && thread->intervals.data[next].t_out <= walker->at)
		present = &thread->intervals.data[next];
	if (present && is_wait(model, present) &&
	    walker->at >= present->t_out + present->blocked_ns)
		return walker->at; /* it was woken, and has not run yet */
	last = wait_before(model, thread, next);
	return last ? end_of(last) : walker->level.from;
}

/*
 * Whether the run of @thread that interval @next ends is work that a thread of the pseudo-stack has
 * given it, or one that works for that: since it began what it is at.
 */
static bool works_for_path(const struct walking *walking, uint32_t thread, size_t next)
{
	const struct path_walk *walk = walking->walk;

	for (int n = 0; n < MAX_HAND_OVERS; n++) {
		const struct model_thread *of = &walk->model->threads.data[thread];
		const struct model_interval *wait = wait_before(walk->model, of, next);
		struct wait_cause cause;
		uint64_t given;

		if (!wait)
			return false;
		given = wait->t_out + wait->blocked_ns;
		cause = wait_causes__beside_holds(walk->causes, thread, wait);
		if (cause.type != CAUSE_THREAD)
			return false;
		thread = cause.id;
		for (size_t i = walking->levels.n; walking->on_path[thread] && i--;)
			if (walking->levels.data[i].level.thread == thread)
				return given >= busy_since(walking, &walking->levels.data[i]);
		next = model_thread__intervals_until(&walk->model->threads.data[thread], given,
						     next);
	}
	return false;
}

/* The next wait of @thread after interval @number. NULL: not known. */
static const struct model_interval *wait_after(const struct model *model,
					       const struct model_thread *thread, size_t number)
{
	for (size_t n = 0; ++number < thread->intervals.n && n < MAX_PREEMPTIONS; n++) {
		if (model_thread__lost_before(thread, number))
			return NULL;
		if (is_wait(model, &thread->intervals.data[number]))
			return &thread->intervals.data[number];
	}
	return NULL;
}

/* The wait that @thread is in at @time, or the next one if it waits for a CPU. NULL: it runs. */
static const struct model_interval *wait_at(const struct model *model,
					    const struct model_thread *thread, uint64_t time)
{
	size_t n = model_thread__intervals_until(thread, time, thread->intervals.n);
	const struct model_interval *interval = n ? &thread->intervals.data[n - 1] : NULL;

	if (!interval || end_of(interval) <= time)
		return NULL;
	return is_wait(model, interval) && interval->t_out + interval->blocked_ns > time
		       ? interval
		       : wait_after(model, thread, n - 1);
}

/*
 * Whether @walker's thread waits next, after interval @number, for @thread, which has the CPU:
 * itself, or through other threads.
 */
static bool is_awaited_next(const struct walking *walking, const struct walker *walker,
			    size_t number, uint32_t thread)
{
	const struct path_walk *walk = walking->walk;
	const struct model_thread *of = thread_of(walking, walker);
	const struct model_interval *wait = wait_after(walk->model, of, number);
	uint32_t waiter = walker->level.thread;

	for (int n = 0; wait && n < MAX_HAND_OVERS; n++) {
		struct wait_cause cause = wait_causes__beside_holds(walk->causes, waiter, wait);

		if (cause.type != CAUSE_THREAD || cause.id == thread)
			return cause.type == CAUSE_THREAD;
		waiter = cause.id;
		if (walking->on_path[waiter])
			return false;
		wait = wait_at(walk->model, &walk->model->threads.data[waiter], walker->at);
	}
	return false;
}

/*
 * Whether @found, which has the CPU that @walker's thread waits for in interval @number, works for
 * the path. It was given work, and the thread waits for it next, or it has done it by the time the
 * thread runs again. Nothing tells that a thread was given work before it slept; so what a thread
 * waits for next that was preempted in a system call counts in any case.
 */
static bool is_same_path(const struct walking *walking, const struct walker *walker, size_t number,
			 const struct cpu_occupant *found)
{
	const struct model_interval *queue = &thread_of(walking, walker)->intervals.data[number];
	const struct model_interval *done;
	bool in_call = queue->flags & INTERVAL_PREEMPTED && queue->syscall >= 0;

	if (!works_for_path(walking, found->thread, found->next))
		return in_call && is_awaited_next(walking, walker, number, found->thread);
	if (is_awaited_next(walking, walker, number, found->thread))
		return true;
	done = wait_after(walking->walk->model, &walking->walk->model->threads.data[found->thread],
			  found->next - 1);
	return done && done->t_out <= end_of(queue);
}

/* A wait for a CPU: goes on with who has it. */
static int put_queue(struct walking *walking, struct walker *walker, uint64_t until, size_t number)
{
	const struct path_walk *walk = walking->walk;
	struct path_step step = {.until = until, .interval = (uint32_t)number + 1};
	struct path_level level = {.depth = walker->level.depth + 1,
				   .from = walker->at,
				   .waiter = walker->level.thread,
				   .interval = (uint32_t)number};
	struct cpu_occupant found = {.until = until};
	int err;

	step.category = queue_category(&thread_of(walking, walker)->intervals.data[number]);
	if (walk->cpus) {
		err = cpu_occupants__at(walk->cpus, walker->level.thread, number, walker->at, until,
					&found);
		if (err)
			return err;
	}
	step.until = found.until;
	if (found.type == OCCUPANT_IDLE)
		step.category = PATH_CPU_IDLE;
	else if (found.type == OCCUPANT_OTHER)
		step.id = found.thread;
	if (found.type != OCCUPANT_RUN || walking->on_path[found.thread])
		return put_step(walking, walker, &step);
	level.thread = found.thread;
	level.until = found.until;
	level.relation = PATH_HAS_CPU;
	if (walk->max_depth >= level.depth && is_same_path(walking, walker, number, &found))
		level.relation = PATH_SAME_PATH;
	walker->at = found.until;
	return enter(walking, &level);
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
	wake = interval->t_out + interval->blocked_ns;
	if (walker->at < wake)
		return put_wait(walking, walker, min_time(until, wake), number);
	return put_queue(walking, walker, min_time(until, end_of(interval)), number);
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
