/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cause of a wait: the thread that ended it, or, if an interrupt did, the origin of the
 * interrupt: a block device, a peer on the network, a timer. (wPerf, OSDI'18, sections 3.3 and
 * 4.1, has one vertex for each type of interrupt.)
 */
#pragma once

#include "analysis/kinds/kinds.h"
#include "analysis/own_strings.h"

enum cause_type {
	CAUSE_THREAD = 0,
	CAUSE_DEVICE,
	CAUSE_PEER, /* the other end of a connection, or the network if that is unknown */
	CAUSE_TIMER,
	CAUSE_LIMIT,	  /* what did not allow it to run: a quota, a freezer, a signal */
	CAUSE_TCP,	  /* TCP itself: it held back what was waited for, or sent it again */
	CAUSE_QUEUE,	  /* the queue of a network device, in which there is too much */
	CAUSE_INTERRUPT,  /* another interrupt */
	CAUSE_UNKNOWN,	  /* the wakeup was not seen */
	CAUSE_UNFINISHED, /* none yet: the recording ended during the wait */
	CAUSE_TYPE_COUNT,
};

/* "thread", "device", "peer", ...; of CAUSE_UNFINISHED "end". */
const char *cause_type__name(enum cause_type type);

struct wait_cause {
	enum cause_type type;
	uint32_t id; /* THREAD, DEVICE: index in the model; PEER, LIMIT, TCP, QUEUE: string; else 0
		      */
};

/* How a wait in epoll, poll or select ended. */
enum wait_end {
	WAIT_END_OTHER = 0,   /* a timer, a reply, or it is not known */
	WAIT_END_REQUEST = 1, /* a socket became ready, not known to be a client's end */
	WAIT_END_THREAD = 2,  /* another thread of the process ended it itself, see below */
	WAIT_END_PROCESS = 3, /* likewise, a thread of another process */
};

/* Tables of one model: hints by stack, and sockets by address. */
struct wait_causes;

/* For the model of @strings, to which names of peers are added. Returns 0 or -ENOMEM. */
int wait_causes__new(struct own_strings *strings, struct kinds *kinds, struct wait_causes **out);
void wait_causes__free(struct wait_causes *causes);

/* The cause of @interval, of the thread with index @thread. Its blocked_ns is not 0. */
struct wait_cause wait_causes__of(const struct wait_causes *causes, uint32_t thread,
				  const struct model_interval *interval);

/* The cause of what TCP held back: of the waits of that kind. */
struct wait_cause wait_causes__of_hold(const struct wait_causes *causes,
				       const struct model_hold *hold);

/* The other end of a connection, not recorded. */
struct wait_peer {
	uint32_t name;	  /* string: that of the local process, or its address; 0: there is none */
	uint32_t pid;	  /* of the local process; 0: it is not known to be local */
	uint32_t address; /* string; 0: not known */
};

/*
 * The peer that a wait of @interval, of @thread, for @cause was for. None if who ended the wait was
 * recorded or ended it by a signal, if it was no wait at a connected socket, and if the other end
 * is not known.
 */
struct wait_peer wait_causes__peer(const struct wait_causes *causes, uint32_t thread,
				   const struct model_interval *interval, struct wait_cause cause);

/* The peer that does not read, of what TCP held back of a thread; none if it was recorded. */
struct wait_peer wait_causes__peer_of_hold(const struct wait_causes *causes, uint32_t thread,
					   const struct model_hold *hold);

/*
 * As wait_causes__of(), but of the time in which TCP held nothing back: who wrote what it waited
 * for.
 */
struct wait_cause wait_causes__beside_holds(const struct wait_causes *causes, uint32_t thread,
					    const struct model_interval *interval);

/*
 * How @interval, of @thread, ended, if it is a wait in epoll, poll or select: @kind; of others
 * WAIT_END_OTHER. A thread ends it itself by a signal, an eventfd, a pipe, or a Unix socket that
 * neither listened nor connected (socketpair()).
 */
enum wait_end wait_causes__end(const struct wait_causes *causes, uint32_t thread,
			       const struct model_interval *interval, enum wait_kind kind);

/* Whether a signal of another thread ended it, by the waker's stack. */
bool wait_causes__is_signaled(const struct wait_causes *causes, uint32_t thread,
			      const struct model_interval *interval);

/*
 * Whether the thread was not allowed to run in @interval's blocked part, by a limit or a signal: it
 * waited for no other thread, and the end of the wait gave it no work. False for ptrace stops:
 * in these, the thread waits for the tracer to do something.
 */
bool wait_causes__is_limit(const struct model *model, const struct model_interval *interval);

/* The kind of wait that @interval is, and that of the time in which TCP held nothing back. */
enum wait_kind wait_causes__kind(const struct wait_causes *causes,
				 const struct model_interval *interval);
enum wait_kind wait_causes__kind_beside_holds(const struct wait_causes *causes,
					      const struct model_interval *interval);

DEFINE_CLEANUP(struct wait_causes *, wait_causes__free)
#define _cleanup_wait_causes_ _cleanup_(wait_causes__freep)
