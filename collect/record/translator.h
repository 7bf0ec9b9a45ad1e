/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a translator (translate.h), private to collect/record/translate*.c. */
#pragma once

#include "base/aging_map.h"
#include "base/leaving_map.h"
#include "collect/record/addresses.h"
#include "collect/record/objects.h"
#include "collect/record/socket_owners.h"
#include "collect/record/translate.h"

struct known_thread {
	uint32_t number;
	uint32_t tid; /* 0: it was not announced */
	uint32_t tgid;
	bool announced;		      /* as a target */
	bool exited;		      /* or is exiting */
	bool has_totals;	      /* final ones */
	uint64_t last;		      /* when it was last seen to run or to wait */
	struct event_totals *exiting; /* provisional ones; NULL: none, or replaced by final ones */
};

struct translator {
	struct record_stream *stream;
	uint64_t events;
	struct leaving_map threads; /* number -> struct known_thread * */
	uint64_t last_exit;	    /* of targets that are not in threads any more; 0: none */
	bool missed_exit;	    /* of one of them it is not known */
	struct map64 dsos;	    /* number of the origin -> number in the recording */
	size_t dsos_checked;	    /* how many remained at translator__forget_origins() */
	struct map64 tids;	    /* tid -> the last recorded thread that had it */
	struct objects objects;
	struct socket_owners owners;
	struct addresses *addresses;	    /* NULL: there will be no names */
	uint64_t lost_calls;		    /* of unknown threads */
	const struct span_sources *sources; /* NULL: none */
	uint64_t spans[CAPTURE_LISTENERS];  /* that ended, by source */
};

/* Thread @number, added if it is new. NULL without memory. Valid during an event. */
struct known_thread *translator__thread(struct translator *translator, uint32_t number);

/* The same, NULL if it is not known. */
struct known_thread *translator__find_thread(const struct translator *translator, uint32_t number);

/*
 * Thread @number has ended. It is forgotten when some thousand others have ended after it: events
 * of different CPUs are not in order.
 */
void translator__thread_ended(struct translator *translator, uint32_t number);

void translator__free_threads(struct translator *translator);

/* In translate_stops.c: writes @record, of @event; two where the thread was woken and stopped then.
 */
void translator__put_interval(struct translator *translator, const struct event_interval *event,
			      struct record *record);

/* In translate.c: */
void translator__put_totals(struct translator *translator, const struct event_totals *event);

/* Notes who had which stacks, for their names; nothing without addresses. */
void translator__refer(struct translator *translator, const struct stack_user *user, uint64_t hash,
		       bool exact);
void translator__frames(struct translator *translator, const struct stack_user *user, uint64_t hash,
			const struct record_stack *stack);

/* The string of a name, and the number of an object of @thread's process. */
uint32_t translator__comm(struct translator *translator, const char comm[DWELL_COMM_SIZE]);
uint32_t translator__object(struct translator *translator, uint32_t thread,
			    const struct event_object *object);

/* For translator__event(). */
void translator__segment(struct translator *translator, const struct event_segment *event);
void translator__probed_call(struct translator *translator, const struct event_call *call);
