// SPDX-License-Identifier: BSD-2-Clause
/* Locks: what of waits, holding times and names is found in recordings of known ones. */
#include "analysis/kinds/futex_use.h"
#include "analysis/latency/locks.h"
#include "tests/unit/path_support.h"

#define FUTEX_AT 0x400800ULL

static uint32_t put_object(struct program *program, enum object_type type, uint64_t id)
{
	const struct record_object object = {.type = (uint8_t)type, .id = id};

	return record_stream__object(recording_writer__stream(program->made.writer), &object);
}

/* @thread waits for @object in @function until @waker releases it in @released. */
static void put_wait(struct program *program, uint32_t thread, uint32_t waker, uint64_t begin,
		     uint64_t end, uint32_t object, uint32_t waits, uint32_t releases)
{
	synthetic__interval(&program->made,
			    BLOCKED(thread, waker, begin, end, .class = CLASS_LOCK,
				    .syscall = SYS_futex, .object = object, .user_stack = waits));
	program__wake(program, thread, waker, end, 0, releases);
}

struct found_locks {
	struct model *model;
	struct kinds *kinds;
	struct locks locks;
	int err;
};

static struct found_locks find_locks(struct program *program)
{
	struct found_locks found = {.model = synthetic__load(&program->made, 100 * MS)};

	assert_int_equal(kinds__new(found.model, &found.kinds), 0);
	found.err = locks__find(found.model, found.kinds, &found.locks);
	return found;
}

static void free_locks(struct found_locks *found)
{
	locks__free(&found->locks);
	kinds__free(found->kinds);
	model__free(found->model);
}

static void check_holder(const struct found_locks *found, const struct lock_holder *holder,
			 uint32_t thread, const char *function, uint64_t releases, uint64_t ns)
{
	assert_int_equal(found->model->threads.data[holder->thread].number, thread);
	assert_string_equal(model__string(found->model, holder->function), function);
	assert_int_equal(holder->releases, releases);
	assert_int_equal(holder->ns, ns);
}

/*
 * B waits from 1 to 11 ms, C from 3 to 15, B again from 20 to 22: A holds it until 11, then B for
 * 4 ms, then A for what is known of it, 2 ms.
 */
static void holding_times(void **state)
{
	struct program program = program__begin(true);
	uint32_t futex = put_object(&program, OBJECT_FUTEX, FUTEX_AT);
	uint32_t take = USER(&program, "pthread_mutex_lock", "take");
	uint32_t hold = USER(&program, "pthread_mutex_unlock", "hold");
	struct found_locks found;
	const struct lock *lock;

	program__threads(&program, 3);
	put_wait(&program, 2, 1, 1 * MS, 11 * MS, futex, take, hold);
	put_wait(&program, 3, 2, 3 * MS, 15 * MS, futex, take, hold);
	put_wait(&program, 2, 1, 20 * MS, 22 * MS, futex, take, hold);
	found = find_locks(&program);
	assert_int_equal(found.err, 0);
	assert_int_equal(found.locks.locks.n, 1);
	lock = &found.locks.locks.data[0];
	assert_int_equal(found.model->objects.data[lock->identity.object].id, FUTEX_AT);
	assert_int_equal(found.model->processes.data[lock->identity.process].pid, PID);
	assert_int_equal(lock->waits, 3);
	assert_int_equal(lock->wait_ns, 24 * MS);
	assert_int_equal(lock->p50_ns, 10 * MS);
	assert_int_equal(lock->max_ns, 12 * MS);
	assert_int_equal(lock->contended_ns, 16 * MS);
	assert_int_equal(lock->holders.n, 2);
	/* No function is left out: these are not in a C library. */
	check_holder(&found, &lock->holders.data[0], 1, "pthread_mutex_unlock", 2, 12 * MS);
	check_holder(&found, &lock->holders.data[1], 2, "pthread_mutex_unlock", 1, 4 * MS);
	assert_int_equal(lock->waiters.n, 2);
	assert_int_equal(lock->waiters.data[0].ns, 12 * MS);
	assert_int_equal(lock->waiters.data[1].ns, 12 * MS);
	free_locks(&found);
}

/* What else futexes are for: only the mutex that is taken again after the condition is a lock. */
static void not_locks(void **state)
{
	struct program program = program__begin(true);
	uint32_t futexes[4];
	uint32_t waits = USER(&program, "pthread_cond_wait", "wait_for_job");
	uint32_t joins = USER(&program, "__pthread_clockjoin_ex", "main");
	uint32_t signals = USER(&program, "pthread_cond_signal", "give_job");
	uint32_t unlocks = USER(&program, "pthread_mutex_unlock", "give_job");
	struct found_locks found;

	for (int i = 0; i < 4; i++)
		futexes[i] = put_object(&program, OBJECT_FUTEX, FUTEX_AT + 64 * (uint64_t)i);
	program__threads(&program, 2);
	put_wait(&program, 2, 1, 1 * MS, 11 * MS, futexes[0], waits, signals);
	put_wait(&program, 2, 1, 12 * MS, 14 * MS, futexes[1], waits, unlocks);
	put_wait(&program, 1, 2, 20 * MS, 30 * MS, futexes[2], joins, 0);
	/* Stacks that could not be read: others of the same futex tell. */
	put_wait(&program, 2, 1, 40 * MS, 50 * MS, futexes[0], 0, 0);
	put_wait(&program, 2, 1, 60 * MS, 61 * MS, futexes[1], 0, 0);
	found = find_locks(&program);
	assert_int_equal(found.err, 0);
	assert_int_equal(found.locks.locks.n, 1);
	assert_int_equal(found.model->objects.data[found.locks.locks.data[0].identity.object].id,
			 FUTEX_AT + 64);
	assert_int_equal(found.locks.locks.data[0].waits, 2);
	assert_int_equal(found.locks.locks.data[0].wait_ns, 3 * MS);
	free_locks(&found);
}

/* Futexes of two processes at one address are two; a lock of the kernel is one for both. */
static void locks_of_processes(void **state)
{
	struct program program = program__begin(true);
	uint32_t futex = put_object(&program, OBJECT_FUTEX, FUTEX_AT);
	uint32_t klock = put_object(&program, OBJECT_KLOCK, KERNEL_AT);
	uint32_t kernel = KERNEL(&program, "schedule", "__mutex_lock");
	uint32_t take = USER(&program, "pthread_mutex_lock", "take");
	uint32_t hold = USER(&program, "pthread_mutex_unlock", "hold");
	struct found_locks found;

	program__threads(&program, 2);
	synthetic__thread(&program.made, 3, 200, 200, 0, 0, "other");
	for (uint32_t i = 1; i <= 3; i += 2) {
		put_wait(&program, i, 2, i * MS, (i + 3) * MS, futex, take, hold);
		synthetic__interval(&program.made,
				    BLOCKED(i, 2, (i + 10) * MS, (i + 11) * MS, .class = CLASS_LOCK,
					    .syscall = -1, .object = klock,
					    .kernel_stack = kernel));
	}
	/* Of one, it is not known which. */
	synthetic__interval(&program.made, BLOCKED(1, 2, 50 * MS, 57 * MS, .class = CLASS_LOCK,
						   .syscall = -1, .kernel_stack = kernel));
	found = find_locks(&program);
	assert_int_equal(found.err, 0);
	assert_int_equal(found.locks.locks.n, 3);
	assert_int_equal(found.locks.locks.data[0].wait_ns, 3 * MS);
	assert_int_equal(found.locks.locks.data[1].wait_ns, 3 * MS);
	assert_int_not_equal(found.locks.locks.data[0].identity.process,
			     found.locks.locks.data[1].identity.process);
	assert_int_equal(found.locks.locks.data[2].identity.process, 0);
	assert_int_equal(found.locks.locks.data[2].waits, 2);
	assert_int_equal(found.locks.no_address.n, 1);
	assert_int_equal(found.locks.no_address.ns, 7 * MS);
	free_locks(&found);
}

/* A lock of a file, whose class is not that of locks, is one for all processes; reads of it are
 * none. */
static void locks_of_files(void **state)
{
	struct program program = program__begin(true);
	uint32_t file = put_object(&program, OBJECT_FILE, 77);
	uint32_t kernel = KERNEL(&program, "schedule", "locks_lock_inode_wait");
	uint32_t take = USER(&program, "flock", "take");
	uint32_t hold = USER(&program, "flock", "hold");
	struct found_locks found;

	program__threads(&program, 2);
	synthetic__thread(&program.made, 3, 200, 200, 0, 0, "other");
	for (uint32_t i = 1; i <= 3; i += 2) {
		synthetic__interval(&program.made,
				    BLOCKED(i, 2, i * MS, (i + 3) * MS, .class = CLASS_OTHER,
					    .syscall = SYS_flock, .object = file,
					    .kernel_stack = kernel, .user_stack = take));
		program__wake(&program, i, 2, (i + 3) * MS, 0, hold);
		synthetic__interval(&program.made,
				    BLOCKED(i, 2, (i + 10) * MS, (i + 11) * MS, .class = CLASS_IO,
					    .syscall = SYS_read, .object = file));
	}
	found = find_locks(&program);
	assert_int_equal(found.err, 0);
	assert_int_equal(found.locks.locks.n, 1);
	assert_int_equal(found.locks.locks.data[0].identity.kind, KIND_FILE_LOCK);
	assert_int_equal(found.locks.locks.data[0].identity.process, 0);
	assert_int_equal(found.locks.locks.data[0].waits, 2);
	assert_int_equal(found.locks.locks.data[0].wait_ns, 6 * MS);
	assert_int_equal(found.locks.locks.data[0].holders.n, 1);
	check_holder(&found, &found.locks.locks.data[0].holders.data[0], 2, "flock", 2, 5 * MS);
	free_locks(&found);
}

/* The name of a variable is recorded by where it would be in the file. */
static void names_of_variables(void **state)
{
	struct program program = program__begin(true);
	uint32_t named = put_object(&program, OBJECT_FUTEX, PROGRAM_AT + 0x4080);
	uint32_t other = put_object(&program, OBJECT_FUTEX, PROGRAM_AT + 0x999999);
	uint32_t below = put_object(&program, OBJECT_FUTEX, PROGRAM_AT - 64);
	uint32_t take = USER(&program, "pthread_mutex_lock", "take");
	uint32_t hold = USER(&program, "pthread_mutex_unlock", "hold");
	struct found_locks found;

	program__threads(&program, 2);
	synthetic__symbol(&program.made, program.dso, 0x4080, "settings.lock", NULL, 0);
	put_wait(&program, 1, 2, 1 * MS, 9 * MS, named, take, hold);
	put_wait(&program, 1, 2, 10 * MS, 17 * MS, other, take, hold);
	put_wait(&program, 1, 2, 20 * MS, 26 * MS, below, take, hold);
	found = find_locks(&program);
	assert_int_equal(found.err, 0);
	assert_int_equal(found.locks.locks.n, 3);
	assert_string_equal(model__string(found.model, found.locks.locks.data[0].variable),
			    "settings.lock");
	assert_int_equal(found.locks.locks.data[1].variable, 0);
	assert_int_equal(found.locks.locks.data[2].variable, 0);
	free_locks(&found);
}

static void samples_are_refused(void **state)
{
	struct program program = program__begin(false);
	struct found_locks found;

	program__threads(&program, 1);
	found = find_locks(&program);
	assert_int_equal(found.err, -ENODATA);
	free_locks(&found);
}

/* @n waits of 10 ms each for @futex: thread i for the next one, all of @n_threads by turns. */
static void put_turns(struct program *program, uint32_t futex, uint32_t n_threads, uint32_t n,
		      uint32_t waits, uint32_t releases)
{
	for (uint32_t i = 0; i < n; i++)
		put_wait(program, 1 + (i + 1) % n_threads, 1 + i % n_threads, (5 * i + 1) * MS,
			 (5 * i + 11) * MS, futex, waits, releases);
}

/* Who takes a semaphore by turns with others has a lock; who only adds to it has none. */
static void semaphores_by_behavior(void **state)
{
	struct program program = program__begin(true);
	uint32_t lock = put_object(&program, OBJECT_FUTEX, FUTEX_AT);
	uint32_t queue = put_object(&program, OBJECT_FUTEX, FUTEX_AT + 64);
	uint32_t waits = USER(&program, "sem_wait", "use");
	uint32_t posts = USER(&program, "sem_post", "use");
	struct found_locks found;

	program__threads(&program, 5);
	put_turns(&program, lock, 3, 6, waits, posts);
	for (uint32_t i = 0; i < 4; i++)
		put_wait(&program, 5, 4, (10 * i + 1) * MS, (10 * i + 9) * MS, queue,
			 USER(&program, "sem_wait", "get"), USER(&program, "sem_post", "put"));
	found = find_locks(&program);
	assert_int_equal(found.err, 0);
	assert_int_equal(found.locks.locks.n, 1);
	assert_int_equal(found.model->objects.data[found.locks.locks.data[0].identity.object].id,
			 FUTEX_AT);
	assert_int_equal(found.locks.locks.data[0].waits, 6);
	assert_int_equal(found.locks.unclear.n, 4);
	free_locks(&found);
}

/* Each waits for a semaphore of its own: the place stands for the lock. A join is none. */
static void one_semaphore_for_each(void **state)
{
	struct program program = program__begin(true);
	uint32_t waits = USER(&program, "sem_wait", "LockSlot", "LWLockAcquire", "flush", "main");
	uint32_t posts = USER(&program, "sem_post", "LWLockRelease");
	uint32_t joins = USER(&program, "sem_wait", "LockSlot", "join");
	struct found_locks found;
	char name[256];

	program__threads(&program, 4);
	for (uint32_t i = 0; i < 6; i++)
		put_wait(&program, 1 + (i + 1) % 3, 1 + i % 3, (5 * i + 1) * MS, (5 * i + 11) * MS,
			 put_object(&program, OBJECT_FUTEX, FUTEX_AT + 64ULL * ((i + 1) % 3)),
			 waits, posts);
	/* For each of three threads a semaphore, which two wait for. */
	for (uint32_t i = 1; i <= 3; i++)
		for (uint32_t k = 0; k < 2; k++)
			put_wait(&program, k ? 4 : 1 + i % 3, i, (50 + 10 * i + k) * MS,
				 (59 + 10 * i) * MS,
				 put_object(&program, OBJECT_FUTEX, FUTEX_AT + 640 + 64ULL * i),
				 joins, posts);
	found = find_locks(&program);
	assert_int_equal(found.err, 0);
	assert_int_equal(found.locks.locks.n, 1);
	assert_int_equal(found.locks.locks.data[0].waits, 6);
	assert_int_equal(found.locks.locks.data[0].holders.n, 3);
	lock_identity__text(found.model, &found.locks.locks.data[0].identity, name, sizeof(name));
	/* No function is left out: these are not in a C library. */
	assert_string_equal(name, "locks of sem_wait <- LockSlot <- LWLockAcquire");
	assert_int_equal(found.locks.unclear.n, 6);
	free_locks(&found);
}

/* The last one of four lets the three others go on, each time another one. */
static void barriers_are_no_locks(void **state)
{
	struct program program = program__begin(true);
	uint32_t gate = put_object(&program, OBJECT_FUTEX, FUTEX_AT);
	uint32_t waits = USER(&program, "sem_wait", "meet");
	uint32_t posts = USER(&program, "sem_post", "meet");
	struct found_locks found;

	program__threads(&program, 4);
	for (uint32_t i = 0; i < 8; i++)
		for (uint32_t t = 1, n = 0; t <= 4; t++)
			if (t != 1 + i % 4)
				put_wait(&program, t, 1 + i % 4, (10 * i + t) * MS,
					 (10 * i + 9) * MS + 3000 * n++, gate, waits, posts);
	found = find_locks(&program);
	assert_int_equal(found.err, 0);
	assert_int_equal(found.locks.locks.n, 0);
	assert_int_equal(found.locks.unclear.n, 24);
	free_locks(&found);
}

/*
 * A takes and releases a lock while its waiters are woken, but not allowed to run: they did not let
 * it pass, and A is no gate keeper.
 */
static void stopped_waiters_did_not_run(void **state)
{
	struct program program = program__begin(true);
	uint32_t lock = put_object(&program, OBJECT_FUTEX, FUTEX_AT);
	uint32_t waits = USER(&program, "sem_wait", "use");
	uint32_t posts = USER(&program, "sem_post", "use");
	struct found_locks found;

	program__threads(&program, 3);
	/* Each waits for the next one, alone. */
	for (uint32_t i = 0; i < 3; i++)
		put_wait(&program, 1 + (i + 1) % 3, 1 + i, (1 + 2 * i) * MS, (2 + 2 * i) * MS, lock,
			 waits, posts);
	for (uint32_t i = 1; i < 9; i++) {
		uint64_t at = 10 * i * MS;

		put_wait(&program, 2, 1, at, at + 2 * MS, lock, waits, posts);
		put_wait(&program, 3, 1, at + MS, at + 4 * MS, lock, waits, posts);
		synthetic__interval(&program.made, BLOCKED(2, 0, at + 2 * MS, at + 5 * MS,
							   .class = CLASS_STOPPED, .syscall = -1));
	}
	found = find_locks(&program);
	assert_int_equal(found.err, 0);
	assert_int_equal(found.locks.locks.n, 1);
	assert_int_equal(found.locks.locks.data[0].waits, 19);
	free_locks(&found);
}

static void functions(void **state)
{
	static const struct {
		const char *name;
		enum futex_use use;
	} cases[] = {
		{"pthread_mutex_lock", FUTEX_USE_LOCK},
		{"___pthread_mutex_lock", FUTEX_USE_LOCK},
		{"__GI___pthread_mutex_unlock_usercnt", FUTEX_USE_LOCK},
		{"__pthread_mutex_cond_lock", FUTEX_USE_LOCK},
		{"__lll_lock_wait_private", FUTEX_USE_LOCK},
		{"pthread_rwlock_wrlock@@GLIBC_2.34", FUTEX_USE_LOCK},
		{"std::sys::sync::mutex::futex::Mutex::lock_contended", FUTEX_USE_LOCK},
		{"pthread_cond_timedwait", FUTEX_USE_CONDITION},
		{"__pthread_cond_wait_common", FUTEX_USE_CONDITION},
		{"__new_sem_wait_slow64.constprop.0", FUTEX_USE_SEMAPHORE},
		{"pthread_join", FUTEX_USE_OTHER},
		{"std::sys::sync::condvar::futex::Condvar::wait", FUTEX_USE_CONDITION},
		{"runtime.lock2", FUTEX_USE_LOCK},
		{"runtime.futexsleep", FUTEX_USE_UNKNOWN},
		{"my_pthread_mutex_lock", FUTEX_USE_UNKNOWN},
		{"", FUTEX_USE_UNKNOWN},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(futex_use__by_function(cases[i].name), cases[i].use);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holding_times),
		cmocka_unit_test(not_locks),
		cmocka_unit_test(locks_of_processes),
		cmocka_unit_test(locks_of_files),
		cmocka_unit_test(names_of_variables),
		cmocka_unit_test(samples_are_refused),
		cmocka_unit_test(functions),
		cmocka_unit_test(semaphores_by_behavior),
		cmocka_unit_test(one_semaphore_for_each),
		cmocka_unit_test(barriers_are_no_locks),
		cmocka_unit_test(stopped_waiters_did_not_run),
	};

	return cmocka_run_group_tests_name("locks", tests, NULL, NULL);
}
