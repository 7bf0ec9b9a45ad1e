/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans: the kernel side's state of connections, and the cookies of uprobes. */
#pragma once

#include "abi/event.h"

/* A connection to a server whose requests are observed. */
struct connection {
	__u64 socket; /* its inode number; 0: not accepted yet. Addresses are used again. */
	__u64 unread; /* when the first byte came that may not have been read; 0: none */
	/* Of the request, if begun is not 0: */
	__u64 arrived;
	__u64 begun;
	__u64 ended; /* 0: nothing was sent yet */
	__u32 begun_by;
	__u32 ended_by;
	__u32 source;		    /* 0: of no listener */
	__u32 sending;		    /* thread that began to send and has not finished; 0: none */
	__u64 answers;		    /* the start of the request that it answers */
	__u32 read_by;		    /* thread that read from it last, */
	__u32 read_turn;	    /* and its turn then, see bpf/core/pushes.bpf.h */
	__u32 pushed_by;	    /* thread that pushed to it last, */
	__u32 push_turn;	    /* and its turn then */
	__u32 handed_on;	    /* what was read last */
	__u32 pushed;		    /* since the request began: what is read next begins another */
	struct event_object object; /* a closed socket has no port any more */
};

/* The cookies of the uprobes that begin and end spans. */

#define SPAN_COOKIE_FUNCTION	   1ULL /* entry and return of a function, not two probes */
#define SPAN_COOKIE(source, flags) ((__u64)(source) << 1 | (flags))
#define SPAN_COOKIE_SOURCE(cookie) ((__u32)((cookie) >> 1))
