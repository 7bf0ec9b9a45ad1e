// SPDX-License-Identifier: BSD-2-Clause
/* Paths of random traces: against a definition by brute force, with losses, and damaged. */
#include "tests/unit/path_support.h"
#include "tests/unit/random_recording.h"

#define THREADS 6
#define LENGTH	(20 * MS)

/* Alternating runs and waits of one thread, ended by other threads, by timers, or unknown. */
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

/* The thread that ended wait @i of @thread, or the de facto wait that it is part of; 0: none. */
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

			/* A loss before the first interval, or after the last one, cannot be
			 * detected. */
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
		assert_true(path->accounted_ns == path->wall_ns - path->ns[PATH_GAP] -
							  path->ns[PATH_UNKNOWN] -
							  path->ns[PATH_OTHER_PATH]);
		gaps += path->gaps.n;
	}
	assert_true(gaps > 100);
}

static void check_all_paths(struct model *model)
{
	for (uint32_t t = 1; t < model->threads.n; t++) {
		const struct path_window window = {t, 0, UINT64_MAX, false};
		struct found found = find(model, &window);

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_as_defined),
		cmocka_unit_test(losses_stay_where_they_are),
		cmocka_unit_test(random_recordings_conserve_time),
	};

	return cmocka_run_group_tests_name("path_random", tests, NULL, NULL);
}
