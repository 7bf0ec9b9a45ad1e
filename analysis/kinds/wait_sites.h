/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wait sites. A place is the waits of one process in the same function, called by the same
 * functions, for the same kind of event; a site is those of a place on the same side of a
 * connection that ended in the same way (enum wait_end). Threads of a pool share a site. For idle
 * waits (analysis/kinds/idle.h).
 */
#pragma once

#include "analysis/kinds/wait_causes.h"

/* What the C library's function in which a thread waits says about the wait. */
enum wait_call {
	WAIT_CALL_UNKNOWN = 0,
	WAIT_CALL_LOCK = 1, /* a mutex, a read-write lock, a barrier, a once-only initialization */
	WAIT_CALL_JOIN = 2, /* the end of another thread */
};

struct wait_site {
	uint32_t process;
	enum wait_kind kind;
	uint64_t stack; /* hash of the user stack's functions; of the thread, if they are unknown */
	enum socket_side side; /* of the waiter's end of the connection */
	enum wait_end end;     /* WAIT_END_THREAD, WAIT_END_PROCESS; of all others WAIT_END_OTHER */

	uint32_t thread; /* one of those that wait there, */
	uint32_t user;	 /* and its stacks */
	uint32_t kernel;
	uint32_t n_threads;
	bool has_main; /* one of them is the main thread of the command that was recorded */
	enum wait_call call;

	/* Blocked time, in ns; of some waits by who ended them. */
	uint64_t ns;	       /* of all waits */
	uint64_t timer_ns;     /* a timer */
	uint64_t outside_ns;   /* a device, a peer, an unrecorded thread, another interrupt */
	uint64_t member_ns;    /* another thread that waits at the site, too */
	uint64_t leader_ns;    /* else the waiter's creator, or the command's main thread */
	uint64_t child_ns;     /* a thread of a process that the waiter's process created */
	uint64_t all_waits_ns; /* of the threads that wait there, here and elsewhere */
	uint64_t n;	       /* number of waits at the site */
	uint64_t n_ended;    /* number of other threads' waits that its threads ended while alive */
	uint64_t running_ns; /* of the same threads, and */
	uint64_t lifetime_ns;	  /* how long they lived; 0: not known */
	uint64_t member_requests; /* number of waits of its threads, anywhere, for requests */

	uint32_t place; /* the first of the sites that differ only in their sides and ends; if it is
			   this one, of all of them: */
	uint64_t place_ns;
	uint64_t place_timer_ns;
	uint64_t place_requests; /* number of waits that ended with a request */
};

/* Whether waits at @site are for the end of another thread or process. */
static inline bool wait_site__is_for_end(const struct wait_site *site)
{
	return site->call == WAIT_CALL_JOIN || site->kind == KIND_CHILD;
}

/* Whether waits at @site are in epoll, poll or select. */
static inline bool wait_site__is_polled(const struct wait_site *site)
{
	return site->kind == KIND_EPOLL || site->kind == KIND_POLL || site->kind == KIND_SELECT;
}

/* A blocked interval. */
struct site_wait {
	uint32_t site;		/* 0: it was not blocked */
	uint32_t waker : 31;	/* thread that ended it; 0: none, or not known */
	uint32_t by_signal : 1; /* another thread's signal ended it; not in epoll, poll, select */
};

/* What waits at a site are. */
enum site_verdict {
	SITE_BUSY = 0, /* waits for an operation, a lock, a result */
	SITE_IDLE = 1, /* waits for work */
	SITE_ROOT = 2, /* for work if the root of the chain is idle, see idle_roots.h */
};

struct site_judgement {
	uint8_t verdict; /* enum site_verdict */
	uint8_t reason;	 /* enum idle_reason; why waits there are idle, or may be */
	bool is_sure;	 /* idle even if others wait for the thread: it has not been given work */
};

struct wait_sites {
	const struct model *model;
	uint32_t main_thread;	       /* of the command that was recorded; 0: none */
	ARRAY(struct wait_site) sites; /* [0] is unused */
	struct site_wait **waits;      /* by thread and interval; NULL: it has no interval */
};

/*
 * Finds the sites of all waits of @model. The caller has zeroed @out. Returns 0 or -ENOMEM; @out is
 * to be freed in any case.
 */
int wait_sites__find(const struct model *model, struct kinds *kinds, struct wait_sites *out);
void wait_sites__free(struct wait_sites *sites);

/*
 * Whether @waker created @waiter, or is the main thread of the command; of a thread that is older
 * than the recording, whether @waker is the main thread of its process.
 */
bool wait_sites__is_leader(const struct wait_sites *sites, uint32_t waiter, uint32_t waker);
