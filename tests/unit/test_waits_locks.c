// SPDX-License-Identifier: BSD-2-Clause
/* The lock that a bottleneck's members hold while others wait for it, in recordings of known ones.
 */
#include "tests/unit/path_support.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "analysis/waits/verdict_lock.h"

#define END	 (100 * MS)
#define FUTEX_AT 0x400800ULL
#define LIBC_AT	 0x7f000000ULL

static uint32_t put_futex(struct program *program, uint64_t id)
{
	const struct record_object object = {.type = OBJECT_FUTEX, .id = id};

	return record_stream__object(recording_writer__stream(program->made.writer), &object);
}

static void put_libc(struct program *program)
{
	uint32_t libc = synthetic__dso(&program->made, "/usr/lib/libc.so.6");

	synthetic__map(&program->made, PID, libc, 0, LIBC_AT, 0x1000, 0);
	synthetic__symbol(&program->made, libc, 0, "pthread_mutex_lock", NULL, 0);
	synthetic__symbol(&program->made, libc, 16, "pthread_mutex_unlock", NULL, 0);
}

/* @function takes the lock, or releases it. */
static uint32_t lock_stack(struct program *program, bool releases, const char *function)
{
	const uint64_t frames[] = {LIBC_AT + 16U * releases + 8,
				   program__address(program, false, function), 0};

	return synthetic__stack(&program->made, false, STACK_COMPLETE, frames);
}

/* @thread waits for @futex in @takes until @holder releases it in @releases. */
static void put_wait(struct program *program, uint32_t futex, uint32_t thread, const char *takes,
		     uint32_t holder, const char *releases, uint64_t begin, uint64_t end)
{
	synthetic__interval(&program->made,
			    BLOCKED(thread, holder, begin, end, .class = CLASS_LOCK,
				    .syscall = SYS_futex, .object = futex,
				    .user_stack = lock_stack(program, false, takes)));
	program__wake(program, thread, holder, end, 0, lock_stack(program, true, releases));
}

static void put_sleep(struct program *program, uint32_t thread, uint64_t begin, uint64_t end)
{
	synthetic__interval(&program->made, (struct record_interval){.thread = thread,
								     .waker_context = WAKER_HARDIRQ,
								     .class = CLASS_OTHER,
								     .syscall = SYS_clock_nanosleep,
								     .t_out = begin,
								     .blocked_ns = end - begin});
}

struct judged {
	struct analysis analysis;
	struct lock_waits waits;
	struct verdict_locks locks;
};

static struct judged *judge(struct program *program)
{
	struct judged *judged = calloc(1, sizeof(*judged));
	struct analysis *analysis = &judged->analysis;

	assert_non_null(judged);
	*analysis = program__analyse(program, END, NULL);
	assert_int_equal(bottlenecks__find(&analysis->graph, 0.2, &analysis->found), 0);
	assert_int_equal(
		lock_waits__find(analysis->model, analysis->kinds, analysis->idle, &judged->waits),
		0);
	assert_int_equal(verdict_locks__find(&analysis->graph, analysis->kinds, &judged->waits,
					     &analysis->found, &judged->locks),
			 0);
	return judged;
}

static void free_judged(struct judged *judged)
{
	verdict_locks__free(&judged->locks);
	lock_waits__free(&judged->waits);
	analysis__free(&judged->analysis);
	free(judged);
}
DEFINE_CLEANUP(struct judged *, free_judged)
#define _cleanup_judged_ _cleanup_(free_judgedp)

/* The lock of the bottleneck that has the vertex @name; NULL: there is none. */
static const struct verdict_lock *lock_of(const struct judged *judged, const char *name)
{
	const struct bottleneck *of = bottleneck_of(&judged->analysis, name);

	assert_non_null(of);
	return verdict_locks__of(&judged->locks, of);
}

static void assert_string(const struct judged *judged, uint32_t string, const char *expected)
{
	assert_string_equal(model__string(judged->analysis.model, string), expected);
}

/* B waits once in one function, long in another, for what A holds twice briefly and once long. */
static void functions_are_those_with_most_time(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged *judged = NULL;
	uint32_t futex = put_futex(&program, FUTEX_AT);
	const struct verdict_lock *lock;

	put_libc(&program);
	program__threads(&program, 2);
	put_wait(&program, futex, 2, "once", 1, "briefly", 0, 5 * MS);
	put_wait(&program, futex, 2, "often", 1, "lengthily", 10 * MS, 30 * MS);
	put_wait(&program, futex, 2, "once", 1, "briefly", 40 * MS, 45 * MS);
	put_wait(&program, futex, 2, "often", 1, "lengthily", 50 * MS, 70 * MS);
	program__ran(&program, 1, END, 0);
	program__ran(&program, 2, END, 50 * MS);
	judged = judge(&program);
	lock = lock_of(judged, "A");
	assert_non_null(lock);
	assert_string(judged, lock->function, "often");
	assert_string(judged, lock->released, "lengthily");
	assert_int_equal(lock->holder, index_of(judged->analysis.model, 1));
	assert_int_equal(lock->holder_ns, 50 * MS);
	assert_int_equal(lock->held_ns, 50 * MS);
	assert_int_equal(lock->wait_ns, 50 * MS);
	assert_int_equal(lock->blocked_ns, 0);
	assert_false(lock->sleeps);
}

/* Who held it longest did so in many functions: none of them as long as another thread in one. */
static void a_holder_counts_in_all_its_functions(void **state)
{
	static const char *const functions[] = {"f", "g", "h", "i"};
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged *judged = NULL;
	uint32_t futex = put_futex(&program, FUTEX_AT);
	const struct verdict_lock *lock;

	put_libc(&program);
	program__threads(&program, 3);
	for (uint64_t i = 0; i < ARRAY_SIZE(functions); i++)
		put_wait(&program, futex, 3, "take", 1, functions[i], i * 10 * MS,
			 (i * 10 + 5 + i) * MS);
	put_wait(&program, futex, 3, "take", 2, "other", 50 * MS, 62 * MS);
	program__ran(&program, 1, END, 0);
	program__ran(&program, 2, END, 0);
	program__ran(&program, 3, END, 38 * MS);
	judged = judge(&program);
	lock = lock_of(judged, "A");
	assert_non_null(lock);
	assert_int_equal(lock->holder, index_of(judged->analysis.model, 1));
	assert_int_equal(lock->holder_ns, 26 * MS);
	assert_int_equal(lock->held_ns, 38 * MS);
	assert_string(judged, lock->released, "i");
}

/*
 * B sleeps with the lock, A computes with it: that A sleeps with it cannot be said, though it is
 * slept with for most of the time. That B sleeps with it can, where B is the bottleneck.
 */
static void members_sleep_not_others(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged *judged = NULL;
	uint32_t futex = put_futex(&program, FUTEX_AT);
	const struct verdict_lock *lock;

	put_libc(&program);
	program__threads(&program, 3);
	put_sleep(&program, 2, 1 * MS, 39 * MS);
	put_sleep(&program, 2, 60 * MS, END);
	put_wait(&program, futex, 3, "take", 2, "sleeper", 0, 40 * MS);
	put_wait(&program, futex, 3, "take", 1, "computer", 50 * MS, 60 * MS);
	program__ran(&program, 1, END, 0);
	program__ran(&program, 2, END, 78 * MS);
	program__ran(&program, 3, END, 50 * MS);
	judged = judge(&program);
	lock = lock_of(judged, "A");
	assert_non_null(lock);
	assert_int_equal(lock->held_ns, 50 * MS);
	assert_int_equal(lock->blocked_ns, 38 * MS);
	assert_int_equal(lock->kind, KIND_SLEEP);
	assert_false(lock->sleeps);
	lock = lock_of(judged, "B");
	assert_non_null(lock);
	assert_true(lock->sleeps);
}

/* A holds the lock while TCP holds back what it waits for: that is what it waits for. */
static void a_holder_waits_for_tcp(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged *judged = NULL;
	uint32_t futex = put_futex(&program, FUTEX_AT);
	const struct record_object socket = {
		.type = OBJECT_SOCKET,
		.id = 7,
		.family = AF_INET,
		.protocol = IPPROTO_TCP,
		.side = SOCKET_SIDE_CLIENT,
		.name = record_stream__string(recording_writer__stream(program.made.writer),
					      "10.0.0.2:5432")};
	uint32_t object =
		record_stream__object(recording_writer__stream(program.made.writer), &socket);
	const struct verdict_lock *lock;

	put_libc(&program);
	program__threads(&program, 2);
	put_wait(&program, futex, 2, "take", 1, "hold", 0, 60 * MS);
	synthetic__interval(&program.made, (struct record_interval){.thread = 1,
								    .waker_context = WAKER_SOFTIRQ,
								    .t_out = 10 * MS,
								    .blocked_ns = 40 * MS,
								    .class = CLASS_OTHER,
								    .syscall = SYS_recvfrom,
								    .object = object});
	synthetic__put(&program.made, (struct record){.type = RECORD_SEGMENT,
						      .segment = {.thread = 1,
								  .writer = 1,
								  .time = START + 50 * MS,
								  .written = 40 * MS,
								  .left = 1 * MS,
								  .reasons = {HOLD_NAGLE_DELAYED},
								  .until = {1 * MS},
								  .role = SEGMENT_DATA,
								  .object = object}});
	program__ran(&program, 1, END, 40 * MS);
	program__ran(&program, 2, END, 60 * MS);
	judged = judge(&program);
	lock = lock_of(judged, "A");
	assert_non_null(lock);
	assert_int_equal(lock->kind, KIND_TCP_HELD);
	assert_int_equal(judged->analysis.model->objects.data[lock->object].hold,
			 HOLD_NAGLE_DELAYED);
}

#define MANY 300

/* Each of many threads holds a lock of its own: each bottleneck has its own. */
static void each_bottleneck_has_its_lock(void **state)
{
	struct program program = program__begin(true);
	_cleanup_judged_ struct judged *judged = NULL;

	put_libc(&program);
	for (uint32_t i = 0; i < MANY; i++) {
		char name[16];

		snprintf(name, sizeof(name), "h%u", i);
		program__thread(&program, 2 * i + 1, name);
		snprintf(name, sizeof(name), "w%u", i);
		program__thread(&program, 2 * i + 2, name);
		put_wait(&program, put_futex(&program, FUTEX_AT + 64 * i), 2 * i + 2, "take",
			 2 * i + 1, "hold", 0, (10 + i % 50) * MS);
		program__ran(&program, 2 * i + 1, END, 0);
		program__ran(&program, 2 * i + 2, END, (10 + i % 50) * MS);
	}
	judged = judge(&program);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct verdict_lock *lock;
		char name[16];

		snprintf(name, sizeof(name), "h%u", i);
		lock = lock_of(judged, name);
		assert_non_null(lock);
		assert_int_equal(judged->analysis.model->objects.data[lock->lock->object].id,
				 FUTEX_AT + 64 * i);
		assert_int_equal(lock->wait_ns, (10 + i % 50) * MS);
		assert_int_equal(lock->holder, index_of(judged->analysis.model, 2 * i + 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_those_with_most_time),
		cmocka_unit_test(a_holder_counts_in_all_its_functions),
		cmocka_unit_test(members_sleep_not_others),
		cmocka_unit_test(a_holder_waits_for_tcp),
		cmocka_unit_test(each_bottleneck_has_its_lock),
	};

	return cmocka_run_group_tests_name("waits: locks", tests, NULL, NULL);
}
