// SPDX-License-Identifier: BSD-2-Clause
/* Paths: against a definition by brute force, and by hand where the answer is known. */
#include "tests/unit/random_recording.h"

#include "analysis/path/path.h"

#include <errno.h>
#include <sys/syscall.h>

/* Whatever is recorded of these threads is in the path of the first. */
struct found {
	struct model *model;
	struct kinds *kinds;
	struct path path;
	int err;
};

static struct found find(struct model *model, const struct path_options *options)
{
	struct found found = {.model = model};

	assert_int_equal(kinds__new(model, &found.kinds), 0);
	found.err = path__find(model, found.kinds, NULL, options, &found.path);
	return found;
}

static void found__free(struct found *found)
{
	path__free(&found->path);
	kinds__free(found->kinds);
	model__free(found->model);
}
#define _cleanup_found_ _cleanup_(found__free)

static uint32_t index_of(const struct model *model, uint32_t number)
{
	for (uint32_t t = 1; t < model->threads.n; t++)
		if (model->threads.data[t].number == number)
			return t;
	fail_msg("there is no thread %u", number);
	return 0;
}

/* The path of thread 1 in all of @program, which ends at @end. */
static struct found program__path(struct program *program, uint64_t end)
{
	struct model *model = synthetic__load(&program->made, end);
	struct path_options options = {
		.thread = index_of(model, 1), .from = 0, .until = UINT64_MAX};

	return find(model, &options);
}

/* The time of the nodes below those of @names, from the base on, each a thread, frame or wait. */
static uint64_t time_at(const struct found *found, const char *const *names)
{
	const struct path_node *nodes = found->path.tree.nodes.data;
	uint32_t at = 0;

	for (size_t i = 0; names[i]; i++) {
		uint32_t child = nodes[at].child;
		const char *name;

		for (; child; child = nodes[child].next) {
			if (nodes[child].type == PATH_NODE_WAIT)
				name = kind__name(nodes[child].kind);
			else if (nodes[child].type == PATH_NODE_LEAF)
				name = path_category__name(nodes[child].category);
			else
				name = model__string(found->model, nodes[child].name);
			if (!strcmp(name, names[i]))
				break;
		}
		if (!child)
			return 0;
		at = child;
	}
	return nodes[at].total_ns;
}

#define TIME_AT(found, ...) time_at((found), (const char *const[]){__VA_ARGS__, NULL})

/* What an interval ended by a timer or a device has as the stack of its wakeup. */
static void put_wake(struct program *program, const struct record_interval *of,
		     const char *function)
{
	synthetic__put(&program->made,
		       (struct record){.type = RECORD_WAKE,
				       .wake = {.thread = of->thread,
						.waker = of->waker,
						.context = of->waker_context,
						.kernel_stack = KERNEL(program, function),
						.time = START + of->t_out + of->blocked_ns}});
}

/* A wait that a timer ends, in a poll. */
static void put_timeout(struct program *program, uint32_t thread, uint64_t begin, uint64_t end,
			uint32_t user)
{
	struct record_interval interval = {.thread = thread,
					   .waker_context = WAKER_HARDIRQ,
					   .t_out = begin,
					   .blocked_ns = end - begin,
					   .class = CLASS_OTHER,
					   .syscall = SYS_poll,
					   .user_stack = user};

	synthetic__interval(&program->made, interval);
	put_wake(program, &interval, "hrtimer_wakeup");
}

/* ---- random traces ---- */

#define THREADS 6
#define LENGTH	(20 * MS)

/* Alternating runs and waits of one thread, ended by others, by timers, or by nobody knows what. */
static void put_random_thread(struct program *program, struct dice *dice, uint32_t thread)
{
	static const char *const places[] = {"f", "g", "h"};
	uint64_t at = dice__roll(dice) % MS;

	while (at < LENGTH) {
		const char *place = places[dice__roll(dice) % ARRAY_SIZE(places)];
		uint64_t blocked = dice__roll(dice) % 3 ? 1 + dice__roll(dice) % (2 * MS) : 0;
		struct record_interval interval = {.thread = thread,
						   .t_out = at,
						   .blocked_ns = blocked,
						   .class = blocked ? CLASS_OTHER : CLASS_SCHED,
						   .flags = blocked ? 0 : INTERVAL_PREEMPTED,
						   .syscall = SYS_poll,
						   .user_stack = USER(program, place, "main")};

		interval.runq_ns = dice__roll(dice) % 2 ? dice__roll(dice) % (300 * 1000) : 0;
		if (blocked && dice__roll(dice) % 4) {
			interval.waker = 1 + (uint32_t)dice__roll(dice) % THREADS;
			interval.waker_context = WAKER_TASK;
		} else if (blocked) {
			interval.waker_context = WAKER_HARDIRQ;
		}
		synthetic__interval(&program->made, interval);
		if (interval.waker_context == WAKER_HARDIRQ)
			put_wake(program, &interval, "hrtimer_wakeup");
		at += interval.blocked_ns + interval.runq_ns;
		at += 1 + dice__roll(dice) % (dice__roll(dice) % 2 ? 50 * 1000 : MS);
	}
}

/* The number of the interval of @thread at @time, or -1: it runs. */
static ssize_t interval_at(const struct model_thread *thread, uint64_t time)
{
	for (size_t i = 0; i < thread->intervals.n; i++) {
		const struct model_interval *interval = &thread->intervals.data[i];

		if (interval->t_out <= time &&
		    time < interval->t_out + interval->blocked_ns + interval->runq_ns)
			return (ssize_t)i;
	}
	return -1;
}

/* Who ended wait @i of @thread, or the de facto wait that it is a part of; 0: a timer, or nobody.
 */
static uint32_t waker_of(const struct model *model, const struct model_thread *thread, size_t i,
			 uint64_t slack)
{
	const struct model_interval *intervals = thread->intervals.data;

	while (intervals[i].waker_context == WAKER_HARDIRQ && i + 1 < thread->intervals.n &&
	       intervals[i + 1].blocked_ns && intervals[i + 1].user == intervals[i].user &&
	       intervals[i + 1].t_out - intervals[i].t_out - intervals[i].blocked_ns -
			       intervals[i].runq_ns <=
		       slack)
		i++;
	return &model->threads.data[intervals[i].waker] == thread ? 0 : intervals[i].waker;
}

/*
 * The pseudo-stack at @time by definition: a blocked thread waits for the one that will wake it.
 * Returns a hash of its threads, and sets *@category.
 */
static uint64_t stack_at(const struct model *model, uint32_t base, uint64_t time, uint64_t slack,
			 enum path_category *category)
{
	bool seen[THREADS + 2] = {};
	uint64_t hash = 0;
	uint32_t at = base;

	for (;;) {
		const struct model_thread *thread = &model->threads.data[at];
		ssize_t i = interval_at(thread, time);
		const struct model_interval *interval = i < 0 ? NULL : &thread->intervals.data[i];
		uint32_t waker;

		seen[at] = true;
		hash = hash__add(hash, at);
		*category = PATH_NOT_SAMPLED;
		if (!interval)
			return hash;
		*category = interval->flags & INTERVAL_PREEMPTED ? PATH_PREEMPTED : PATH_RUN_QUEUE;
		if (time >= interval->t_out + interval->blocked_ns)
			return hash;
		waker = waker_of(model, thread, (size_t)i, slack);
		*category = interval->waker_context == WAKER_HARDIRQ ? PATH_TIMEOUT : PATH_UNKNOWN;
		if (!waker)
			return hash;
		if (seen[waker]) {
			if (interval->waker_context != WAKER_HARDIRQ)
				*category = PATH_OTHER_PATH;
			return hash;
		}
		at = waker;
	}
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Adds the time of each pseudo-stack and category to @sums, from one change to the next. */
static void sum_by_definition(const struct model *model, uint32_t base, uint64_t from,
			      uint64_t until, uint64_t slack, struct map64 *sums)
{
	ARRAY(uint64_t) changes = {};

	assert_int_equal(array__push(&changes, from), 0);
	assert_int_equal(array__push(&changes, until), 0);
	for (size_t t = 1; t < model->threads.n; t++) {
		const struct model_thread *thread = &model->threads.data[t];

		for (size_t i = 0; i < thread->intervals.n; i++) {
			const struct model_interval *of = &thread->intervals.data[i];
			uint64_t wake = of->t_out + of->blocked_ns;

			assert_int_equal(array__push(&changes, of->t_out), 0);
			assert_int_equal(array__push(&changes, wake), 0);
			assert_int_equal(array__push(&changes, wake + of->runq_ns), 0);
		}
	}
	qsort(changes.data, changes.n, sizeof(*changes.data), compare_times);
	for (size_t i = 0; i + 1 < changes.n; i++) {
		uint64_t begin = changes.data[i], end = changes.data[i + 1];
		enum path_category category;
		uint64_t stack;

		if (begin < from || end > until || begin == end)
			continue;
		stack = stack_at(model, base, begin, slack, &category);
		*map64__put(sums, hash__add(stack, category), 0) += end - begin;
	}
	array__free(&changes);
}

struct walked {
	ARRAY(uint32_t) threads;
	struct map64 sums;
	uint64_t at; /* end of the last step */
};

static int on_enter(void *context, const struct path_level *level)
{
	struct walked *walked = context;

	assert_true(level->from < level->until);
	assert_int_equal(walked->threads.n, level->depth);
	assert_true(walked->at == level->from);
	return array__push(&walked->threads, level->thread);
}

static int on_step(void *context, const struct path_step *step)
{
	struct walked *walked = context;
	enum path_category category = step->category;
	uint64_t hash = 0;

	assert_true(step->from < step->until);
	assert_true(step->from == walked->at);
	assert_int_equal(step->thread, walked->threads.data[walked->threads.n - 1]);
	walked->at = step->until;
	for (size_t i = 0; i < walked->threads.n; i++)
		hash = hash__add(hash, walked->threads.data[i]);
	if (category == PATH_DELIVERY)
		category = PATH_OTHER_PATH;
	if (category == PATH_RUNNING) /* after a preemption */
		category = PATH_NOT_SAMPLED;
	*map64__put(&walked->sums, hash__add(hash, category), 0) += step->until - step->from;
	return 0;
}

static int on_leave(void *context, const struct path_level *level)
{
	struct walked *walked = context;

	assert_true(walked->at == level->until);
	walked->threads.n--;
	return 0;
}

static void check_walk(const struct path *path, uint64_t from, uint64_t until)
{
	struct walked walked = {.at = from};
	struct path_visitor visitor = {on_enter, on_step, on_leave, &walked};
	struct map64 sums = {};

	assert_int_equal(path__walk(&path->walk, path->thread, from, until, &visitor), 0);
	assert_true(walked.at == until && !walked.threads.n);
	sum_by_definition(path->model, path->thread, from, until, path->walk.slack_ns, &sums);
	assert_int_equal(sums.n, walked.sums.n);
	for (size_t i = 0; i < sums.capacity; i++) {
		const uint64_t *ns;

		if (!sums.slots[i].used)
			continue;
		ns = map64__get(&walked.sums, sums.slots[i].key);
		assert_non_null(ns);
		assert_true(*ns == sums.slots[i].value);
	}
	map64__free(&sums);
	map64__free(&walked.sums);
	array__free(&walked.threads);
}

static void check_conservation(const struct path *path)
{
	uint64_t sum = 0, self = 0;

	for (int i = 0; i < PATH_CATEGORY_COUNT; i++)
		sum += path->ns[i];
	for (size_t i = 1; i < path->tree.nodes.n; i++) {
		const struct path_node *node = &path->tree.nodes.data[i];
		uint64_t below = node->self_ns;

		self += node->self_ns;
		for (uint32_t child = node->child; child; child = path->tree.nodes.data[child].next)
			below += path->tree.nodes.data[child].total_ns;
		assert_true(below == node->total_ns);
	}
	assert_true(sum == path->wall_ns && self == path->wall_ns);
	assert_true(path->tree.nodes.data[0].total_ns == path->wall_ns);
	assert_true(path->accounted_ns <= path->wall_ns && path->total_ns >= path->wall_ns);
}

static void paths_are_as_defined(void **state)
{
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct dice dice = {.state = seed};
		struct program program = program__begin(true);
		_cleanup_found_ struct found found = {};

		for (uint32_t t = 1; t <= THREADS; t++)
			program__thread(&program, t, "t");
		for (uint32_t t = 1; t <= THREADS; t++)
			put_random_thread(&program, &dice, t);
		found = program__path(&program, LENGTH);
		assert_int_equal(found.err, 0);
		check_conservation(&found.path);
		check_walk(&found.path, found.path.from, found.path.until);
		check_walk(&found.path, START + 3 * MS + seed, START + 9 * MS - seed);
	}
}

/* A trace of which one in @one_in intervals is lost. Returns the time of all gaps. */
static uint64_t put_with_losses(struct program *program, struct dice *dice, uint64_t one_in)
{
	uint64_t lost_ns = 0;

	for (uint32_t t = 1; t <= THREADS; t++) {
		uint64_t at = dice__roll(dice) % MS, kept_until = 0;
		bool is_lost = false;

		for (unsigned int n = 0; at < 10 * LENGTH; n++) {
			uint64_t end = at + 1 + dice__roll(dice) % MS;
			uint64_t next = end + 1 + dice__roll(dice) % MS;

			/* Of the first and the last, nobody can tell. */
			if (n && next < 10 * LENGTH && dice__roll(dice) % one_in == 0) {
				is_lost = true;
				at = next;
				continue;
			}
			if (is_lost)
				lost_ns += at - kept_until;
			synthetic__interval(
				&program->made,
				WAIT(t, 1 + (t + n * n) % THREADS, at, end,
				     .sequence = (uint8_t)(n % INTERVAL_SEQUENCES + 1)));
			is_lost = false;
			kept_until = end;
			at = next;
		}
	}
	return lost_ns;
}

/* What is lost is missing, and no more: a thread that wakes itself is unknown in any case. */
static void losses_stay_where_they_are(void **state)
{
	static const uint64_t one_in[] = {1000, 100, 10, 2};
	size_t gaps = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct dice dice = {.state = seed};
		struct program program = program__begin(true);
		_cleanup_found_ struct found found = {};
		const struct path *path = &found.path;
		uint64_t lost_ns;

		for (uint32_t t = 1; t <= THREADS; t++)
			program__thread(&program, t, "t");
		lost_ns = put_with_losses(&program, &dice, one_in[seed % ARRAY_SIZE(one_in)]);
		found = program__path(&program, 10 * LENGTH);
		assert_int_equal(found.err, 0);
		check_conservation(path);
		assert_true(path->ns[PATH_GAP] <= lost_ns);
		assert_true(path->accounted_ns ==
			    path->wall_ns - path->ns[PATH_GAP] - path->ns[PATH_UNKNOWN]);
		gaps += path->gaps.n;
	}
	assert_true(gaps > 100);
}

/* ---- recordings that no machine made ---- */

static void check_all_paths(struct model *model)
{
	for (uint32_t t = 1; t < model->threads.n; t++) {
		struct path_options options = {.thread = t, .until = UINT64_MAX};
		struct found found = find(model, &options);

		assert_true(found.err == 0 || found.err == -ENODATA);
		if (!found.err)
			check_conservation(&found.path);
		path__free(&found.path);
		kinds__free(found.kinds);
	}
	model__free(model);
}

static void random_recordings_conserve_time(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		check_all_paths(random_recording(seed, 300, false));
	for (uint64_t seed = 1; seed <= 60; seed++)
		check_all_paths(random_recording(2000 + seed, 400, true));
}

/* ---- by hand ---- */

/* A calls B calls C calls A: all that C did before A called is cut. */
static void a_triangle_is_cut(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};

	program__threads(&program, 3);
	/* A waits for C; C waits for B, which A woke; before that, C waited for B's last call. */
	program__wait(&program, 1, 3, 40 * MS, 90 * MS);
	program__wait(&program, 2, 1, 0, 39 * MS);
	program__wait(&program, 3, 2, 10 * MS, 60 * MS);
	found = program__path(&program, 100 * MS);
	assert_int_equal(found.err, 0);
	assert_int_equal(TIME_AT(&found, "A"), 100 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "C"), 50 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "C", "blocked", "B"), 20 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "C", "not_sampled"), 30 * MS);
	assert_int_equal(TIME_AT(&found, "A", "not_sampled"), 50 * MS);
}

/* Polls that time out are one wait, which ends when somebody writes; those of another loop not. */
static void polls_with_timeouts_are_one_wait(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t loop = USER(&program, "poll", "loop");

	program__threads(&program, 2);
	for (uint64_t i = 0; i < 10; i++)
		put_timeout(&program, 1, (10 + 2 * i) * MS, (12 + 2 * i) * MS - 50000, loop);
	synthetic__interval(&program.made, BLOCKED(1, 2, 30 * MS, 31 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_poll, .user_stack = loop));
	for (uint64_t i = 0; i < 5; i++)
		put_timeout(&program, 1, (50 + 2 * i) * MS, (52 + 2 * i) * MS - 50000, loop);
	found = program__path(&program, 100 * MS);
	assert_int_equal(TIME_AT(&found, "A", "loop", "poll", "poll", "B"), 21 * MS - 10 * 50000);
	assert_int_equal(found.path.ns[PATH_TIMEOUT], 10 * MS - 5 * 50000);
}

/* A thread that is created and waited for is explained by its creator before it was there. */
static void who_does_not_exist_yet_is_its_creator(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};

	program__threads(&program, 2);
	synthetic__thread(&program.made, 3, PID, PID + 3, 2, 30 * MS, "C");
	program__wait(&program, 1, 3, 10 * MS, 50 * MS);
	found = program__path(&program, 100 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "B"), 20 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "C"), 20 * MS);
}

/* Of a request, the time in the queue is told apart from the time in the device. */
static void requests_are_queued_and_active(void **state)
{
	struct program program = program__begin(true);
	struct record_interval wait = {.thread = 1,
				       .waker_context = WAKER_HARDIRQ,
				       .class = CLASS_IO,
				       .syscall = SYS_pread64,
				       .t_out = 10 * MS,
				       .blocked_ns = 40 * MS,
				       .device = 1,
				       .request = 7};
	_cleanup_found_ struct found found = {};

	program__threads(&program, 1);
	program__device(&program, 1, "sda", 0, 0);
	synthetic__interval(&program.made, wait);
	put_wake(&program, &wait, "blk_update_request");
	for (uint32_t i = 0; i < 2; i++)
		synthetic__put(&program.made,
			       (struct record){.type = RECORD_REQUEST,
					       .request = {.number = 6 + i,
							   .device = 1,
							   .thread = 1,
							   .time = START + (40 + 9 * i) * MS,
							   .queue_ns = 5 * MS,
							   .service_ns = 15 * MS}});
	found = program__path(&program, 100 * MS);
	/* The first of the two was issued at 25 ms. */
	assert_int_equal(found.path.ns[PATH_DISK_QUEUED], 15 * MS);
	assert_int_equal(found.path.ns[PATH_DISK_ACTIVE], 25 * MS);
}

/* Events that were lost leave a gap, and what is around it stays as it is. */
static void lost_events_leave_a_gap(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	static const uint8_t sequences[] = {126, 127, 1, 3, 4};

	program__threads(&program, 2);
	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++)
		synthetic__interval(&program.made,
				    WAIT(1, 2, (10 + 10 * i) * MS, (15 + 10 * i) * MS,
					 .sequence = sequences[i]));
	found = program__path(&program, 100 * MS);
	assert_int_equal(found.path.gaps.n, 1);
	assert_true(found.path.gaps.data[0].from == START + 35 * MS);
	assert_int_equal(found.path.ns[PATH_GAP], 5 * MS);
	assert_int_equal(TIME_AT(&found, "A", "blocked", "B"), 25 * MS);
	assert_int_equal(found.path.accounted_ns, 95 * MS);
}

/* Work that is started and not waited for is apart; the part that is waited for is not in it. */
static void work_in_the_background_is_apart(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};

	program__threads(&program, 3);
	/* A gives B work at 10, and C at 20; waits for B from 30 to 50. C works until 70. */
	synthetic__interval(&program.made, BLOCKED(2, 1, 0, 10 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_epoll_wait));
	synthetic__interval(&program.made, BLOCKED(3, 1, 0, 20 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_epoll_wait));
	program__wait(&program, 1, 2, 30 * MS, 50 * MS);
	synthetic__interval(&program.made, BLOCKED(2, 1, 50 * MS, 200 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_epoll_wait));
	synthetic__interval(&program.made, BLOCKED(3, 1, 70 * MS, 200 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_epoll_wait));
	found = program__path(&program, 100 * MS);
	assert_int_equal(found.path.background.n, 2);
	assert_int_equal(found.path.background.data[0].ns, 50 * MS);
	assert_int_equal(found.model->threads.data[found.path.background.data[0].thread].number, 3);
	assert_int_equal(found.path.background.data[1].ns, 20 * MS);
	assert_int_equal(found.path.total_ns, 170 * MS);
}

/* While a thread waits for a CPU, those count that run on the same one. */
static void competitors_ran_on_the_same_cpu(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};

	program__threads(&program, 3);
	synthetic__interval(&program.made, (struct record_interval){.thread = 1,
								    .class = CLASS_SCHED,
								    .flags = INTERVAL_PREEMPTED,
								    .t_out = 20 * MS,
								    .runq_ns = 30 * MS,
								    .cpu = 1});
	/* B runs there from 25 to 45, and C on another CPU. */
	synthetic__interval(&program.made, WAIT(2, 1, 0, 25 * MS, .cpu = 1));
	synthetic__interval(&program.made, WAIT(2, 1, 45 * MS, 100 * MS, .cpu = 1));
	synthetic__interval(&program.made, WAIT(3, 1, 0, 25 * MS, .cpu = 2));
	found = program__path(&program, 100 * MS);
	assert_int_equal(found.path.competitors.n, 2);
	assert_int_equal(found.path.competitors.data[0].ns, 20 * MS);
	assert_string_equal(
		model__string(found.model,
			      found.model->threads.data[found.path.competitors.data[0].thread]
				      .comms.data[0]
				      .name),
		"B");
	assert_int_equal(found.path.competitors.data[1].thread, 0);
	assert_int_equal(found.path.competitors.data[1].ns, 10 * MS);
}

/* A run is divided between its samples; one without is in the functions around it. */
static void runs_have_functions(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t before = USER(&program, "read", "work", "main");
	uint32_t after = USER(&program, "write", "work", "main");

	program__threads(&program, 2);
	synthetic__interval(&program.made, WAIT(1, 2, 10 * MS, 20 * MS, .user_stack = before));
	synthetic__interval(&program.made, WAIT(1, 2, 30 * MS, 40 * MS, .user_stack = after));
	synthetic__sample(&program.made, 1, 50 * MS, 1, 0, USER(&program, "f", "main"));
	synthetic__sample(&program.made, 1, 70 * MS, 1, 0, USER(&program, "g", "main"));
	/* Where it was preempted is known, too. */
	synthetic__interval(&program.made, (struct record_interval){.thread = 1,
								    .class = CLASS_SCHED,
								    .flags = INTERVAL_PREEMPTED,
								    .t_out = 80 * MS,
								    .runq_ns = 5 * MS,
								    .syscall = -1,
								    .user_stack = before});
	found = program__path(&program, 100 * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "work", "not_sampled"), 10 * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "f"), 20 * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "g"), 15 * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "work", "read"), (5 + 15 + 5 + 10) * MS);
	assert_int_equal(TIME_AT(&found, "A", "main", "work", "read", "preempted"), 5 * MS);
	assert_int_equal(found.path.ns[PATH_RUNNING], 55 * MS);
}

static int fill_enter(void *context, const struct path_level *level)
{
	return path_tree__enter(context, level);
}

static int fill_step(void *context, const struct path_step *step)
{
	uint32_t node;

	return path_tree__step(context, step, &node);
}

static int fill_leave(void *context, const struct path_level *level)
{
	path_tree__leave(context);
	return 0;
}

/* A tree that is full adds no node, and loses no time. */
static void a_full_tree_keeps_all_time(void **state)
{
	struct program program = program__begin(true);
	struct path_tree tree = {};
	struct path_visitor visitor = {};
	_cleanup_found_ struct found found = {};

	program__threads(&program, 3);
	program__wait(&program, 1, 2, 10 * MS, 50 * MS);
	program__wait(&program, 2, 3, 20 * MS, 30 * MS);
	found = program__path(&program, 100 * MS);
	for (size_t nodes = 1; nodes < 8; nodes++) {
		assert_int_equal(path_tree__begin(&tree, found.model, found.path.causes), 0);
		tree.max_nodes = nodes;
		visitor = (struct path_visitor){fill_enter, fill_step, fill_leave, &tree};
		assert_int_equal(path__walk(&found.path.walk, found.path.thread, found.path.from,
					    found.path.until, &visitor),
				 0);
		assert_int_equal(path_tree__finish(&tree), 0);
		assert_true(tree.nodes.n <= nodes + 1);
		assert_true(tree.is_full == (nodes + 1 < found.path.tree.nodes.n));
		assert_int_equal(tree.nodes.data[0].total_ns, 100 * MS);
		path_tree__free(&tree);
		tree = (struct path_tree){};
	}
}

static void a_window_without_the_thread_has_nothing(void **state)
{
	struct program program = program__begin(true);
	struct path_options options = {.from = START + 50 * MS, .until = START + 60 * MS};
	_cleanup_found_ struct found found = {};
	struct model *model;

	program__threads(&program, 1);
	synthetic__totals(&program.made, 1, 40 * MS, true, 40 * MS, 0, 0, 0, 0);
	model = synthetic__load(&program.made, 100 * MS);
	options.thread = index_of(model, 1);
	found = find(model, &options);
	assert_int_equal(found.err, -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_as_defined),
		cmocka_unit_test(losses_stay_where_they_are),
		cmocka_unit_test(random_recordings_conserve_time),
		cmocka_unit_test(a_triangle_is_cut),
		cmocka_unit_test(polls_with_timeouts_are_one_wait),
		cmocka_unit_test(who_does_not_exist_yet_is_its_creator),
		cmocka_unit_test(requests_are_queued_and_active),
		cmocka_unit_test(lost_events_leave_a_gap),
		cmocka_unit_test(work_in_the_background_is_apart),
		cmocka_unit_test(competitors_ran_on_the_same_cpu),
		cmocka_unit_test(runs_have_functions),
		cmocka_unit_test(a_full_tree_keeps_all_time),
		cmocka_unit_test(a_window_without_the_thread_has_nothing),
	};

	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
