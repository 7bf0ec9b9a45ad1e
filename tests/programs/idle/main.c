/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small applications of which it is known in which waits a thread is idle: it waits for work, and
 * no other thread waits for it. This is stated above each case, in queues.c (cases with a queue of
 * tasks), peers.c (without one) and joins.c (main joins the others).
 *
 *   idle CASE [--seconds N] [--dir DIR]
 *
 * True by construction: a thread blocks only in the functions that cases.h declares, and their
 * callers say whether the wait is idle. Names of functions do not tell; some mislead. The main
 * thread waits for the others to begin, which takes some time before the N seconds, and to end: not
 * idle. Shares of time that a case states hold when no other process uses the CPUs.
 *
 * Truth, per thread: blocked time of its idle waits, and of all of its waits: wall time less
 * on-CPU time and run-queue time. A thread is named "starting" before its measurements, and main is
 * named "ending" after them. Children at idle priority keep the CPUs from going idle. DIR is
 * accepted, as by programs whose cases create files.
 */
#include "tests/programs/idle/cases.h"

#include "tests/programs/common/keep_cpus_busy.h"
#include "tests/programs/common/switch_log.h"

#include <getopt.h>
#include <linux/futex.h>
#include <stdarg.h>

#define THREADS_MAX 16

struct thread {
	char name[16];
	void (*run)(void);
	pthread_t id;
	pid_t tid;
	struct phase_times waits[2]; /* by enum wait_type */
};

static struct {
	struct thread main;
	struct thread others[THREADS_MAX];
	int count; /* of the others */
	sem_t begun;
	uint64_t deadline; /* wall_ns() */
} threads = {
	.deadline = UINT64_MAX,
};

static uint64_t seconds = 3;
uint64_t turns_per_ms;

static __thread struct thread *self;
static __thread struct switch_log own_log;

/*
 * switch_log__measure_switch() is not needed: how long a switch takes does not change blocked
 * time. To open the log may block, which is not measured: the thread has another name meanwhile.
 */
static void thread_begin(struct thread *thread)
{
	self = thread;
	thread->tid = thread_id();
	set_name("starting");
	switch_log__open(&own_log);
	set_name(thread->name);
	thread__read_log();
}

void thread__read_log(void)
{
	switch_log__read(&own_log);
}

/* Leaves the log open: to close it may block. */
static void *run_thread(void *arg)
{
	struct thread *thread = arg;

	thread_begin(thread);
	sem_post(&threads.begun);
	thread->run();
	return NULL;
}

void thread__start(void (*run)(void), const char *fmt, ...)
{
	struct thread *thread = &threads.others[threads.count];
	va_list args;

	if (threads.count == THREADS_MAX) {
		errno = E2BIG;
		die("threads");
	}
	threads.count++;
	va_start(args, fmt);
	vsnprintf(thread->name, sizeof(thread->name), fmt, args);
	va_end(args);
	thread->run = run;
	thread->id = start_thread(run_thread, thread);
}

int thread__number(void)
{
	return self - threads.others;
}

void threads__await_begin(void)
{
	for (int i = 0; i < threads.count; i++)
		gate(NOT_IDLE, by_sem, &threads.begun);
	__atomic_store_n(&threads.deadline, wall_ns() + seconds * NS_PER_S, __ATOMIC_RELAXED);
}

KEEP void by_join(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	NO_TAIL_CALL();
}

void threads__join(void)
{
	for (int i = 0; i < threads.count; i++)
		gate(NOT_IDLE, by_join, &threads.others[i].id);
}

uint64_t time_left(void)
{
	uint64_t deadline = __atomic_load_n(&threads.deadline, __ATOMIC_RELAXED), now = wall_ns();

	return now < deadline ? deadline - now : 0;
}

#define PLACE(name)                                                                                \
	SEPARATE void name(enum wait_type type, void (*block)(void *arg), void *arg)               \
	{                                                                                          \
		struct thread_times begin = thread_times__now(&own_log), end;                      \
                                                                                                   \
		block(arg);                                                                        \
		end = thread_times__now(&own_log);                                                 \
		phase_times__add(&self->waits[type], &begin, &end);                                \
	}

PLACE(lobby)
PLACE(rest)
PLACE(nap)
PLACE(pause_between)
PLACE(wait_for_work)
PLACE(gate)

SEPARATE void by_cond(void *arg)
{
	struct condition *condition = arg;

	pthread_cond_wait(&condition->cond, condition->mutex);
	NO_TAIL_CALL();
}

SEPARATE void by_futex(void *arg)
{
	const struct futex_wait *wait = arg;

	syscall(SYS_futex, wait->word, FUTEX_WAIT_PRIVATE, wait->value, NULL, NULL, 0);
	NO_TAIL_CALL();
}

SEPARATE void by_sem(void *arg)
{
	while (sem_wait(arg))
		;
	NO_TAIL_CALL();
}

SEPARATE void by_mutex(void *arg)
{
	pthread_mutex_lock(arg);
	NO_TAIL_CALL();
}

SEPARATE void by_sleep(void *arg)
{
	sleep_ns(*(uint64_t *)arg);
	NO_TAIL_CALL();
}

void futex_wake(uint32_t *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

SEPARATE void lock_mutex(pthread_mutex_t *mutex)
{
	if (pthread_mutex_trylock(mutex))
		gate(NOT_IDLE, by_mutex, mutex);
	NO_TAIL_CALL();
}

KEEP void by_signal(void *arg)
{
	pthread_cond_signal(arg);
	NO_TAIL_CALL();
}

KEEP void by_broadcast(void *arg)
{
	pthread_cond_broadcast(arg);
	NO_TAIL_CALL();
}

SEPARATE void wake_one(struct condition *condition)
{
	gate(NOT_IDLE, by_signal, &condition->cond);
	NO_TAIL_CALL();
}

SEPARATE void wake_all(struct condition *condition)
{
	gate(NOT_IDLE, by_broadcast, &condition->cond);
	NO_TAIL_CALL();
}

static void print_thread(const struct thread *thread, const char *comma)
{
	uint64_t idle = phase_times__blocked(&thread->waits[IDLE]);
	uint64_t not_idle = phase_times__blocked(&thread->waits[NOT_IDLE]);

	printf("%s\"%s\":{\"tid\":%d,\"idle_ns\":%" PRIu64 ",\"blocked_ns\":%" PRIu64 "}", comma,
	       thread->name, thread->tid, idle, idle + not_idle);
}

static void print_truth(const char *name)
{
	printf("{\"case\":\"%s\",\"seconds\":%" PRIu64 ",\"threads\":{", name, seconds);
	print_thread(&threads.main, "");
	for (int i = 0; i < threads.count; i++)
		print_thread(&threads.others[i], ",");
	printf("}}\n");
}

static const struct idle_case *const groups[] = {queue_cases, peer_cases, join_cases};
#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static void __attribute__((noreturn)) usage(void)
{
	fprintf(stderr, "usage: idle CASE [--seconds N] [--dir DIR]\nwith one of these cases:\n");
	for (size_t i = 0; i < GROUPS; i++)
		for (const struct idle_case *one = groups[i]; one->name; one++)
			fprintf(stderr, "  %s\n", one->name);
	exit(2);
}

static const struct idle_case *parse(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"seconds", required_argument, NULL, 's'},
		{"dir", required_argument, NULL, 'd'},
		{},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (opt == 's')
			seconds = strtoull(optarg, NULL, 10);
		else if (opt != 'd')
			usage();
	}
	if (optind + 1 == argc)
		for (size_t i = 0; i < GROUPS; i++)
			for (const struct idle_case *one = groups[i]; one->name; one++)
				if (!strcmp(argv[optind], one->name))
					return one;
	usage();
}

int main(int argc, char **argv)
{
	const struct idle_case *chosen = parse(argc, argv);
	struct busy_cpus busy = {};

	turns_per_ms = loops_per_ms();
	busy_cpus__start(&busy);
	sem_init(&threads.begun, 0, 0);
	snprintf(threads.main.name, sizeof(threads.main.name), "main");
	thread_begin(&threads.main);
	chosen->run();
	threads__join();
	busy_cpus__stop(&busy);
	print_truth(chosen->name);
	return 0;
}
