/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Idle waits: a thread that waits for work is not blocked by anything. Decides for every blocked
 * interval whether it is one. The first of these rules that applies decides:
 *
 * 1. A kernel thread that waits for work is idle.
 * 2. Waits for an operation (disk, reply, child, page, ...) and for a lock are not idle. Locks,
 * joins and the like of the C library are known by the names of its functions.
 * 3. A wait is not idle if, for at least half of it, another thread waits for the waiter, in a wait
 *    that is not idle itself. (Waits for the end of a thread or a child make only sleeps not idle.)
 * 4. Waits for requests (epoll, accept, the server's end of a connection, ...) are idle; for the
 * client's end, they are for a reply. The main thread of the command that was recorded polls for
 * replies, too, unless it polls the server's end. A wait in epoll, poll or select that another
 * thread ended itself (by a signal, an eventfd, a pipe; not with a request) is for that thread if
 * the waiter gets its requests at another place: it is in the middle of one. So are waits at that
 * place that a timer ended. Where requests arrive, too, the waiter could take one meanwhile: it is
 * idle if a thread of its own process ended the wait; if one of another process did, and in threads
 * without any requests, rule 5 decides.
 * 5. Waits for other threads (futex, pipe, eventfd, ...) are idle in threads that are given work by
 *    the thread that created them, or by the command's main thread. Others are followed: a thread
 *    waits for the one that will wake it, which may be blocked, too. If the last one of the chain
 *    runs, or waits for an operation, something is being done that the thread waits for; if it is
 *    idle, or outside of the recording, the thread is idle. The main thread of the command that
 *    was recorded waits for results. Waits that end by a timeout are idle, except for a lock with a
 *    timeout: threads that end each other's waits, and run. A thread that hardly does anything but
 *    wait there is idle. For completions of io_uring and AIO, only a thread that does nothing else
 *    waits for work. Workers of known schedulers of tasks are idle, by name, in waits for other
 *    threads and in sleeps, unless they are the main thread that rule 5 excludes.
 * 6. Sleeps are idle in threads that do nothing but sleep at one place and then work for
 * themselves: they seldom end waits of others. Not in the main thread of the command that was
 * recorded, and not in a thread whose end another one waits for (idle_joins.h), in whatever order
 * it waits for several.
 *
 * A wait that another thread ended by a signal is not idle: the waiter goes on with something else.
 * Other names of functions decide only where behavior leaves two answers.
 */
#pragma once

#include "analysis/kinds/kinds.h"

enum idle_reason {
	IDLE_NOT = 0,
	IDLE_KERNEL_THREAD = 1,
	IDLE_REQUESTS = 2,
	IDLE_QUEUE = 3,
	IDLE_INTERVALS = 4,
	IDLE_REASON_COUNT,
};

/* "no", "kernel", "requests", "queue", "intervals". */
const char *idle_reason__name(enum idle_reason reason);

/* "waits for requests", ...: what a thread does that is idle for the reason. */
const char *idle_reason__text(enum idle_reason reason);

struct idle_waits;

/* Returns 0 or -ENOMEM. @model is needed as long as reasons are asked for. */
int idle_waits__new(const struct model *model, struct kinds *kinds, struct idle_waits **out);
void idle_waits__free(struct idle_waits *idle);

/*
 * Why the blocked part of interval number @interval of thread @thread is idle, or IDLE_NOT. Its
 * run-queue time is never idle.
 */
enum idle_reason idle_waits__reason(const struct idle_waits *idle, uint32_t thread,
				    size_t interval);

DEFINE_CLEANUP(struct idle_waits *, idle_waits__free)
#define _cleanup_idle_waits_ _cleanup_(idle_waits__freep)
