// SPDX-License-Identifier: BSD-2-Clause
/* Many writers of annotations at once: threads, children, signal handlers, killed ones. */
#include "tests/unit/annotations_support.h"

#include <sys/prctl.h>

#define THREADS	    4
#define EVENTS	    240000	       /* at least this many are written */
#define MOST_EVENTS (1000ull * EVENTS) /* a reader that comes to nothing ends here */

/*
 * A writer of the tests below. The fields of an event follow from its number and its
 * writer, so that a mixture of two events shows.
 */
struct writer {
	uint32_t id;
	struct dwell_stripe *stripe; /* NULL: as a program does, by its own tid */
	pthread_t thread;
	const bool *go;
	const bool *stop;
	uint64_t wrote;
	uint64_t tid;
	uint64_t next; /* number expected by the reader, at least */
};

static uint64_t address_of(uint64_t id, uint64_t number)
{
	return hash__add(id + 1, number);
}

static void *write_all(void *arg)
{
	struct writer *writer = arg;

	while (!__atomic_load_n(writer->go, __ATOMIC_ACQUIRE))
		sched_yield();
	for (; !__atomic_load_n(writer->stop, __ATOMIC_RELAXED); writer->wrote++) {
		uint64_t i = writer->wrote, number = (uint64_t)writer->id << 32 | i;
		uint64_t address = address_of(writer->id, i);

		if (writer->stripe)
			dwell_put(writer->stripe, i, writer->id, (uint32_t)address, address,
				  number);
		else
			dwell_annotate(DWELL_EVENT_SPIN_BEGIN, (void *)(uintptr_t)address,
				       (int64_t)number);
	}
	return NULL;
}

struct check {
	struct writer writers[THREADS];
	size_t torn;
	size_t disordered;
	size_t got;
};

static void check_event(void *context, const struct annotation *event)
{
	struct check *check = context;
	uint64_t id = event->value >> 32, number = event->value & UINT32_MAX;
	struct writer *writer = &check->writers[id % THREADS];
	bool good = id < THREADS && event->address == address_of(id, number);

	if (writer->stripe)
		good &= event->tid == id && event->time == number &&
			event->type == (uint32_t)event->address;
	else
		good &= event->type == DWELL_EVENT_SPIN_BEGIN &&
			(!writer->tid || writer->tid == event->tid);
	check->torn += !good;
	check->disordered += number < writer->next;
	check->got++;
	writer->tid = event->tid;
	writer->next = number + 1;
}

/*
 * Writers at full speed, and a reader that is late now and then. They go on until it has got
 * more than a ring: it may be kept from its CPU while they write.
 */
static void write_and_read(bool one_stripe)
{
	struct annotations *annotations = begin();
	struct dwell_area *area = attached();
	struct check check = {};
	bool go = false, stop = false;
	uint64_t wrote = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < THREADS; i++) {
		struct writer *writer = &check.writers[i];

		*writer = (struct writer){.id = i, .go = &go, .stop = &stop};
		writer->stripe = one_stripe ? &area->stripe[7] : NULL;
		pthread_create(&writer->thread, NULL, write_all, writer);
	}
	__atomic_store_n(&go, true, __ATOMIC_RELEASE);
	while (written(area) < EVENTS ||
	       (check.got <= DWELL_SLOTS && written(area) < MOST_EVENTS)) {
		if (++n % 64 == 0)
			usleep(2000);
		assert_int_equal(annotations__drain(annotations, false, check_event, &check), 0);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(check.writers[i].thread, NULL);
		wrote += check.writers[i].wrote;
	}
	assert_int_equal(annotations__drain(annotations, true, check_event, &check), 0);
	assert_int_equal(check.torn, 0);
	assert_int_equal(check.disordered, 0);
	assert_true(check.got > DWELL_SLOTS);
	assert_int_equal(check.got + annotations__lost(annotations), wrote);
	end(annotations);
}

static void every_event_comes_once_or_is_counted(void **state)
{
	write_and_read(false);
}

static void no_event_is_torn_where_writers_meet(void **state)
{
	write_and_read(true);
}

/* A child that writes to @stripe until it is killed. */
static pid_t fork_writer(struct dwell_stripe *stripe)
{
	bool go = true, stop = false;
	struct writer writer = {.stripe = stripe, .go = &go, .stop = &stop};
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test does not come to kill it */
	write_all(&writer);
	_exit(1);
}

/*
 * A reader that is always a round late begins with the slot that the writer is about to
 * overwrite, and runs beside it.
 */
static void no_event_is_torn_that_is_overwritten(void **state)
{
	uint64_t until = now_ns(CLOCK_MONOTONIC) + 300000000;
	struct annotations *annotations = begin();
	struct dwell_area *area = attached();
	struct check check = {.writers[0].stripe = &area->stripe[7]};
	pid_t pid = fork_writer(&area->stripe[7]);

	while (now_ns(CLOCK_MONOTONIC) < until) {
		usleep(100);
		assert_int_equal(annotations__drain(annotations, false, check_event, &check), 0);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(annotations__drain(annotations, true, check_event, &check), 0);
	assert_int_equal(check.torn, 0);
	assert_int_equal(check.got + annotations__lost(annotations), written(area));
	end(annotations);
}

static void on_signal(int number)
{
	DWELL_SPIN_BEGIN_FOR(NULL, number);
}

static void signal_handlers_may_annotate(void **state)
{
	struct annotations *annotations = begin();
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	const struct itimerval often = {{0, 50}, {0, 50}}, never = {};
	uint64_t until = now_ns(CLOCK_MONOTONIC) + 300000000;
	size_t own = 0, handled = 0;
	annotation_array events = {};

	/* The first annotation of the process may be a handler's. */
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (now_ns(CLOCK_MONOTONIC) < until) {
		for (int i = 0; i < DWELL_SLOTS / 4; i++, own++)
			DWELL_WOKEN_FOR_NOTHING();
		assert_int_equal(annotations__drain(annotations, false, keep, &events), 0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	assert_int_equal(annotations__drain(annotations, true, keep, &events), 0);
	for (size_t i = 0; i < events.n; i++) {
		handled += events.data[i].type == DWELL_EVENT_SPIN_BEGIN;
		assert_int_equal(events.data[i].tid, gettid());
	}
	assert_int_equal(annotations__lost(annotations), 0);
	assert_int_equal(events.n, written(attached()));
	assert_int_equal(events.n, own + handled);
	assert_true(handled > 0);
	array__free(&events);
	end(annotations);
}

static void *annotate_own_tid(void *unused)
{
	DWELL_SPIN_BEGIN_FOR(NULL, gettid());
	return NULL;
}

/* An event says the tid of its writer twice: as it is, and as the annotation has it. */
static void annotate_here_and_in_a_thread(bool thread_first)
{
	pthread_t thread;

	if (!thread_first)
		annotate_own_tid(NULL);
	pthread_create(&thread, NULL, annotate_own_tid, NULL);
	pthread_join(thread, NULL);
	annotate_own_tid(NULL);
}

/* A chain of children, each with the thread-local storage of its parent. */
static void fork_and_annotate(int depth)
{
	pid_t pid = depth ? fork() : -1;
	int status;

	if (!pid) {
		annotate_here_and_in_a_thread(depth % 2);
		fork_and_annotate(depth - 1);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
}

static void expect_own_tids(struct annotations *annotations, size_t n)
{
	annotation_array events = drain(annotations, true);

	assert_int_equal(events.n, n);
	for (size_t i = 0; i < events.n; i++)
		assert_int_equal(events.data[i].tid, events.data[i].value);
	assert_int_equal(annotations__lost(annotations), 0);
	array__free(&events);
}

static void children_have_their_own_tid(void **state)
{
	struct annotations *annotations = begin();

	fork_and_annotate(1); /* the child is the first */
	expect_own_tids(annotations, 2);
	annotate_here_and_in_a_thread(false);
	fork_and_annotate(4);
	annotate_here_and_in_a_thread(true);
	expect_own_tids(annotations, 3 + 2 + 3 + 2 + 3 + 2);
	end(annotations);
}

/* Kernels before 4.14 cannot clear a page in a child. */
static void tids_are_right_where_fork_clears_nothing(void **state)
{
	struct annotations *annotations = begin();
	struct dwell_process *process = dwell_process_of(attached());

	assert_int_equal(madvise((char *)attached() - DWELL_FRONT, DWELL_FRONT, MADV_KEEPONFORK),
			 0);
	process->not_cleared = 1;
	annotate_here_and_in_a_thread(false);
	fork_and_annotate(2);
	assert_int_equal(process->mark, 0);
	expect_own_tids(annotations, 3 + 3 + 2);
	end(annotations);
}

static void writers_may_be_killed(void **state)
{
	struct annotations *annotations = begin();
	struct dwell_area *area = attached();
	struct check check = {.writers[0].stripe = &area->stripe[7]};

	for (uint32_t i = 0; i < 40; i++) {
		uint64_t before = written(area);
		pid_t pid = fork_writer(&area->stripe[7]);

		for (int tries = 0; tries < 10000 && written(area) < before + 2; tries++)
			usleep(500 + i * 37);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		assert_int_equal(annotations__drain(annotations, i % 2, check_event, &check), 0);
	}
	assert_int_equal(annotations__drain(annotations, true, check_event, &check), 0);
	assert_int_equal(check.torn, 0);
	assert_true(check.got > 0);
	assert_int_equal(check.got + annotations__lost(annotations), written(area));
	end(annotations);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_comes_once_or_is_counted),
		cmocka_unit_test(no_event_is_torn_where_writers_meet),
		cmocka_unit_test(no_event_is_torn_that_is_overwritten),
		cmocka_unit_test(signal_handlers_may_annotate),
		cmocka_unit_test(children_have_their_own_tid),
		cmocka_unit_test(tids_are_right_where_fork_clears_nothing),
		cmocka_unit_test(writers_may_be_killed),
	};

	return cmocka_run_group_tests_name("annotations of many writers", tests, NULL, NULL);
}
