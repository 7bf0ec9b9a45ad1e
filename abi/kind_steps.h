/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Which kind a wait is of: the decision, compiled by the kernel side (for virtual speedups of
 * a kind, bpf/causal/) and by user space (for recordings, analysis/kinds/).
 *
 * Evidence is, in this order: functions on the kernel stack, the system call, the class of
 * the wait, and the file or socket behind the descriptor that the system call was given.
 *
 *	struct kind_evidence evidence = {};
 *
 *	for each frame of the kernel stack, the innermost first:
 *		for each clue that the frame's function gives:
 *			kind_evidence__add(&evidence, &clue);
 *	kind = kind__decide(&evidence, &wait);
 *
 * Each step is bounded and takes plain values, so that the verifier accepts it as the body
 * of a bpf_loop(). Tables of functions and system calls are analysis/kinds/kind_clues.c; the
 * kernel side is given them with addresses.
 */
#pragma once

#include "abi/event.h"
#include "abi/wait_kind.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* How a function on the kernel stack bears on the kind. */
enum kind_strength {
	/* Holds when no function farther out says more. */
	KIND_WEAK = 1,
	/* Decides; the innermost one wins. */
	KIND_STRONG = 2,
	/* Says more about a wait of the kind `over`, wherever the function stands. */
	KIND_REFINES = 3,
	/* A write is under way: what reads as KIND_DISK_READ is KIND_DISK_WRITE. */
	KIND_WRITING = 4,
};

struct kind_clue {
	__u8 kind;     /* enum wait_kind */
	__u8 strength; /* enum kind_strength */
	__u8 over;     /* KIND_REFINES: enum wait_kind */
	__u8 reserved;
};

/* A function of the running kernel that gives a clue. Those of one function are adjacent. */
struct kind_range {
	__u64 start;
	__u64 end; /* not included */
	struct kind_clue clue;
	__u32 reserved;
};

#define KIND_RANGES_MAX		2048 /* that the kernel side has room for, a power of two */
#define KIND_RANGE_STEPS	12   /* of a binary search in that many */
#define KIND_CLUES_PER_FUNCTION 4    /* that one function gives, at most */

/* What the kernel stack says so far, from the innermost frame outwards. */
struct kind_evidence {
	__u8 kind;     /* enum wait_kind */
	__u8 strength; /* of it: 0, KIND_WEAK or KIND_STRONG */
	__u8 writing;
};

/* What else is known of a wait. */
struct kind_wait {
	__u8 class;	/* enum wait_class, of the blocked part */
	__u8 call;	/* kind that waits in this system call are of by default */
	__u16 flags;	/* enum interval_flags; with CLASS_SCHED they say why */
	__u8 object;	/* enum object_type; OBJECT_NONE: not known */
	__u32 family;	/* OBJECT_SOCKET: AF_* */
	__u32 protocol; /* OBJECT_SOCKET: IPPROTO_* */
	__u32 mode;	/* OBJECT_FILE: i_mode */
};

/* From <sys/socket.h>, <netinet/in.h> and <sys/stat.h>, which the kernel side cannot include. */
enum {
	KIND_AF_UNIX = 1,
	KIND_AF_INET = 2,
	KIND_AF_INET6 = 10,
	KIND_IPPROTO_TCP = 6,
	KIND_IPPROTO_UDP = 17,
	KIND_S_IFMT = 0170000,
	KIND_S_IFIFO = 0010000,
};

static __always_inline void kind_evidence__add(struct kind_evidence *evidence,
					       const struct kind_clue *clue)
{
	if (clue->strength == KIND_WRITING) {
		evidence->writing = 1;
	} else if (clue->strength == KIND_REFINES) {
		if (evidence->kind == clue->over)
			evidence->kind = clue->kind;
	} else if (clue->strength > evidence->strength) {
		evidence->kind = clue->kind;
		evidence->strength = clue->strength;
	}
}

static __always_inline __u32 kind__of_tcp(__u32 kind)
{
	switch (kind) {
	case KIND_SOCKET_RECEIVE:
		return KIND_TCP_RECEIVE;
	case KIND_SOCKET_SEND:
		return KIND_TCP_SEND;
	case KIND_SOCKET_ACCEPT:
		return KIND_TCP_ACCEPT;
	case KIND_SOCKET_CONNECT:
		return KIND_TCP_CONNECT;
	default:
		return kind;
	}
}

static __always_inline __u32 kind__of_udp(__u32 kind)
{
	switch (kind) {
	case KIND_SOCKET_RECEIVE:
		return KIND_UDP_RECEIVE;
	case KIND_SOCKET_SEND:
		return KIND_UDP_SEND;
	default:
		return kind;
	}
}

static __always_inline __u32 kind__of_unix(__u32 kind)
{
	switch (kind) {
	case KIND_SOCKET_RECEIVE:
		return KIND_UNIX_RECEIVE;
	case KIND_SOCKET_SEND:
		return KIND_UNIX_SEND;
	case KIND_SOCKET_ACCEPT:
		return KIND_UNIX_ACCEPT;
	case KIND_SOCKET_CONNECT:
		return KIND_UNIX_CONNECT;
	default:
		return kind;
	}
}

/* "socket receive" of a socket whose family is known is "tcp receive", say. */
static __always_inline __u32 kind__of_socket(__u32 kind, const struct kind_wait *wait)
{
	if (wait->object != OBJECT_SOCKET)
		return kind;
	if (wait->family == KIND_AF_UNIX)
		return kind__of_unix(kind);
	if (wait->family != KIND_AF_INET && wait->family != KIND_AF_INET6)
		return kind;
	if (wait->protocol == KIND_IPPROTO_TCP)
		return kind__of_tcp(kind);
	if (wait->protocol == KIND_IPPROTO_UDP)
		return kind__of_udp(kind);
	return kind;
}

/* By the system call. read() and write() wait for whatever their descriptor is. */
static __always_inline __u32 kind__of_call(const struct kind_wait *wait)
{
	__u32 write = wait->call == KIND_DISK_WRITE;

	if (wait->call != KIND_DISK_READ && !write)
		return wait->call;
	if (wait->object == OBJECT_SOCKET)
		return write ? KIND_SOCKET_SEND : KIND_SOCKET_RECEIVE;
	if (wait->object == OBJECT_FILE && (wait->mode & KIND_S_IFMT) == KIND_S_IFIFO)
		return write ? KIND_PIPE_WRITE : KIND_PIPE_READ;
	return wait->class == CLASS_IO ? wait->call : KIND_NONE;
}

/* Why a runnable thread had no CPU. */
static __always_inline __u32 kind__of_queueing(const struct kind_wait *wait)
{
	if (wait->flags & INTERVAL_FIRST)
		return KIND_FIRST_RUN;
	if (!(wait->flags & INTERVAL_PREEMPTED))
		return KIND_RUN_QUEUE;
	return wait->call == KIND_YIELD ? KIND_YIELD : KIND_PREEMPTED;
}

/* The kind of a wait of which nothing but the class is known. */
static __always_inline __u32 kind__of_class(__u32 class)
{
	switch (class) {
	case CLASS_IO:
		return KIND_IO;
	case CLASS_LOCK:
		return KIND_LOCK;
	default:
		return KIND_OTHER;
	}
}

/* The kind (enum wait_kind, never KIND_NONE) of a wait whose kernel stack gave @evidence. */
static __always_inline __u32 kind__decide(const struct kind_evidence *evidence,
					  const struct kind_wait *wait)
{
	__u32 kind = evidence->kind, call;

	if (wait->class == CLASS_CPU)
		return KIND_RUNNING;
	if (wait->class == CLASS_SCHED)
		return kind__of_queueing(wait);
	if (kind == KIND_DISK_READ && evidence->writing)
		kind = KIND_DISK_WRITE;
	/* A weak clue says less than a system call that waits for one thing only. */
	if (kind == KIND_NONE || evidence->strength == KIND_WEAK) {
		call = kind__of_call(wait);
		if (call != KIND_NONE && (kind == KIND_NONE || call != KIND_DISK_READ))
			kind = call;
	}
	kind = kind__of_socket(kind, wait);
	return kind != KIND_NONE ? kind : kind__of_class(wait->class);
}

_Static_assert(sizeof(struct kind_clue) == 4, "kind_clue");
_Static_assert(sizeof(struct kind_range) == 24, "kind_range");
_Static_assert(KIND_RANGES_MAX <= 1 << (KIND_RANGE_STEPS - 1), "KIND_RANGE_STEPS");
