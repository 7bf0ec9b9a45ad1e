/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks along a path: what a thread did in a window of time, and for each of its waits what the
 * thread did that ended it, recursively. Recursive Systemic Profiler, sections 4.1 and 5.2.
 *
 * Each level explains exactly the part of the wait above it, so that time is conserved: at any
 * instant of the window there is one pseudo-stack of threads, all blocked but the innermost. A
 * waker that was busy with something else before is shown with that, and cut where the wait began:
 * so triangles (A calls B calls C calls A) need no rule, and an unrelated wakeup cannot explain
 * more than the wait that it ended.
 *
 * A thread in the run queue waits for the threads that have the CPU. If such a thread works for the
 * path (a server that preempts the client which has just woken it), its time is on the path.
 * Otherwise the wait is run-queue time, and the tree shows below it what the other thread did.
 */
#pragma once

#include "analysis/kinds/idle.h"
#include "analysis/kinds/wait_causes.h"
#include "analysis/path/cpu_occupants.h"
#include "analysis/path/run_groups.h"

/* What the innermost thread of the pseudo-stack does. */
enum path_category {
	PATH_RUNNING = 0,      /* in functions that a sample or a preemption tells */
	PATH_ESTIMATED,	       /* running, in functions that samples of similar runs tell */
	PATH_NOT_SAMPLED,      /* running; neither it nor similar runs were sampled */
	PATH_MEMORY,	       /* running, in functions seen that reclaim or compact memory */
	PATH_MEMORY_ESTIMATED, /* the same in functions that samples of similar runs tell */
	PATH_DISK_ACTIVE,      /* waits for a request that the device works on */
	PATH_DISK_QUEUED,      /* waits for a request that was not issued yet */
	PATH_STOPPED,	       /* is not allowed to run */
	PATH_TCP,	       /* waits for what TCP held back, or sent again */
	PATH_RUN_QUEUE,	       /* was woken, and waits for a CPU that another thread has */
	PATH_PREEMPTED,	       /* the same of a CPU that it had to leave */
	PATH_CPU_IDLE,	       /* could run, and the CPU that it will get is idle: it wakes up */
	PATH_SLEEP,	       /* sleeps on purpose */
	PATH_TIMEOUT,	       /* waits for something that did not come in time */
	PATH_PEER,	       /* waits for the other end of a connection, which was not recorded */
	PATH_INTERRUPT,	       /* waits for another interrupt: of which, is not known */
	PATH_DELIVERY,	       /* a wakeup or message of a thread further out is under way */
	PATH_IDLE,	       /* the base waits for work */
	PATH_OTHER_PATH,   /* waits for a thread further out, which waits itself, or is not followed
			    */
	PATH_NOT_RECORDED, /* waits for a thread that was not recorded (yet) */
	PATH_GAP,	   /* events were lost */
	PATH_UNKNOWN,
	PATH_CATEGORY_COUNT,
};

/* Why a level is there. */
enum path_relation {
	PATH_AWAITED = 0,   /* it ends the wait of the level above; or it is the base */
	PATH_HAS_CPU = 1,   /* it has the CPU that the level above waits for */
	PATH_SAME_PATH = 2, /* the same, and it works for a thread of the pseudo-stack */
};

/* One level of the pseudo-stack: @thread in [@from, @until). */
struct path_level {
	uint32_t thread;
	enum path_relation relation;
	uint32_t depth; /* 0: the base */
	uint64_t from;
	uint64_t until;
	uint32_t waiter;   /* depth > 0: the thread that waits for it, in its */
	uint32_t interval; /* interval of this number */
};

/* The innermost level in [@from, @until), which is not empty. */
struct path_step {
	uint32_t thread;
	enum path_category category;
	/*
	 * What the thread does: the same, but RUNNING or ESTIMATED for MEMORY and MEMORY_ESTIMATED,
	 * and in a level that HAS_CPU, which waits in @category.
	 */
	enum path_category doing;
	uint64_t from;
	uint64_t until;
	uint32_t interval; /* 1 + number of the interval that it lies in; of a run, that ends it */
	uint32_t sample;   /* RUNNING: 1 + number of the sample; 0: the interval has the stack */
	uint32_t group;	   /* RUNNING, ESTIMATED: of the run, see run_groups.h; 0: none */
	/*
	 * DISK: device; TCP: object; PEER, STOPPED: string; DELIVERY, OTHER_PATH, NOT_RECORDED:
	 * thread; RUN_QUEUE, PREEMPTED: the thread that has the CPU, which is not recorded, 0:
	 * unknown; in a level that HAS_CPU its thread.
	 */
	uint32_t id;
};

/* All return 0 or -errno, which ends the walk. Any may be NULL. */
struct path_visitor {
	int (*enter)(void *context, const struct path_level *level);
	int (*step)(void *context, const struct path_step *step);
	int (*leave)(void *context, const struct path_level *level);
	void *context;
};

struct path_walk {
	const struct model *model;
	const struct wait_causes *causes;
	struct kinds *kinds;	       /* NULL: nothing is MEMORY */
	const struct idle_waits *idle; /* of the base; NULL: no wait is idle */
	struct run_groups *runs;       /* NULL: nothing is ESTIMATED */
	struct cpu_occupants *cpus;    /* NULL: who has a CPU is unknown */
	/* Runs between timeouts of one de facto wait, and deliveries, are shorter, ns. */
	uint64_t slack_ns;
	/* Levels below this one are not entered: what they do is UNKNOWN; of 0, OTHER_PATH. */
	uint32_t max_depth;
};

/*
 * A bound for what passes between a wakeup and the run that it causes, from the run-queue times of
 * @model. (The paper has a constant of 100 us.)
 */
uint64_t path__slack(const struct model *model);

/*
 * Walks along the path of @thread in [@from, @until), in the order of time. The lengths of all
 * steps add up to that of the window, at each level. Returns 0, -ENOMEM or what a visitor returned.
 */
int path__walk(const struct path_walk *walk, uint32_t thread, uint64_t from, uint64_t until,
	       const struct path_visitor *visitor);

/* "running", "disk_active", ...: in JSON. */
const char *path_category__name(enum path_category category);

/* Whether time of the category counts as accounted for. */
bool path_category__is_accounted(enum path_category category);
