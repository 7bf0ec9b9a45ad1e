// SPDX-License-Identifier: BSD-2-Clause
/* Waits for work, by the rules of analysis/kinds/idle.h. */
#include "tests/unit/waits_support.h"

#include <netinet/in.h>
#include <sys/syscall.h>

#define SECOND (1000 * MS)

/* A wait of @thread for a futex, in functions of its own, until @waker wakes it. */
#define FUTEX(thread, waker, begin, end, ...)                                                      \
	BLOCKED(thread, waker, begin, end, .class = CLASS_LOCK, .syscall = SYS_futex, ##__VA_ARGS__)

/* A sleep of @thread, which a timer ends. */
#define SLEEP(thread_, begin, end, ...)                                                            \
	((struct record_interval){.thread = (thread_),                                             \
				  .waker_context = WAKER_HARDIRQ,                                  \
				  .t_out = (begin),                                                \
				  .blocked_ns = (end) - (begin),                                   \
				  .class = CLASS_OTHER,                                            \
				  .syscall = SYS_clock_nanosleep,                                  \
				  ##__VA_ARGS__})

struct judged {
	struct model *model;
	struct kinds *kinds;
	struct idle_waits *idle;
};

static struct judged judge(struct program *program)
{
	struct judged judged = {.model = synthetic__load(&program->made, SECOND)};

	assert_int_equal(kinds__new(judged.model, &judged.kinds), 0);
	assert_int_equal(idle_waits__new(judged.model, judged.kinds, &judged.idle), 0);
	return judged;
}

static void judged_free(struct judged *judged)
{
	kinds__free(judged->kinds);
	model__free(judged->model);
	/* Commands release it last. */
	idle_waits__free(judged->idle);
}
#define _cleanup_judged_ _cleanup_(judged_free)

/* The model's index of thread @number of the recording. */
static uint32_t index_of(const struct judged *judged, uint32_t number)
{
	for (uint32_t t = 1; t < judged->model->threads.n; t++)
		if (judged->model->threads.data[t].number == number)
			return t;
	fail_msg("there is no thread %u", number);
	return 0;
}

static enum idle_reason reason_of(const struct judged *judged, uint32_t thread, size_t interval)
{
	return idle_waits__reason(judged->idle, index_of(judged, thread), interval);
}

/* Thread @number, created by thread @parent at @begin. */
static void put_child(struct program *program, uint32_t number, uint32_t parent, const char *comm)
{
	synthetic__thread(&program->made, number, PID, PID + number, parent, 0, comm);
}

static const struct {
	const char *function;
	bool idle;
} functions[] = {
	{"WaitForWork", true},
	{"worker_idle", true},
	{"idle_time_of", true},
	{"Queue::dequeue(int)", true},
	{"std::queue<int>::pop()", true},
	{"(anonymous namespace)::ThreadPool::getTask()", true},
	{"rocksdb::ThreadPoolImpl::Impl::BGThread(unsigned long)", true},
	{"BlockUntilNewConnection", true},
	{"runtime.stopm", true},
	{"tokio::runtime::scheduler::multi_thread::park::Inner::park", true},
	{"popular", false},
	{"midlet", false},
	{"idler", false},
	{"read(dequeue)", false},
	{"runtime.stopmotion", false},
	{"pthread_cond_wait", false},
	{"", false},
};

/* The waker runs all the time, so that only the names tell. */
static void names_decide_what_behavior_leaves_open(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__thread(&program, 1, "M");
	for (uint32_t i = 0; i < ARRAY_SIZE(functions); i++) {
		program__thread(&program, i + 2, "w");
		synthetic__interval(
			&program.made,
			FUTEX(i + 2, 1, 0, 10 * MS,
			      .user_stack = USER(&program, functions[i].function, "f1", "f2")));
	}
	judged = judge(&program);
	for (uint32_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (!reason_of(&judged, i + 2, 0) == functions[i].idle)
			fail_msg("'%s'", functions[i].function);
}

/* What is further out than the fourth of the program's own functions says nothing. */
static void only_near_functions_tell(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__threads(&program, 3);
	synthetic__interval(
		&program.made,
		FUTEX(1, 3, 0, MS, .user_stack = USER(&program, "f1", "f2", "f3", "get_job")));
	synthetic__interval(&program.made,
			    FUTEX(2, 3, 0, MS,
				  .user_stack = USER(&program, "f1", "f2", "f3", "f4", "get_job")));
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 1, 0), IDLE_QUEUE);
	assert_int_equal(reason_of(&judged, 2, 0), IDLE_NOT);
}

/* Whoever is given work by the thread that created it is idle, though that one runs. */
static void who_is_created_to_work_is_idle(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__thread(&program, 1, "boss");
	put_child(&program, 2, 1, "worker");
	put_child(&program, 3, 1, "other");
	synthetic__interval(&program.made, FUTEX(2, 1, 0, 50 * MS));
	synthetic__interval(&program.made,
			    FUTEX(3, 2, 0, 50 * MS, .user_stack = USER(&program, "f")));
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 2, 0), IDLE_QUEUE);
	assert_int_equal(reason_of(&judged, 3, 0), IDLE_QUEUE); /* it waits for the idle one */
}

/* A lock that goes round: one runs, and the others wait for it in a chain. */
static void put_convoy(struct program *program, const char *function)
{
	for (uint32_t i = 0; i < 12; i++) {
		uint64_t end = (i + 4) * 10 * MS;

		synthetic__interval(&program->made,
				    FUTEX(1 + i % 4, 1 + (i + 3) % 4, end - 30 * MS, end,
					  .user_stack = USER(program, function, "loop")));
	}
}

static void a_convoy_is_not_idle_whatever_it_is_called(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__threads(&program, 4);
	put_convoy(&program, "wait_for_work");
	judged = judge(&program);
	for (uint32_t t = 1; t <= 4; t++)
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(reason_of(&judged, t, i), IDLE_NOT);
}

/*
 * As with Python's interpreter lock: waits end by a timeout, and when the other one lets go. A pool
 * without work does the same, but hardly runs.
 */
static void a_lock_with_a_timeout_is_not_idle(void **state)
{
	for (int works = 0; works < 2; works++) {
		struct program program = program__begin(true);
		_cleanup_judged_ struct judged judged = {};

		program__threads(&program, 2);
		for (uint32_t i = 0; i < 10; i++) {
			uint64_t at = 20 * i * MS;
			struct record_interval timed =
				FUTEX(1 + i % 2, 0, at, at + 10 * MS,
				      .user_stack = USER(&program, "take", "loop"));

			timed.waker_context = WAKER_HARDIRQ;
			timed.kernel_stack = KERNEL(&program, "futex_do_wait");
			synthetic__interval(&program.made, timed);
			program__wake(&program, 1 + i % 2, 0, at + 10 * MS,
				      KERNEL(&program, "hrtimer_wakeup"), 0);
			synthetic__interval(&program.made,
					    FUTEX(1 + i % 2, 2 - i % 2, at + 10 * MS, at + 12 * MS,
						  .user_stack = USER(&program, "take", "loop")));
		}
		for (uint32_t t = 1; t <= 2; t++)
			synthetic__totals(&program.made, t, 200 * MS, false,
					  works ? 100 * MS : 10000, 0, 60 * MS, 0, 0);
		judged = judge(&program);
		assert_int_equal(reason_of(&judged, 1, 2), works ? IDLE_NOT : IDLE_INTERVALS);
	}
}

/* All members of a place wait there at a time: they have no lock, though the chain ends at C, which
 * runs. */
static void where_all_wait_is_no_lock(void **state)
{
	for (int busy = 0; busy < 2; busy++) {
		struct program program = program__begin(true);
		_cleanup_judged_ struct judged judged = {};
		uint64_t end = busy ? 600 * MS : 900 * MS;

		program__threads(&program, 4);
		for (uint32_t t = 1; t <= 4; t++)
			if (t != 3)
				synthetic__interval(&program.made,
						    FUTEX(t, t == 2 ? 3 : 2, 0, end - (t == 2),
							  .user_stack = USER(&program, "take")));
		for (uint32_t t = 1; t <= 4; t++)
			synthetic__totals(&program.made, t, SECOND, false, 100 * MS, 0, 0, 0, 0);
		judged = judge(&program);
		for (uint32_t t = 1; t <= 4; t++)
			if (t != 3)
				assert_int_equal(reason_of(&judged, t, 0),
						 busy ? IDLE_NOT : IDLE_QUEUE);
	}
}

/* A's wait for B is for work while B itself is idle, and not when B waits for the disk. */
static void chains_end_at_who_has_work(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__threads(&program, 2);
	synthetic__interval(&program.made, BLOCKED(2, 0, 0, 99 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_epoll_wait));
	synthetic__interval(&program.made, FUTEX(1, 2, 1 * MS, 100 * MS));
	synthetic__interval(&program.made,
			    BLOCKED(2, 0, 201 * MS, 299 * MS, .class = CLASS_IO,
				    .syscall = SYS_pread64,
				    .kernel_stack = KERNEL(&program, "filemap_read")));
	synthetic__interval(&program.made, FUTEX(1, 2, 200 * MS, 300 * MS));
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 2, 0), IDLE_REQUESTS);
	assert_int_equal(reason_of(&judged, 1, 0), IDLE_QUEUE);
	assert_int_equal(reason_of(&judged, 2, 1), IDLE_NOT);
	assert_int_equal(reason_of(&judged, 1, 1), IDLE_NOT);
}

/* During its first sleep, C waits for S, in a wait that is not idle; during the second no thread
 * does. */
static void who_is_needed_is_not_idle(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__thread(&program, 1, "S");
	program__thread(&program, 2, "C");
	synthetic__interval(&program.made, SLEEP(1, 10 * MS, 60 * MS));
	synthetic__interval(&program.made, SLEEP(1, 110 * MS, 160 * MS));
	synthetic__interval(&program.made, SLEEP(1, 210 * MS, 260 * MS));
	/* pthread_mutex_lock(): for all of the first sleep, and for less than half of the third. */
	synthetic__interval(&program.made,
			    FUTEX(2, 1, 5 * MS, 61 * MS,
				  .user_stack = USER(&program, "pthread_mutex_lock", "f")));
	synthetic__interval(&program.made,
			    FUTEX(2, 1, 240 * MS, 261 * MS,
				  .user_stack = USER(&program, "pthread_mutex_lock", "f")));
	for (uint32_t i = 0; i < 30; i++) /* it ends few waits of others */
		synthetic__interval(&program.made,
				    SLEEP(1, (300 + 10 * i) * MS, (305 + 10 * i) * MS));
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 1, 0), IDLE_NOT);
	assert_int_equal(reason_of(&judged, 1, 1), IDLE_INTERVALS);
	assert_int_equal(reason_of(&judged, 1, 2), IDLE_INTERVALS);
	assert_int_equal(reason_of(&judged, 2, 0), IDLE_NOT);
}

/*
 * That a thread is joined makes its waits for work no less idle, but its sleeps; not if it is only
 * waited for for a moment.
 */
static void joining_needs_sleeps_only(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__threads(&program, 3);
	synthetic__interval(&program.made, BLOCKED(1, 0, 10 * MS, 90 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_epoll_wait));
	synthetic__interval(&program.made, SLEEP(2, 10 * MS, 90 * MS));
	synthetic__interval(&program.made,
			    FUTEX(3, 1, 0, 100 * MS, .user_stack = USER(&program, "pthread_join")));
	synthetic__interval(&program.made, FUTEX(3, 2, 101 * MS, 102 * MS,
						 .user_stack = USER(&program, "pthread_join")));
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 1, 0), IDLE_REQUESTS);
	assert_int_equal(reason_of(&judged, 2, 0), IDLE_INTERVALS);
	assert_int_equal(reason_of(&judged, 3, 0), IDLE_NOT);
	judged_free(&judged);

	program = program__begin(true);
	program__threads(&program, 3);
	synthetic__interval(&program.made, SLEEP(2, 10 * MS, 90 * MS));
	synthetic__interval(&program.made,
			    FUTEX(3, 2, 0, 100 * MS, .user_stack = USER(&program, "pthread_join")));
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 2, 0), IDLE_NOT);
}

static void put_exit(struct program *program, uint32_t thread, uint64_t time)
{
	synthetic__totals(&program->made, thread, time, true, MS, 0, 0, 0, time - MS);
}

/*
 * M creates W and F, and waits for the end of F, when W has ended. H, which another thread created,
 * and T, which ends later, nobody waits for.
 */
static void the_order_of_joins_does_not_matter(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__thread(&program, 1, "M");
	synthetic__thread(&program.made, 2, PID, PID + 2, 1, 0, "W");
	synthetic__thread(&program.made, 3, PID, PID + 3, 1, 0, "F");
	synthetic__thread(&program.made, 4, PID, PID + 4, 3, 0, "H");
	synthetic__thread(&program.made, 5, PID, PID + 5, 1, 0, "T");
	for (uint32_t t = 2; t <= 5; t++)
		synthetic__interval(&program.made, SLEEP(t, 1 * MS, 39 * MS));
	synthetic__interval(&program.made, SLEEP(3, 40 * MS, 79 * MS));
	synthetic__interval(&program.made, FUTEX(1, 3, 50 * MS, 80 * MS,
						 .user_stack = USER(&program, "pthread_join")));
	for (uint32_t t = 2; t <= 4; t++)
		put_exit(&program, t, t == 3 ? 80 * MS : 40 * MS);
	put_exit(&program, 5, 90 * MS);
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 2, 0), IDLE_NOT);
	assert_int_equal(reason_of(&judged, 3, 0), IDLE_NOT);
	assert_int_equal(reason_of(&judged, 3, 1), IDLE_NOT);
	assert_int_equal(reason_of(&judged, 4, 0), IDLE_INTERVALS);
	assert_int_equal(reason_of(&judged, 5, 0), IDLE_INTERVALS);
}

/*
 * M joins W, which takes long, and then a thread that ends 10 ms later, for 0.3 ms: A, which sleeps
 * in the same function, or B, which does so in another one, as a thread that works until it is told
 * to end.
 */
static void the_last_of_equal_threads_is_joined(void **state)
{
	for (int alike = 0; alike < 2; alike++) {
		struct program program = program__begin(true);
		_cleanup_judged_ struct judged judged = {};

		program__thread(&program, 1, "M");
		synthetic__thread(&program.made, 2, PID, PID + 2, 1, 0, "W");
		synthetic__thread(&program.made, 3, PID, PID + 3, 1, 0, alike ? "A" : "B");
		for (uint32_t t = 2; t <= 3; t++)
			for (uint32_t i = 0; i < 9; i++)
				synthetic__interval(
					&program.made,
					SLEEP(t, (10 * i + 1) * MS, (10 * i + 9) * MS,
					      .user_stack =
						      USER(&program, t == 2 || alike ? "f" : "g")));
		synthetic__interval(
			&program.made,
			FUTEX(1, 2, 0, 90 * MS, .user_stack = USER(&program, "pthread_join")));
		synthetic__interval(&program.made,
				    FUTEX(1, 3, 99 * MS, 99 * MS + 3 * MS / 10,
					  .user_stack = USER(&program, "pthread_join")));
		put_exit(&program, 2, 91 * MS);
		put_exit(&program, 3, 100 * MS);
		judged = judge(&program);
		assert_int_equal(reason_of(&judged, 2, 0), IDLE_NOT);
		assert_int_equal(reason_of(&judged, 3, 0), alike ? IDLE_NOT : IDLE_INTERVALS);
	}
}

/*
 * Whatever it waits in: the thread ended the wait, and exited without another wait. To be stopped,
 * or preempted, is none.
 */
static void last_acts_are_joins(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__threads(&program, 3);
	for (uint32_t t = 2; t <= 3; t++)
		for (uint32_t i = 0; i < 39; i++) /* it ends few waits of others */
			synthetic__interval(&program.made, SLEEP(t, i * MS + 1, (i + 1) * MS - 1));
	for (uint32_t t = 2; t <= 3; t++)
		synthetic__interval(&program.made,
				    FUTEX(1, t, (20 * t - 5) * MS, 20 * t * MS,
					  .user_stack = USER(&program, "pthread_mutex_lock")));
	synthetic__interval(&program.made, SLEEP(2, 41 * MS, 78 * MS));
	synthetic__interval(&program.made, (struct record_interval){.thread = 2,
								    .class = CLASS_SCHED,
								    .flags = INTERVAL_PREEMPTED,
								    .t_out = 79 * MS,
								    .runq_ns = MS / 2,
								    .syscall = -1});
	synthetic__interval(&program.made, (struct record_interval){.thread = 3,
								    .class = CLASS_STOPPED,
								    .t_out = 65 * MS,
								    .blocked_ns = 10 * MS,
								    .syscall = -1});
	for (uint32_t t = 2; t <= 3; t++)
		put_exit(&program, t, 80 * MS);
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 2, 1), IDLE_INTERVALS);
	assert_int_equal(reason_of(&judged, 3, 0), IDLE_NOT);
}

/* A thread that ends a wait of another one after each sleep sleeps as part of its work. */
static void who_serves_others_does_not_sleep_idly(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__threads(&program, 2);
	for (uint32_t i = 0; i < 10; i++) {
		synthetic__interval(&program.made, SLEEP(1, 10 * i * MS, (10 * i + 9) * MS));
		synthetic__interval(&program.made,
				    BLOCKED(2, 1, (10 * i + 8) * MS, (10 * i + 10) * MS,
					    .class = CLASS_OTHER, .syscall = SYS_epoll_wait));
	}
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 1, 5), IDLE_NOT);
	assert_int_equal(reason_of(&judged, 2, 5), IDLE_REQUESTS);
}

/* Two sleeps at different places are part of what a thread does. */
static void only_dedicated_threads_sleep_idly(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__threads(&program, 2);
	synthetic__interval(&program.made, SLEEP(1, 0, 90 * MS, .user_stack = USER(&program, "f")));
	synthetic__interval(&program.made,
			    SLEEP(1, 100 * MS, 105 * MS, .user_stack = USER(&program, "g")));
	synthetic__interval(&program.made, SLEEP(2, 0, 60 * MS, .user_stack = USER(&program, "h")));
	synthetic__interval(&program.made,
			    SLEEP(2, 100 * MS, 140 * MS, .user_stack = USER(&program, "i")));
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 1, 0), IDLE_INTERVALS);
	assert_int_equal(reason_of(&judged, 1, 1), IDLE_NOT);
	assert_int_equal(reason_of(&judged, 2, 0), IDLE_NOT);
	assert_int_equal(reason_of(&judged, 2, 1), IDLE_NOT);
}

static uint32_t put_socket(struct program *program, enum socket_side side, const char *local,
			   const char *peer)
{
	struct record_object object = {
		.type = OBJECT_SOCKET,
		.family = AF_INET,
		.protocol = IPPROTO_TCP,
		.side = (uint8_t)side,
		.local = synthetic__string(&program->made, local),
		.name = synthetic__string(&program->made, peer),
	};

	return record_stream__object(recording_writer__stream(program->made.writer), &object);
}

static void ends_of_connections_differ(void **state)
{
	const struct {
		enum socket_side side;
		const char *local, *peer;
		enum idle_reason reason;
	} cases[] = {
		{SOCKET_SIDE_SERVER, "127.0.0.1:40000", "127.0.0.1:80", IDLE_REQUESTS},
		{SOCKET_SIDE_CLIENT, "127.0.0.1:81", "127.0.0.1:40001", IDLE_NOT},
		/* Earlier versions did not record the side. */
		{SOCKET_SIDE_UNKNOWN, "127.0.0.1:82", "127.0.0.1:40002", IDLE_REQUESTS},
		{SOCKET_SIDE_UNKNOWN, "127.0.0.1:40003", "127.0.0.1:83", IDLE_NOT},
		{SOCKET_SIDE_UNKNOWN, "127.0.0.1:50000", "127.0.0.1:40004", IDLE_NOT},
	};
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		program__thread(&program, i + 1, "t");
		synthetic__interval(&program.made,
				    (struct record_interval){
					    .thread = i + 1,
					    .waker_context = WAKER_SOFTIRQ,
					    .blocked_ns = 10 * MS,
					    .class = CLASS_OTHER,
					    .syscall = SYS_recvfrom,
					    .object = put_socket(&program, cases[i].side,
								 cases[i].local, cases[i].peer)});
	}
	judged = judge(&program);
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (reason_of(&judged, i + 1, 0) != cases[i].reason)
			fail_msg("case %u", i);
}

/*
 * Thread 1 is a server that waits in epoll_wait(): called by "loop", where requests arrive, and by
 * "lock", where only thread 2, of another process, ends its waits. Thread 3 is of its own process.
 * Each row is a wait of 10 ms.
 */
static const struct {
	const char *what;
	const char *function;
	uint32_t waker;
	enum waker_context context;
	enum socket_side side;
	uint16_t family; /* of the socket that was ready; 0: none was */
	enum idle_reason reason;
} polls[] = {
	{"a request", "loop", 0, WAKER_SOFTIRQ, SOCKET_SIDE_SERVER, AF_INET, IDLE_REQUESTS},
	{"by a Unix client", "loop", 2, WAKER_TASK, SOCKET_SIDE_SERVER, AF_UNIX, IDLE_REQUESTS},
	{"a timeout", "loop", 0, WAKER_HARDIRQ, 0, 0, IDLE_REQUESTS},
	{"work of a helper", "loop", 3, WAKER_TASK, 0, 0, IDLE_REQUESTS},
	{"a busy process", "loop", 2, WAKER_TASK, 0, 0, IDLE_NOT},
	{"an idle process", "loop", 4, WAKER_TASK, 0, 0, IDLE_REQUESTS},
	{"the holder", "lock", 2, WAKER_TASK, 0, 0, IDLE_NOT},
	{"an idle holder", "lock", 4, WAKER_TASK, 0, 0, IDLE_NOT},
	{"a socketpair", "lock", 2, WAKER_TASK, SOCKET_SIDE_UNKNOWN, AF_UNIX, IDLE_NOT},
	{"a check for deadlocks", "lock", 0, WAKER_HARDIRQ, 0, 0, IDLE_NOT},
	{"the last one", "loop", 2, WAKER_TASK, 0, 0, IDLE_REQUESTS},
};

static uint32_t put_ready(struct program *program, uint16_t family, enum socket_side side)
{
	struct record_object object = {.type = OBJECT_SOCKET,
				       .family = family,
				       .protocol = IPPROTO_TCP,
				       .side = (uint8_t)side};

	return family ? record_stream__object(recording_writer__stream(program->made.writer),
					      &object)
		      : 0;
}

static void who_ends_a_poll_tells_what_it_was_for(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__thread(&program, 1, "server");
	synthetic__thread(&program.made, 2, PID + 20, PID + 20, 0, 0, "other");
	program__thread(&program, 3, "helper");
	synthetic__thread(&program.made, 4, PID + 40, PID + 40, 0, 0, "idler");
	for (uint32_t i = 0; i < ARRAY_SIZE(polls); i++) {
		uint64_t at = 20ULL * i * MS;
		struct record_interval wait =
			BLOCKED(1, polls[i].waker, at, at + 10 * MS, .class = CLASS_OTHER,
				.syscall = SYS_epoll_wait,
				.object = put_ready(&program, polls[i].family, polls[i].side),
				.user_stack = USER(&program, polls[i].function));

		wait.waker_context = (uint8_t)polls[i].context;
		synthetic__interval(&program.made, wait);
		if (polls[i].context == WAKER_HARDIRQ) /* while a packet was received */
			program__wake(&program, 1, 0, at + 10 * MS,
				      KERNEL(&program, "hrtimer_wakeup", "sock_def_readable"), 0);
	}
	synthetic__interval(&program.made, BLOCKED(4, 0, 0, 900 * MS, .class = CLASS_OTHER,
						   .syscall = SYS_accept4));
	judged = judge(&program);
	for (uint32_t i = 0; i < ARRAY_SIZE(polls); i++)
		if (reason_of(&judged, 1, i) != polls[i].reason)
			fail_msg("%s", polls[i].what);
}

/* Thread @number waits in epoll_wait() for 10 ms from @at on, until @waker writes to an eventfd. */
static void put_notified(struct program *program, uint32_t number, uint32_t waker, uint64_t at)
{
	synthetic__interval(&program->made,
			    BLOCKED(number, waker, at, at + 10 * MS, .class = CLASS_OTHER,
				    .syscall = SYS_epoll_wait, .user_stack = USER(program, "f")));
	program__wake(program, number, waker, at + 10 * MS, KERNEL(program, "eventfd_write"), 0);
}

/* In threads without any requests, as in rule 5: who created a thread gives it work. */
static void polls_without_requests_are_handovers(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged judged = {};

	program__thread(&program, 1, "boss");
	put_child(&program, 2, 1, "worker");
	synthetic__thread(&program.made, 3, PID + 30, PID + 30, 0, 0, "other");
	synthetic__thread(&program.made, 4, PID + 30, PID + 40, 0, 0, "busy");
	for (uint32_t i = 0; i < 4; i++) {
		put_notified(&program, 2, 1, 20ULL * i * MS);
		put_notified(&program, 3, 4, 20ULL * i * MS);
	}
	judged = judge(&program);
	assert_int_equal(reason_of(&judged, 2, 1), IDLE_QUEUE);
	assert_int_equal(reason_of(&judged, 3, 1), IDLE_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_decide_what_behavior_leaves_open),
		cmocka_unit_test(only_near_functions_tell),
		cmocka_unit_test(who_is_created_to_work_is_idle),
		cmocka_unit_test(a_convoy_is_not_idle_whatever_it_is_called),
		cmocka_unit_test(a_lock_with_a_timeout_is_not_idle),
		cmocka_unit_test(where_all_wait_is_no_lock),
		cmocka_unit_test(chains_end_at_who_has_work),
		cmocka_unit_test(who_is_needed_is_not_idle),
		cmocka_unit_test(joining_needs_sleeps_only),
		cmocka_unit_test(the_order_of_joins_does_not_matter),
		cmocka_unit_test(the_last_of_equal_threads_is_joined),
		cmocka_unit_test(last_acts_are_joins),
		cmocka_unit_test(who_serves_others_does_not_sleep_idly),
		cmocka_unit_test(only_dedicated_threads_sleep_idly),
		cmocka_unit_test(ends_of_connections_differ),
		cmocka_unit_test(who_ends_a_poll_tells_what_it_was_for),
		cmocka_unit_test(polls_without_requests_are_handovers),
	};

	return cmocka_run_group_tests_name("kinds: idle waits", tests, NULL, NULL);
}
