/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a translator (translate.h), private to collect/record/translate*.c. */
#pragma once

#include "base/array.h"
#include "base/hash.h"
#include "collect/record/objects.h"
#include "collect/record/translate.h"

struct known_thread {
	uint32_t tgid;
	bool announced;		      /* as a target */
	bool exited;		      /* or is exiting */
	bool has_totals;	      /* final ones */
	uint64_t last;		      /* when it was last seen to run or to wait */
	struct event_totals *exiting; /* provisional ones; NULL: none, or replaced by final ones */
};

struct translator {
	struct recording_writer *writer;
	uint64_t events;
	ARRAY(struct known_thread) threads; /* by number */
	ARRAY(uint32_t) dsos;		    /* number in the recording, by number of the origin */
	struct map64 tids;		    /* tid -> the last recorded thread that had it */
	struct objects objects;
	uint64_t lost_calls;		    /* of unknown threads */
	const struct span_sources *sources; /* NULL: none */
	uint64_t spans[CAPTURE_LISTENERS];  /* that ended, by source */
};

/* For translator__event(). */
void translator__probed_call(struct translator *translator, const struct event_call *call);
