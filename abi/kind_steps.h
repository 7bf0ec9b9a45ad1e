/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Decides the kind of a wait. The kernel side compiles this for virtual speedups of a kind
 * (bpf/causal/), user space for recordings (analysis/kinds/kinds.c).
 *
 * The evidence, in order of precedence: functions on the kernel stack, the system call, functions
 * that are weak clues, the system call if it reads a file, the class of the wait. The file or
 * socket behind the system call's descriptor refines the result.
 *
 *	struct kind_evidence evidence = {};
 *
 *	for each frame of the kernel stack, the innermost first:
 *		for each clue that the frame's function gives:
 *			kind_evidence__add(&evidence, &clue);
 *	kind = kind__decide(&evidence, &wait);
 *
 * Each step is bounded and takes plain values, so that the verifier accepts it as the body of a
 * bpf_loop(). The tables of functions and system calls are in wait_kinds/kind_clues.c; the
 * kernel side gets them with addresses in place of names.
 */
#pragma once

#include "abi/event.h"
#include "abi/wait_kind.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* What a function on the kernel stack says about the kind. */
enum kind_strength {
	/*
	 * The kind is `kind`, unless a strong clue or the system call says more than "disk read".
	 * The innermost wins.
	 */
	KIND_WEAK = 1,
	/* The kind is `kind`. The innermost wins. */
	KIND_STRONG = 2,
	/* If the functions farther in give the kind `replaces`, the kind is `kind`. */
	KIND_REFINES = 3,
	/* A write is in progress: KIND_DISK_READ becomes KIND_DISK_WRITE. */
	KIND_WRITING = 4,
};

struct kind_clue {
	__u8 kind;     /* enum wait_kind */
	__u8 strength; /* enum kind_strength */
	__u8 replaces; /* KIND_REFINES: enum wait_kind */
	__u8 reserved;
};

/* A clue with the code of its function in the running kernel. Clues of a function are adjacent. */
struct kind_range {
	__u64 start;
	__u64 end; /* not included */
	struct kind_clue clue;
	__u32 reserved;
};

#define KIND_RANGES_MAX		2048 /* capacity of the kernel side, a power of two */
#define KIND_RANGE_STEPS	12   /* of a binary search in KIND_RANGES_MAX ranges */
#define KIND_CLUES_PER_FUNCTION 4    /* at most */

/* What the frames of the kernel stack seen so far say, from the innermost one outwards. */
struct kind_evidence {
	__u8 kind;     /* enum wait_kind */
	__u8 strength; /* of the clue that gave it: 0 (none yet), KIND_WEAK or KIND_STRONG */
	__u8 writing;
};

/* What is known of a wait besides its kernel stack. */
struct kind_wait {
	__u8 class;	   /* enum wait_class, of the blocked part */
	__u8 syscall_kind; /* enum wait_kind: default of its system call, see kind_syscalls[] */
	__u16 flags;	   /* enum interval_flags: with CLASS_SCHED, why it had no CPU */
	__u8 object;	   /* enum object_type; OBJECT_NONE: unknown */
	__u32 family;	   /* OBJECT_SOCKET: AF_* */
	__u32 protocol;	   /* OBJECT_SOCKET: IPPROTO_* */
	__u32 mode;	   /* OBJECT_FILE: i_mode; OBJECT_LIMIT: enum stop_cause */
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
		if (evidence->kind == clue->replaces)
			evidence->kind = clue->kind;
	} else if (clue->strength > evidence->strength) {
		evidence->kind = clue->kind;
		evidence->strength = clue->strength;
	}
}

static __always_inline __u32 kind__for_tcp(__u32 kind)
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

static __always_inline __u32 kind__for_udp(__u32 kind)
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

static __always_inline __u32 kind__for_unix(__u32 kind)
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

/* Refines @kind by the socket, if there is one: "socket receive" becomes "tcp receive". */
static __always_inline __u32 kind__for_socket(__u32 kind, const struct kind_wait *wait)
{
	if (wait->object != OBJECT_SOCKET)
		return kind;
	if (wait->family == KIND_AF_UNIX)
		return kind__for_unix(kind);
	if (wait->family != KIND_AF_INET && wait->family != KIND_AF_INET6)
		return kind;
	if (wait->protocol == KIND_IPPROTO_TCP)
		return kind__for_tcp(kind);
	if (wait->protocol == KIND_IPPROTO_UDP)
		return kind__for_udp(kind);
	return kind;
}

/*
 * The kind by the system call and its descriptor, or KIND_NONE. A read() or write() of a pipe or
 * socket waits for that; of another file, it waits for the disk only if the class is CLASS_IO.
 */
static __always_inline __u32 kind__by_syscall(const struct kind_wait *wait)
{
	__u32 write = wait->syscall_kind == KIND_DISK_WRITE;

	if (wait->syscall_kind != KIND_DISK_READ && !write)
		return wait->syscall_kind;
	if (wait->object == OBJECT_SOCKET)
		return write ? KIND_SOCKET_SEND : KIND_SOCKET_RECEIVE;
	if (wait->object == OBJECT_FILE && (wait->mode & KIND_S_IFMT) == KIND_S_IFIFO)
		return write ? KIND_PIPE_WRITE : KIND_PIPE_READ;
	return wait->class == CLASS_IO ? wait->syscall_kind : KIND_NONE;
}

/* The kind of a wait in the run queue. */
static __always_inline __u32 kind__of_run_queue(const struct kind_wait *wait)
{
	if (wait->flags & INTERVAL_FIRST)
		return KIND_FIRST_RUN;
	if (!(wait->flags & INTERVAL_PREEMPTED))
		return KIND_RUN_QUEUE;
	return wait->syscall_kind == KIND_YIELD ? KIND_YIELD : KIND_PREEMPTED;
}

/* The kind of a wait in which the thread was not allowed to run, for @cause (enum stop_cause). */
static __always_inline __u32 kind__of_stop(__u32 cause)
{
	switch (cause) {
	case STOP_QUOTA:
		return KIND_CPU_QUOTA;
	case STOP_DEADLINE:
		return KIND_DEADLINE;
	case STOP_REALTIME:
		return KIND_REALTIME;
	case STOP_FREEZER:
		return KIND_FREEZER;
	case STOP_SIGNAL:
		return KIND_STOPPED;
	case STOP_TRACER:
		return KIND_PTRACE_STOP;
	case STOP_MEMORY:
		return KIND_MEMORY_HIGH;
	case STOP_WRITEBACK:
		return KIND_WRITEBACK_THROTTLING;
	case STOP_AFFINITY:
		return KIND_AFFINITY;
	default:
		return KIND_OTHER;
	}
}

/* The kind of a wait of which only the class is known. */
static __always_inline __u32 kind__by_class(__u32 class)
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
	__u32 kind = evidence->kind, by_syscall;

	if (wait->class == CLASS_CPU)
		return KIND_RUNNING;
	if (wait->class == CLASS_SCHED)
		return kind__of_run_queue(wait);
	if (wait->object == OBJECT_LIMIT)
		return kind__of_stop(wait->mode);
	if (kind == KIND_DISK_READ && evidence->writing)
		kind = KIND_DISK_WRITE;
	/* A kind by the system call, unless it is a disk read, takes precedence over a weak clue.
	 */
	if (kind == KIND_NONE || evidence->strength == KIND_WEAK) {
		by_syscall = kind__by_syscall(wait);
		if (by_syscall != KIND_NONE && (kind == KIND_NONE || by_syscall != KIND_DISK_READ))
			kind = by_syscall;
	}
	kind = kind__for_socket(kind, wait);
	return kind != KIND_NONE ? kind : kind__by_class(wait->class);
}

_Static_assert(sizeof(struct kind_clue) == 4, "kind_clue");
_Static_assert(sizeof(struct kind_range) == 24, "kind_range");
_Static_assert(KIND_RANGES_MAX <= 1 << (KIND_RANGE_STEPS - 1), "KIND_RANGE_STEPS");
