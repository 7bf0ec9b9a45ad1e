/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel side sends to user space.
 *
 * All times are ns, CLOCK_MONOTONIC. Threads are named by a number given at
 * first sight (never reused within a recording, unlike a tid); 0 is no thread.
 * Enum values also stand in recordings: they are never renumbered.
 */
#pragma once

#include <linux/types.h>

#define DWELL_COMM_SIZE		16
#define DWELL_MAX_KERNEL_FRAMES 127
#define DWELL_MAX_USER_FRAMES	512
#define DWELL_PATH_SIZE		1024
#define DWELL_RED_ZONE		128 /* bytes below sp that hold what a function may still need */
/*
 * Threads outside of the pid namespace that dwell runs in have no pid there. They are named by
 * their pid in the initial namespace with this bit set, which no pid has.
 */
#define DWELL_PID_OUTSIDE    (1U << 30)
#define DWELL_DISK_NAME_SIZE 32

/* What a moment of a thread's life was spent on. Blocked Samples, OSDI'24, 3.1. */
enum wait_class {
	CLASS_CPU = 0,	 /* running */
	CLASS_IO = 1,	 /* blocked with in_iowait set */
	CLASS_LOCK = 2,	 /* blocked in futex, or on a sleeping lock of the kernel */
	CLASS_SCHED = 3, /* runnable, waiting for a CPU */
	CLASS_OTHER = 4, /* blocked for any other reason */
	CLASS_COUNT = 5,
};

/* The context a wakeup came from. Only in WAKER_TASK did the waker mean it. */
enum waker_context {
	WAKER_UNKNOWN = 0,
	WAKER_TASK = 1,
	WAKER_SOFTIRQ = 2, /* over loopback the sender's own context: see its stack */
	WAKER_HARDIRQ = 3,
	WAKER_NMI = 4,
};

/* How a stack walk ended. Those that did not reach the outermost frame are truncated. */
enum stack_end {
	STACK_COMPLETE = 0,    /* reached the outermost frame */
	STACK_TOO_DEEP = 1,    /* more frames than are kept */
	STACK_UNREADABLE = 2,  /* memory of the stack could not be read */
	STACK_NO_MAPPING = 3,  /* a return address in no known executable mapping */
	STACK_NO_TABLE = 4,    /* no unwind table (yet) for the file */
	STACK_UNSUPPORTED = 5, /* an unwind rule that is not handled */
	STACK_FRAME_POINTER =
		6,	   /* a frame-pointer walk ended, perhaps before the outermost frame */
	STACK_GUESSED = 7, /* reached it, past code that does not describe its frames */
	STACK_END_COUNT = 8,
};

enum event_type {
	EVENT_THREAD = 1,
	EVENT_EXEC = 2,
	EVENT_COMM = 3,
	EVENT_TOTALS = 4,
	EVENT_SAMPLE = 5,
	EVENT_INTERVAL = 6,
	EVENT_WAKE = 7,
	EVENT_FILE = 8,
	EVENT_STACKS = 9,
	EVENT_DEFERRED = 10,
	EVENT_DEVICE = 11,
	EVENT_IDLE = 12,
};

struct event_header {
	__u32 type; /* enum event_type */
	__u32 thread;
	__u64 time;
};

enum thread_flags {
	THREAD_KERNEL = 1 << 0,	 /* has no user space */
	THREAD_TARGET = 1 << 1,	 /* recorded; otherwise only named, as a waker */
	THREAD_CREATED = 1 << 2, /* created during the recording, at the event's time */
	THREAD_HELPER = 1 << 3,	 /* recorded, not as a target, but because it woke one */
};

struct event_thread {
	struct event_header header; /* time: when it was created, else first seen */
	__u64 start_boottime;	    /* ns, CLOCK_BOOTTIME: with the tid, an identity */
	__u32 tid;		    /* in dwell's pid namespace, as every pid here */
	__u32 tgid;
	__u32 parent; /* the thread that created it; 0 when that was not seen */
	__u32 flags;  /* enum thread_flags */
	char comm[DWELL_COMM_SIZE];
};

/* A new program in the thread's process. It has the leader's tid from now on. */
struct event_exec {
	struct event_header header;
	__u32 tid;
	__u32 reserved;
	char comm[DWELL_COMM_SIZE];
};

struct event_comm {
	struct event_header header;
	char comm[DWELL_COMM_SIZE];
};

enum totals_flags {
	TOTALS_EXITED = 1 << 0,	     /* the thread is gone; otherwise the recording ended */
	TOTALS_PROVISIONAL = 1 << 1, /* it is exiting: in case that its last switch stays unseen */
};

/* Exact times of a thread, from EVENT_THREAD's time to this event's. */
struct event_totals {
	struct event_header header;
	__u64 ns[CLASS_COUNT];
	__u64 voluntary; /* switches, as in /proc/PID/status, since first seen */
	__u64 involuntary;
	__u32 flags; /* enum totals_flags */
	__u32 reserved;
};

/*
 * A kernel and a user stack, innermost frame first. User frames but the innermost
 * are return addresses; of code that a signal interrupted, and of the code its
 * handler returns to, the address + 1. A stack whose hash is 0 does not exist (a
 * kernel thread has no user stack). One whose depth is not 0 lies in the event's
 * frames, kernel frames first; otherwise the same hash came before with its frames.
 */
struct event_stack {
	__u64 kernel_hash;
	__u64 user_hash;
	__u16 kernel_depth;
	__u16 user_depth;
	__u8 kernel_end; /* enum stack_end */
	__u8 user_end;
	__u16 reserved;
};

/* A clock tick that was due while the thread was on a CPU, at header.time. */
struct event_sample {
	struct event_header header;
	__u32 weight; /* sampling points it stands for */
	__u32 reserved;
	struct event_stack stack;
	__u64 frames[];
};

enum interval_flags {
	INTERVAL_PREEMPTED = 1 << 0,	/* it could have run on: all of it is run-queue time */
	INTERVAL_FIRST = 1 << 1,	/* from a new thread's creation to its first run */
	INTERVAL_UNFINISHED = 1 << 2,	/* the recording ended before the interval did */
	INTERVAL_BEGUN_BEFORE = 1 << 3, /* the recording began within it */
	INTERVAL_UNINTERRUPTIBLE = 1 << 4,
	/*
	 * Bits 8 to 11 are a number n: the interval was held against sampling points 2^n
	 * periods apart, each of which counts as 2^n. 0 unless waits came so often
	 * that recording them all would have cost too much.
	 */
	INTERVAL_SPACING_SHIFT = 8,
	INTERVAL_SPACING_MAX = 15,
};

#define INTERVAL_SPACING(flags) ((flags) >> INTERVAL_SPACING_SHIFT & INTERVAL_SPACING_MAX)

enum object_type {
	OBJECT_NONE = 0,
	OBJECT_FILE = 1,   /* a descriptor's file: id is the inode, extra the device */
	OBJECT_SOCKET = 2, /* a descriptor's socket: id is the inode, extra where it receives */
	OBJECT_FUTEX = 3,  /* id is the futex word's address */
	OBJECT_CHILD = 4,  /* id is the pid waited for */
	OBJECT_KLOCK = 5,  /* id is the address of a lock in the kernel */
};

/* What an interval waited for, as far as it can be known. Unused fields are 0. */
struct event_object {
	__u8 type; /* enum object_type */
	__u8 reserved;
	__u16 family;	/* sockets: AF_*; */
	__u16 protocol; /* sockets: IPPROTO_* */
	__u16 mode;	/* files: i_mode */
	__u64 id;
	__u64 extra;
	__u16 local_port; /* host byte order */
	__u16 peer_port;
	__u32 fd;
	__u8 local[16]; /* IPv4 in the first 4 bytes */
	__u8 peer[16];
};

/* One off-CPU interval, at the moment the thread runs again (header.time is t_in). */
struct event_interval {
	struct event_header header;
	__u64 t_out;
	__u64 t_wake;	      /* t_out <= t_wake <= t_in; t_out when preempted */
	__u32 blocked_points; /* sampling points in [t_out, t_wake) */
	__u32 runq_points;    /* and in [t_wake, t_in) */
	__u32 waker;	      /* the thread that ran when the wakeup came */
	__s32 syscall;	      /* number, -1 when it was in none */
	__u8 class;	      /* enum wait_class, of the blocked part */
	__u8 waker_context;   /* enum waker_context */
	__u16 flags;	      /* enum interval_flags */
	__u32 device; /* that completed a request last on the CPU of the wakeup; 0: none did */
	struct event_object object;
	struct event_stack stack;
	__u64 frames[];
};

/* The waker's stack at the wakeup of header.thread; time is that interval's t_wake. */
struct event_wake {
	struct event_header header;
	__u32 waker;
	__u32 context; /* enum waker_context */
	struct event_stack stack;
	__u64 frames[];
};

/* Stacks that an interval will name by their hashes. */
struct event_stacks {
	struct event_header header;
	struct event_stack stack;
	__u64 frames[];
};

/*
 * The user stack that another event names by @hash, as far as the kernel side
 * could walk it. Behind it come the frames, then stack memory from
 * sp - DWELL_RED_ZONE on.
 */
struct event_deferred {
	struct event_header header; /* of no thread */
	__u64 hash;
	__u64 ip; /* registers of the last frame */
	__u64 sp;
	__u64 bp;
	__u32 pid;
	__u32 size;  /* bytes of stack memory */
	__u16 depth; /* frames, the last one included */
	__u8 exact;  /* ip is the very instruction, not where a call returns to */
	__u8 reserved[5];
};

/*
 * A block device, at its first request, and at the end (header.time) with what it
 * did. Of no thread.
 */
struct event_device {
	struct event_header header;
	__u32 device; /* its number, from 1 */
	__u32 dev;    /* major << 20 | minor */
	__u64 requests;
	__u64 bytes;
	__u64 queue_ns;	  /* of all requests, before the driver had them */
	__u64 service_ns; /* and from then on */
	__u64 idle_ns;	  /* with nothing in flight */
	char name[DWELL_DISK_NAME_SIZE];
};

/* A block device had nothing in flight until header.time, when header.thread fed it. */
struct event_idle {
	struct event_header header;
	__u64 since;
	__u32 device;
	__u32 points; /* sampling points in [since, header.time) */
	__u16 flags;  /* the spacing, as in enum interval_flags */
	__u16 reserved[3];
	struct event_stack stack; /* where the request was issued; the user's is the feeder's */
	__u64 frames[];
};

/* The path of a file seen as an object: names from the file up to the root. */
struct event_file {
	struct event_header header;
	__u64 inode;
	__u64 device;
	__u32 size;   /* bytes used in names */
	__u32 flags;  /* 1: does not reach the root */
	char names[]; /* each NUL-terminated, innermost first */
};

/* Why something is missing, counted by the kernel side. */
enum loss {
	LOSS_RING_FULL = 0,    /* an event found no room in its ring buffer */
	LOSS_THREAD_STATE = 1, /* no memory for a thread's state: not recorded at all */
	LOSS_WAKE_SKIPPED = 2, /* a waker's stack found no room */
	LOSS_HIDDEN_SWITCH =
		3,	      /* a thread ran without a trace of its switch: no stack of its wait */
	LOSS_HIDDEN_WAKE = 4, /* it was woken without a trace: its waker is unknown */
	LOSS_DEFERRED_SKIPPED = 5, /* a stack that user space was to walk on found no room */
	LOSS_PROGRAM_SKIPPED = 6,  /* a switch or a wakeup within the program for another one, which
				    * an interrupt came upon: user space asks the kernel for it */
	LOSS_COUNT = 7,
};

_Static_assert(sizeof(struct event_header) == 16, "event_header");
_Static_assert(sizeof(struct event_stack) == 24, "event_stack");
_Static_assert(sizeof(struct event_deferred) == 64, "event_deferred");
_Static_assert(sizeof(struct event_object) == 64, "event_object");
_Static_assert(sizeof(struct event_interval) == 144, "event_interval");
