/* SPDX-License-Identifier: BSD-2-Clause */
/* The cases of `idle`, and what they are made of: threads, measured waits, computations. */
#pragma once

#include "tests/programs/common/program.h"

#include <semaphore.h>

struct idle_case {
	const char *name;
	void (*run)(void);
};

/* In queues.c, peers.c and joins.c; each ends with an entry without a name. */
extern const struct idle_case queue_cases[], peer_cases[], join_cases[];

extern uint64_t turns_per_ms; /* of BURN() */

/*
 * Starts a thread, named by @fmt, that calls @run. Threads begin when they can measure their
 * waits, not all at once.
 */
void thread__start(void (*run)(void), const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Of the calling thread: 0 for the first one started. */
int thread__number(void);

/* Waits until all threads have begun; then the time of the case begins. */
void threads__await_begin(void);

/* Waits until all threads have ended. */
void threads__join(void);

/* Up to the end of the case, in ns; 0: it is over. */
uint64_t time_left(void);

enum wait_type { NOT_IDLE, IDLE };

/*
 * The functions in which threads wait. Each calls @block(@arg), and adds the blocked time of the
 * calling thread to its waits of @type. They differ in nothing but their names. These, and those of
 * their callers, do not tell on purpose what is waited for.
 */
void lobby(enum wait_type type, void (*block)(void *arg), void *arg);
void rest(enum wait_type type, void (*block)(void *arg), void *arg);
void nap(enum wait_type type, void (*block)(void *arg), void *arg);
void pause_between(enum wait_type type, void (*block)(void *arg), void *arg);
void wait_for_work(enum wait_type type, void (*block)(void *arg), void *arg);
void gate(enum wait_type type, void (*block)(void *arg), void *arg);

struct condition {
	pthread_cond_t cond;
	pthread_mutex_t *mutex; /* held by the threads that wait */
};

struct futex_wait {
	uint32_t *word;
	uint32_t value; /* waits while the word has it */
};

/* Ways to block, once. @arg: condition, futex_wait, sem_t, pthread_mutex_t, uint64_t (ns). */
void by_cond(void *arg);
void by_futex(void *arg);
void by_sem(void *arg);
void by_mutex(void *arg);
void by_sleep(void *arg);

void futex_wake(uint32_t *word, int count);

/* A wait for @mutex is not idle. */
void lock_mutex(pthread_mutex_t *mutex);

/*
 * pthread_cond_signal() and pthread_cond_broadcast(). glibc blocks the caller while threads that
 * were woken before have not run yet. That is not idle.
 */
void wake_one(struct condition *condition);
void wake_all(struct condition *condition);

/* To be called now and then, before the buffers of the calling thread's log are full. */
void thread__read_log(void);

/* A function that computes for @us of CPU time, under its own name. */
#define COMPUTE(name)                                                                              \
	KEEP void name(uint64_t us)                                                                \
	{                                                                                          \
		uint64_t turns = us * turns_per_ms / 1000;                                         \
                                                                                                   \
		BURN(turns);                                                                       \
		thread__read_log();                                                                \
		NO_TAIL_CALL();                                                                    \
	}
