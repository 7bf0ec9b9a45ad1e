// SPDX-License-Identifier: BSD-2-Clause
/* Paths go on with whoever had the CPU that a thread waited for. */
#include "tests/unit/path_support.h"
#include "tests/unit/dice.h"

#define QUEUED_AT(thread_, begin, end, ...)                                                        \
	((struct record_interval){.thread = (thread_),                                             \
				  .class = CLASS_SCHED,                                            \
				  .t_out = (begin),                                                \
				  .runq_ns = (end) - (begin),                                      \
				  .cpu = 1,                                                        \
				  __VA_ARGS__})

#define QUEUED(thread, begin, end)                                                                 \
	QUEUED_AT(thread, begin, end, .flags = INTERVAL_PREEMPTED, .syscall = -1)
#define SEEN (INTERVAL_PREEMPTED | INTERVAL_CPU_SEEN)

/* Blocked until @waker wakes it at @wake, and runs on CPU 0 from @end on. */
#define WOKEN(thread, waker, begin, wake, end, ...)                                                \
	WAIT(thread, waker, begin, wake, .runq_ns = (end) - (wake), .cpu = 1, ##__VA_ARGS__)

#define SLEEP(thread_, begin, end, ...)                                                            \
	((struct record_interval){.thread = (thread_),                                             \
				  .class = CLASS_OTHER,                                            \
				  .waker_context = WAKER_HARDIRQ,                                  \
				  .t_out = (begin),                                                \
				  .blocked_ns = (end) - (begin),                                   \
				  .syscall = -1,                                                   \
				  ##__VA_ARGS__})

static void put(struct program *program, struct record_interval interval)
{
	synthetic__interval(&program->made, interval);
}

/* Thread @number, which is not recorded. */
static void put_other(struct program *program, uint32_t number, const char *comm)
{
	synthetic__put(&program->made,
		       (struct record){.type = RECORD_THREAD,
				       .thread = {.thread = number,
						  .tid = 1000 + number,
						  .tgid = 1000 + number,
						  .comm = synthetic__string(&program->made, comm),
						  .time = START}});
}

static void put_cpu_run(struct program *program, uint32_t thread, uint64_t from, uint64_t until,
			uint64_t ns)
{
	synthetic__put(&program->made, (struct record){.type = RECORD_CPU_RUN,
						       .cpu_run = {.thread = thread,
								   .time = START + until,
								   .length = until - from,
								   .ns = ns,
								   .cpu = 1}});
}

static uint64_t competitor(const struct found *found, const char *name)
{
	for (size_t i = 0; i < found->path.competitors.n; i++) {
		const struct path_competitor *one = &found->path.competitors.data[i];
		const struct model_thread *thread = &found->model->threads.data[one->thread];

		if (one->thread ? !strcmp(model__string(found->model,
							model_thread__comm(thread, START)),
					  name)
				: !*name)
			return one->ns;
	}
	return 0;
}

/* The sums below the account are those of the tree. */
static void check_queues(const struct found *found)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < found->path.competitors.n; i++)
		sum += found->path.competitors.data[i].ns;
	assert_true(sum == found->path.ns[PATH_RUN_QUEUE] + found->path.ns[PATH_PREEMPTED]);
	check_conservation(&found->path);
}

/* All that had the CPU, one after the other; on another CPU, nobody counts. */
static void all_that_had_the_cpu_are_named(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t f = USER(&program, "f", "main");

	program__threads(&program, 4);
	put(&program, QUEUED(1, 20 * MS, 50 * MS));
	put(&program, SLEEP(2, 0, 25 * MS, .cpu = 1));
	put(&program, SLEEP(2, 40 * MS, 100 * MS, .cpu = 1));
	put(&program, SLEEP(3, 0, 40 * MS, .cpu = 1));
	put(&program, SLEEP(3, 48 * MS, 100 * MS, .cpu = 1));
	put(&program, SLEEP(4, 0, 20 * MS, .cpu = 2));
	synthetic__sample(&program.made, 2, 30 * MS, 1, 0, f);
	found = program__path(&program, 100 * MS);
	check_queues(&found);
	assert_int_equal(TIME_AT(&found, "A", "preempted"), 30 * MS);
	assert_int_equal(TIME_AT(&found, "A", "preempted", "+B", "f"), 15 * MS);
	assert_int_equal(TIME_AT(&found, "A", "preempted", "+C"), 8 * MS);
	assert_int_equal(competitor(&found, "B"), 15 * MS);
	assert_int_equal(competitor(&found, "C"), 8 * MS);
	assert_int_equal(competitor(&found, ""), 7 * MS); /* it is not known who */
	assert_int_equal(found.path.ns[PATH_PREEMPTED], 30 * MS);
	assert_int_equal(found.path.ns[PATH_CPU_IDLE], 0);
}

/* A wakes B, which preempts it, and wakes C: what both do is what A waits for, and B's run later.
 */
static void who_works_for_the_path_is_on_it(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t work = USER(&program, "work", "main");

	program__threads(&program, 3);
	put(&program, SLEEP(1, 0, 10 * MS, .cpu = 1));
	put(&program, QUEUED(1, 20 * MS, 50 * MS));
	put(&program, WOKEN(2, 1, 0, 15 * MS, 20 * MS));
	put(&program, WOKEN(2, 3, 30 * MS, 38 * MS, 40 * MS));
	put(&program, WAIT(2, 0, 50 * MS, 100 * MS));
	put(&program, WOKEN(3, 2, 0, 25 * MS, 30 * MS));
	put(&program, WAIT(3, 0, 40 * MS, 100 * MS));
	synthetic__sample(&program.made, 3, 35 * MS, 1, 0, work);
	found = program__path(&program, 100 * MS);
	check_queues(&found);
	assert_int_equal(found.path.ns[PATH_PREEMPTED], 0);
	assert_int_equal(TIME_AT(&found, "A", "preempted"), 30 * MS);
	assert_int_equal(TIME_AT(&found, "A", "preempted", "B"), 20 * MS);
	assert_int_equal(TIME_AT(&found, "A", "preempted", "C", "main", "work"), 10 * MS);
	assert_int_equal(found.path.competitors.n, 0);
}

/* Not allowed to run from @begin to @wake, and then runnable until @end. */
#define STOPPED(thread_, begin, wake, end, ...)                                                    \
	((struct record_interval){.thread = (thread_),                                             \
				  .class = CLASS_STOPPED,                                          \
				  .t_out = (begin),                                                \
				  .blocked_ns = (wake) - (begin),                                  \
				  .runq_ns = (end) - (wake),                                       \
				  .syscall = -1,                                                   \
				  .cpu = 1,                                                        \
				  ##__VA_ARGS__})

/* The limit that stops threads; 0: of a recording that does not say which. */
static uint32_t put_limit(struct program *program, bool known)
{
	const struct record_object quota = {.type = OBJECT_LIMIT, .id = 1, .mode = STOP_QUOTA};

	return known ? record_stream__object(recording_writer__stream(program->made.writer), &quota)
		     : 0;
}

/*
 * As above, but B is not allowed to run after the wakeup, nor for 3 ms of its work: it works for
 * the path before and after that; in between, A waits for a CPU that nobody is known to have.
 */
static void who_is_stopped_at_work_for_the_path_is_on_it(void **state)
{
	for (int known = 0; known < 2; known++) {
		struct program program = program__begin(true);
		_cleanup_found_ struct found found = {};
		uint32_t limit = put_limit(&program, known);

		program__threads(&program, 2);
		put(&program, SLEEP(1, 0, 10 * MS, .cpu = 1));
		put(&program, QUEUED(1, 20 * MS, 50 * MS));
		put(&program, WAIT(2, 1, 0, 15 * MS));
		put(&program, STOPPED(2, 15 * MS, 18 * MS, 20 * MS, .object = limit));
		put(&program, STOPPED(2, 25 * MS, 28 * MS, 28 * MS, .object = limit,
				      .flags = INTERVAL_PREEMPTED));
		put(&program, WAIT(2, 0, 50 * MS, 100 * MS));
		found = program__path(&program, 100 * MS);
		check_queues(&found);
		assert_int_equal(TIME_AT(&found, "A", "preempted"), 30 * MS);
		assert_int_equal(TIME_AT(&found, "A", "preempted", "B"), 27 * MS);
		assert_int_equal(found.path.ns[PATH_PREEMPTED], 3 * MS);
		assert_int_equal(competitor(&found, ""), 3 * MS);
		assert_int_equal(competitor(&found, "B"), 0);
		assert_int_equal(found.path.ns[PATH_STOPPED], 0); /* nobody waits for that */
	}
}

/*
 * A itself is stopped before it runs for the first time, and when B, whom it has woken, has its
 * CPU: that is its limit's doing, not B's. When it may run, it waits for B, who works for it.
 */
static void a_stopped_waiter_waits_for_whom_it_woke(void **state)
{
	for (int known = 0; known < 2; known++) {
		struct program program = program__begin(true);
		_cleanup_found_ struct found found = {};
		uint32_t limit = put_limit(&program, known);

		program__threads(&program, 2);
		put(&program, SLEEP(1, 0, 6 * MS));
		put(&program, STOPPED(1, 6 * MS, 9 * MS, 10 * MS, .object = limit));
		put(&program, STOPPED(1, 20 * MS, 30 * MS, 50 * MS, .object = limit,
				      .flags = INTERVAL_PREEMPTED));
		put(&program, WOKEN(2, 1, 0, 15 * MS, 20 * MS));
		put(&program, WAIT(2, 0, 50 * MS, 100 * MS));
		found = program__path(&program, 100 * MS);
		check_queues(&found);
		assert_int_equal(found.path.ns[PATH_STOPPED], 13 * MS);
		assert_int_equal(TIME_AT(&found, "A", "preempted", "B"), 20 * MS);
		assert_int_equal(found.path.ns[PATH_PREEMPTED], 0);
		assert_int_equal(competitor(&found, "B"), 0);
	}
}

/* The base waits for B, who is stopped: the path is not allowed to run, and who ran is not named.
 */
static void who_is_awaited_and_stopped_is_not_allowed_to_run(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};
	uint32_t limit = put_limit(&program, true);

	program__threads(&program, 3);
	put(&program, WAIT(1, 2, 10 * MS, 60 * MS));
	put(&program, SLEEP(2, 0, 5 * MS, .cpu = 1));
	put(&program,
	    STOPPED(2, 20 * MS, 40 * MS, 45 * MS, .object = limit, .flags = INTERVAL_PREEMPTED));
	put(&program, WAIT(2, 0, 80 * MS, 100 * MS));
	put(&program, SLEEP(3, 0, 20 * MS, .cpu = 1));
	put(&program, SLEEP(3, 45 * MS, 100 * MS));
	found = program__path(&program, 100 * MS);
	check_queues(&found);
	assert_int_equal(found.path.ns[PATH_STOPPED], 20 * MS);
	assert_int_equal(found.path.ns[PATH_PREEMPTED], 5 * MS);
	assert_int_equal(competitor(&found, "C"), 5 * MS);
}

/* Work that A gave B before its last wait is not what A is at now. */
static void old_work_is_not_of_the_path(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};

	program__threads(&program, 2);
	put(&program, SLEEP(1, 8 * MS, 10 * MS, .cpu = 1));
	put(&program, QUEUED(1, 20 * MS, 50 * MS));
	put(&program, WOKEN(2, 1, 0, 5 * MS, 20 * MS));
	put(&program, WAIT(2, 0, 50 * MS, 100 * MS));
	found = program__path(&program, 100 * MS);
	check_queues(&found);
	assert_int_equal(TIME_AT(&found, "A", "preempted", "+B"), 30 * MS);
	assert_int_equal(found.path.ns[PATH_PREEMPTED], 30 * MS);
}

/* A wakes B, which works on when A runs again, and for which A does not wait: only it has the CPU.
 */
static void work_in_the_background_is_not_of_the_path(void **state)
{
	for (int is_awaited = 0; is_awaited < 2; is_awaited++) {
		struct program program = program__begin(true);
		_cleanup_found_ struct found found = {};

		program__threads(&program, 3);
		put(&program, SLEEP(1, 0, 10 * MS, .cpu = 1));
		put(&program, QUEUED(1, 20 * MS, 30 * MS));
		put(&program, WAIT(1, is_awaited ? 2 : 3, 60 * MS, 70 * MS));
		put(&program, WOKEN(2, 1, 0, 15 * MS, 20 * MS));
		put(&program, QUEUED_AT(2, 30 * MS, 40 * MS, .flags = INTERVAL_PREEMPTED,
					.syscall = -1, .user_stack = USER(&program, "f", "main")));
		put(&program, WAIT(2, 0, 90 * MS, 100 * MS));
		found = program__path(&program, 100 * MS);
		check_queues(&found);
		assert_int_equal(TIME_AT(&found, "A", "preempted", is_awaited ? "B" : "+B"),
				 10 * MS);
	}
}

/* B did not sleep when A gave it work, so nothing tells that but what A waits for next. */
static void who_is_awaited_next_is_on_the_path(void **state)
{
	for (int in_call = 0; in_call < 2; in_call++) {
		struct program program = program__begin(true);
		_cleanup_found_ struct found found = {};

		program__threads(&program, 2);
		put(&program, QUEUED_AT(1, 20 * MS, 50 * MS, .flags = INTERVAL_PREEMPTED,
					.syscall = in_call ? SYS_write : -1));
		put(&program, WAIT(1, 2, 52 * MS, 60 * MS, .cpu = 1));
		put(&program, SLEEP(2, 0, 20 * MS, .cpu = 1));
		put(&program, WAIT(2, 0, 90 * MS, 100 * MS));
		found = program__path(&program, 100 * MS);
		check_queues(&found);
		assert_int_equal(TIME_AT(&found, "A", "preempted", in_call ? "B" : "+B"), 30 * MS);
	}
}

/* A CPU that nobody has: the thread waits until it is awake. */
static void an_idle_cpu_wakes_up(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};

	program__threads(&program, 2);
	put(&program, WOKEN(1, 2, 10 * MS, 20 * MS, 21 * MS, .flags = INTERVAL_CPU_SEEN));
	put(&program, WOKEN(1, 2, 30 * MS, 40 * MS, 42 * MS)); /* by an older version */
	found = program__path(&program, 100 * MS);
	check_queues(&found);
	assert_int_equal(found.path.ns[PATH_CPU_IDLE], MS);
	assert_int_equal(TIME_AT(&found, "A", "cpu_idle"), MS);
	assert_int_equal(found.path.ns[PATH_RUN_QUEUE], 2 * MS);
	assert_int_equal(competitor(&found, ""), 2 * MS);
}

/* Threads that are not recorded: seen alone, recorded as runs, and in older recordings. */
static void others_are_named(void **state)
{
	struct program program = program__begin(true);
	_cleanup_found_ struct found found = {};

	program__threads(&program, 2);
	put_other(&program, 8, "x");
	put_other(&program, 9, "y");
	/* x alone. */
	put(&program, QUEUED_AT(1, 10 * MS, 20 * MS, .previous = 8, .flags = SEEN, .syscall = -1));
	/* 2 ms of x and 3 of y, who alternated; then B, nobody, and y. */
	put_cpu_run(&program, 8, 30 * MS, 35 * MS, 2 * MS);
	put_cpu_run(&program, 9, 30 * MS, 35 * MS, 3 * MS);
	put(&program, SLEEP(2, 0, 35 * MS, .cpu = 1));
	put(&program, SLEEP(2, 37 * MS, 100 * MS, .cpu = 1));
	put_cpu_run(&program, 9, 38 * MS, 40 * MS, 2 * MS);
	put(&program, QUEUED_AT(1, 30 * MS, 40 * MS, .previous = 9, .flags = SEEN, .syscall = -1));
	/* An older version knows the last one only. */
	put(&program, QUEUED_AT(1, 60 * MS, 65 * MS, .previous = 8, .flags = INTERVAL_PREEMPTED,
				.syscall = -1));
	found = program__path(&program, 100 * MS);
	check_queues(&found);
	assert_int_equal(competitor(&found, "x"), (10 + 2 + 5) * MS);
	assert_int_equal(competitor(&found, "y"), (3 + 2) * MS);
	assert_int_equal(competitor(&found, "B"), 2 * MS);
	assert_int_equal(found.path.ns[PATH_CPU_IDLE], MS);
	assert_int_equal(TIME_AT(&found, "A", "preempted", "+x"), 17 * MS);
}

#define RECORDED 4
#define OTHERS	 3
#define SLOTS	 400

/* Who has the CPU, one slot after the other: 0 nobody, then those recorded, then the others. */
struct schedule {
	uint32_t who[SLOTS];
	uint64_t from[SLOTS + 1];
};

static struct schedule make_schedule(struct dice *dice)
{
	struct schedule schedule = {.from[0] = MS};

	for (size_t i = 0; i < SLOTS; i++) {
		do {
			schedule.who[i] = (uint32_t)(dice__roll(dice) % (1 + RECORDED + OTHERS));
		} while (i && schedule.who[i] == schedule.who[i - 1]);
		schedule.from[i + 1] = schedule.from[i] + 1 + dice__roll(dice) % (MS / 4);
	}
	return schedule;
}

/*
 * Puts the intervals of thread @t, which is blocked for a random part of each. Adds to @truth, by
 * who, the time in which it waits for the CPU.
 */
static void put_scheduled(struct program *program, struct dice *dice,
			  const struct schedule *schedule, uint32_t t, uint64_t *truth)
{
	uint64_t out = 0;

	for (size_t i = 0; i < SLOTS; i++) {
		uint64_t in = schedule->from[i], wake;

		if (schedule->who[i] != t)
			continue;
		wake = out + dice__roll(dice) % (in - out + 1);
		if (dice__roll(dice) % 3 == 0 || wake == out)
			wake = out;
		for (size_t k = 0; k < i && out; k++) {
			uint64_t from = schedule->from[k] > wake ? schedule->from[k] : wake;

			if (schedule->from[k + 1] > from)
				truth[schedule->who[k]] += schedule->from[k + 1] - from;
		}
		if (out && wake > out)
			put(program, SLEEP(t, out, wake, .runq_ns = in - wake, .cpu = 1,
					   .flags = INTERVAL_CPU_SEEN));
		else if (out)
			put(program, QUEUED_AT(t, out, in, .flags = SEEN, .syscall = -1));
		else /* it begins to run */
			put(program, SLEEP(t, in - 1, in, .cpu = 1));
		out = schedule->from[i + 1];
	}
	put(program, SLEEP(t, out, schedule->from[SLOTS] + MS));
}

/* Of random schedules, everybody's part of the base's waits for the CPU is exact. */
static void random_schedules_are_exact(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct dice dice = {.state = seed};
		struct program program = program__begin(true);
		struct schedule schedule = make_schedule(&dice);
		uint64_t truth[1 + RECORDED + OTHERS] = {}, unused[1 + RECORDED + OTHERS] = {};
		_cleanup_found_ struct found found = {};

		program__threads(&program, RECORDED);
		for (uint32_t t = 1; t <= OTHERS; t++)
			put_other(&program, RECORDED + t, (char[]){(char)('w' + t), '\0'});
		for (uint32_t t = 1; t <= RECORDED; t++)
			put_scheduled(&program, &dice, &schedule, t, t == 1 ? truth : unused);
		for (size_t i = 0; i < SLOTS; i++)
			if (schedule.who[i] > RECORDED)
				put_cpu_run(&program, schedule.who[i], schedule.from[i],
					    schedule.from[i + 1],
					    schedule.from[i + 1] - schedule.from[i]);
		found = program__path(&program, schedule.from[SLOTS] + MS);
		assert_int_equal(found.err, 0);
		check_queues(&found);
		for (uint32_t t = 2; t <= RECORDED; t++)
			assert_int_equal(competitor(&found, (char[]){(char)('A' + t - 1), '\0'}),
					 truth[t]);
		for (uint32_t t = 1; t <= OTHERS; t++)
			assert_int_equal(competitor(&found, (char[]){(char)('w' + t), '\0'}),
					 truth[RECORDED + t]);
		assert_int_equal(found.path.ns[PATH_CPU_IDLE], truth[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_had_the_cpu_are_named),
		cmocka_unit_test(who_works_for_the_path_is_on_it),
		cmocka_unit_test(who_is_stopped_at_work_for_the_path_is_on_it),
		cmocka_unit_test(a_stopped_waiter_waits_for_whom_it_woke),
		cmocka_unit_test(who_is_awaited_and_stopped_is_not_allowed_to_run),
		cmocka_unit_test(old_work_is_not_of_the_path),
		cmocka_unit_test(work_in_the_background_is_not_of_the_path),
		cmocka_unit_test(who_is_awaited_next_is_on_the_path),
		cmocka_unit_test(an_idle_cpu_wakes_up),
		cmocka_unit_test(others_are_named),
		cmocka_unit_test(random_schedules_are_exact),
	};

	return cmocka_run_group_tests_name("path_cpus", tests, NULL, NULL);
}
