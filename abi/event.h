/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that the kernel side sends to user space.
 *
 * All times are ns, CLOCK_MONOTONIC. Threads have numbers, from 1 in the order in which they were
 * first seen; unlike tids they are never reused within a recording. 0 is no thread. Enum values
 * are also stored in recordings: they are never renumbered.
 */
#pragma once

#include <linux/types.h>

#define DWELL_COMM_SIZE		16
#define DWELL_MAX_KERNEL_FRAMES 127
#define DWELL_MAX_USER_FRAMES	512
#define DWELL_PATH_SIZE		1024
/*
 * A thread outside of dwell's pid namespace has no pid there. Instead of it, events have its pid in
 * the initial namespace with this bit set, which is above any pid.
 */
#define DWELL_PID_OUTSIDE    (1U << 30)
#define DWELL_DISK_NAME_SIZE 32

/* The state of a thread at a point in time. Blocked Samples, OSDI'24, section 3.1. */
enum wait_class {
	CLASS_CPU = 0,	   /* running */
	CLASS_IO = 1,	   /* blocked with in_iowait set */
	CLASS_LOCK = 2,	   /* blocked in futex, or on a sleeping lock of the kernel */
	CLASS_SCHED = 3,   /* runnable, waiting for a CPU */
	CLASS_OTHER = 4,   /* blocked for any other reason */
	CLASS_STOPPED = 5, /* not allowed to run, see enum stop_cause */
	CLASS_COUNT = 6,
};

/* What does not allow a thread to run. Also the mode of an OBJECT_LIMIT. */
enum stop_cause {
	STOP_NONE = 0,
	STOP_QUOTA = 1,	    /* its control group has used up its CPU time of the period */
	STOP_DEADLINE = 2,  /* SCHED_DEADLINE: the thread has used up its own */
	STOP_REALTIME = 3,  /* SCHED_FIFO, SCHED_RR: such threads have left others too little */
	STOP_FREEZER = 4,   /* of control groups, or of the whole system */
	STOP_SIGNAL = 5,    /* SIGSTOP or another one that stops a process */
	STOP_TRACER = 6,    /* by ptrace() */
	STOP_MEMORY = 7,    /* its control group has more memory than memory.high */
	STOP_WRITEBACK = 8, /* too much was written to files that the disk has not got yet */
	STOP_AFFINITY = 9,  /* a CPU is idle that its affinity forbids */
	STOP_CAUSE_COUNT = 10,
};

/* The context of a wakeup. Only in WAKER_TASK is the current thread its cause. */
enum waker_context {
	WAKER_UNKNOWN = 0,
	WAKER_TASK = 1,
	WAKER_SOFTIRQ = 2, /* over loopback, the current thread is the sender: its stack says so */
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
	/* A walk by frame pointers ended, perhaps before the outermost frame. */
	STACK_FRAME_POINTER = 6,
	/* Reached the outermost frame, but some code on the way has no unwind information. */
	STACK_GUESSED = 7,
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
	EVENT_REQUEST = 13,
	EVENT_SPAN = 14,
	EVENT_CALL = 15,
	EVENT_LIMIT = 16,
	EVENT_SEGMENT = 17,
	EVENT_CPU_RUN = 18,
};

struct event_header {
	__u32 type; /* enum event_type */
	__u32 thread;
	__u64 time;
};

enum thread_flags {
	THREAD_KERNEL = 1 << 0,	 /* a kernel thread */
	THREAD_TARGET = 1 << 1,	 /* recorded as a target */
	THREAD_CREATED = 1 << 2, /* created during the recording, at the event's time */
	/* Recorded because it woke a target, or one woke it. Without either: a waker only. */
	THREAD_HELPER = 1 << 3,
	/* Only its name is needed so far: it had a CPU. Not in recordings. */
	THREAD_OCCUPANT = 1 << 4,
};

struct event_thread {
	struct event_header header; /* time: of its creation, or when it was first seen */
	__u64 start_boottime;	    /* ns, CLOCK_BOOTTIME: identifies the thread, with the tid */
	__u32 tid;		    /* in dwell's pid namespace, as all pids here */
	__u32 tgid;
	__u32 parent; /* the thread that created it; 0: not seen */
	__u32 flags;  /* enum thread_flags */
	char comm[DWELL_COMM_SIZE];
};

/* The thread's process executes a new program. The thread has the leader's tid from now on. */
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
	TOTALS_EXITED = 1 << 0,	     /* the thread has exited; otherwise the recording ended */
	TOTALS_PROVISIONAL = 1 << 1, /* it is exiting; valid if no final totals follow */
	/* CPU time is what the kernel counts, and stolen time known. (Since format 1.7.) */
	TOTALS_COUNTED = 1 << 2,
};

/*
 * Exact times of a thread, from EVENT_THREAD's time to this event's: CPU time as the kernel counts
 * it, and of the other classes the intervals that were seen. What the sum of all lacks of the whole
 * time was not seen.
 */
struct event_totals {
	struct event_header header;
	__u64 ns[CLASS_COUNT];
	__u64 stolen; /* ns of runs that the kernel does not count: of a hypervisor, interrupts */
	__u64 last_stolen; /* of these, those of the run that ends now, see STOLEN_MIN */
	__u64 voluntary;   /* switches as in /proc/PID/status, since it was first seen */
	__u64 involuntary;
	__u32 unseen;  /* number of times between switches that were not seen */
	__u16 flags;   /* enum totals_flags */
	__u8 sequence; /* of its last interval; higher if the time after that is no run */
	__u8 reserved;
};

/*
 * A kernel and a user stack, innermost frame first. User frames other than the innermost are
 * return addresses; for code that a signal interrupted, and for the code that a signal handler
 * returns to, the address + 1. Hash 0: there is no such stack (kernel threads have no user stack).
 * If a depth is not 0, the frames are in the event, kernel frames first; otherwise an earlier
 * event had the same hash with the frames.
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

/* A tick of the sampling clock, due at header.time, when the thread was on a CPU. */
struct event_sample {
	struct event_header header;
	__u32 weight; /* number of sampling points that it represents */
	__u32 reserved;
	struct event_stack stack;
	__u64 frames[];
};

enum interval_flags {
	/* Switched out while runnable: it is run-queue time, after what of it was CLASS_STOPPED. */
	INTERVAL_PREEMPTED = 1 << 0,
	INTERVAL_FIRST = 1 << 1,	/* from a new thread's creation to its first run */
	INTERVAL_UNFINISHED = 1 << 2,	/* the recording ended before the interval did */
	INTERVAL_BEGUN_BEFORE = 1 << 3, /* the interval began before the recording */
	INTERVAL_UNINTERRUPTIBLE = 1 << 4,
	/*
	 * While the thread was in the run queue, all switches of the CPU where it then ran were
	 * seen. So it is known which threads ran there: recorded threads by their intervals, others
	 * by EVENT_CPU_RUN. Without such an event, `previous` ran all the time. In times without a
	 * run, the CPU was idle.
	 */
	INTERVAL_CPU_SEEN = 1 << 7,
	/*
	 * Bits 8 to 11 are a number n, the spacing: the interval's sampling points lie 2^n periods
	 * apart. 0 unless the wait throttle had to limit the cost.
	 */
	INTERVAL_SPACING_SHIFT = 8,
	INTERVAL_SPACING_MAX = 15,
	/*
	 * Its thread had points of its own, which count 2^n - 1 each, and common ones 1, see
	 * abi/grid.h. (Without this flag: only common ones, which counted 2^n each.)
	 */
	INTERVAL_OWN_POINTS = 1 << 12,
};

#define INTERVAL_SPACING(flags) ((flags) >> INTERVAL_SPACING_SHIFT & INTERVAL_SPACING_MAX)

enum object_type {
	OBJECT_NONE = 0,
	OBJECT_FILE = 1, /* a descriptor's file: id is the inode, extra the device */
	OBJECT_SOCKET =
		2, /* a descriptor's socket: id is the inode, extra the receiving interface */
	OBJECT_FUTEX = 3, /* id is the futex word's address */
	OBJECT_CHILD = 4, /* id is the pid waited for */
	OBJECT_KLOCK = 5, /* id is the address of a lock in the kernel */
	/*
	 * What stops a thread: mode is the enum stop_cause, id that of the control group, or the
	 * pid of who stopped it. (Not in events.)
	 */
	OBJECT_LIMIT = 6,
};

/* Which end of a connection a socket is. */
enum socket_side {
	SOCKET_SIDE_UNKNOWN = 0,
	SOCKET_SIDE_CLIENT = 1, /* it connected */
	SOCKET_SIDE_SERVER = 2, /* it listens, or was accepted */
};

/* The object that an interval waited for, if known. Unused fields are 0. */
struct event_object {
	__u8 type;	/* enum object_type */
	__u8 side;	/* sockets: enum socket_side */
	__u16 family;	/* sockets: AF_* */
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

/*
 * Sequence numbers of a thread's intervals run from 1 to this. A gap: events were lost, or there
 * were switches that were not seen; then the time before the interval is no run.
 */
#define INTERVAL_SEQUENCES 127

/* Less stolen time of a run, in ns, is within the accuracy of its begin and end. */
#define STOLEN_MIN 10000

/* An off-CPU interval [t_out, t_in), sent when the thread runs again. t_in is header.time. */
struct event_interval {
	struct event_header header;
	__u64 t_out;
	__u64 t_wake; /* t_out <= t_wake <= t_in; t_out when preempted */
	__u64 stolen; /* ns of the run before it that the kernel does not count, see STOLEN_MIN */
	__u32 blocked_points; /* periods that sampling points in [t_out, t_wake) represent */
	__u32 runq_points;    /* the same of [t_wake + stopped, t_in) */
	__u32 waker;	      /* the current thread of the wakeup; 0: unknown or idle task */
	__s32 syscall;	      /* number of the system call that it was in, or -1 */
	__u8 class;	      /* enum wait_class, of the blocked part */
	__u8 waker_context;   /* enum waker_context */
	__u16 flags;	      /* enum interval_flags */
	__u32 device;	/* the last one that completed a request on the wakeup's CPU; 0: none */
	__u32 request;	/* the request, if the wakeup came in an interrupt; 0: none, or unknown */
	__u32 previous; /* trace mode: thread that ran before on the CPU; 0: unknown, or idle */
	/* Trace mode, a wakeup in an interrupt: the thread that sent to the socket; 0: unknown. */
	__u32 sender;
	__u16 cpu;     /* where the thread runs again: its number + 1; 0: unknown */
	__u8 sequence; /* of the thread's intervals: 1 to INTERVAL_SEQUENCES, then 1 again */
	__u8 stop;     /* enum stop_cause: why it was not allowed to run */
	/*
	 * ns of [t_wake, t_in), from its begin, that were so. Then it has two numbers in the
	 * sequence, the second of which is this, unless it was preempted.
	 */
	__u64 stopped;
	__u64 stopped_by; /* id of the EVENT_LIMIT; 0: unknown */
	__u32 stopped_points;
	__u32 reserved;
	struct event_object object;
	struct event_stack stack;
	__u64 frames[];
};

/* Runs of one thread on one CPU that are one event end at most this long after their begin. */
#define CPU_RUN_MERGED_NS 1000000

/*
 * Trace mode: a thread that is not recorded had a CPU from @from to header.time while a recorded
 * one waited for it: once, or several times for @ns in all.
 */
struct event_cpu_run {
	struct event_header header;
	__u64 from;
	__u64 ns;
	__u16 cpu; /* its number + 1 */
	__u16 reserved[3];
};

/* The waker's stacks at the wakeup of header.thread. header.time is t_wake of the interval. */
struct event_wake {
	struct event_header header;
	__u32 waker;
	__u32 context; /* enum waker_context */
	struct event_stack stack;
	__u64 frames[];
};

/* What of TCP's own kept data, or a connection, waiting. */
enum hold_reason {
	HOLD_NONE = 0,
	HOLD_NAGLE = 1,		/* a small segment: until more data was written */
	HOLD_NAGLE_ACK = 2,	/* until the one before it was acknowledged, */
	HOLD_NAGLE_DELAYED = 3, /* by the receiver's timer for delayed acknowledgements */
	HOLD_CORK = 4,		/* TCP_CORK */
	HOLD_MORE = 5,		/* MSG_MORE */
	HOLD_WINDOW = 6,	/* the receiver's window is closed: it does not read */
	HOLD_CONGESTION = 7,	/* the congestion window is full */
	HOLD_PACING = 8,
	HOLD_QUEUE = 9,		/* enough of it is in queues of devices */
	HOLD_TIMEOUT = 10,	/* sent again: no acknowledgement came in time */
	HOLD_PROBE = 11,	/* sent again as a loss probe */
	HOLD_FAST = 12,		/* sent again, as later segments were acknowledged */
	HOLD_SYN = 13,		/* the SYN was not answered, and sent again */
	HOLD_LISTEN_QUEUE = 14, /* the same; the listener's queue was full */
	HOLD_BUFFER = 15,	/* the send buffer is full of data that is not acknowledged */
	HOLD_OTHER = 16,	/* not known */
	HOLD_NO_ANSWER = 17,	/* UDP: the thread sent the same again, as no answer came */
	HOLD_COUNT = 18,
};

/* What a segment has to do with the wait that it ended. */
enum segment_role {
	SEGMENT_DATA = 0,      /* the thread got it */
	SEGMENT_CONNECT = 1,   /* it is the thread's SYN, which was answered, or failed */
	SEGMENT_SPACE = 2,     /* the thread waited for room in the send buffer */
	SEGMENT_REQUEST = 3,   /* the thread sent it; what it then got came from elsewhere */
	SEGMENT_NO_ANSWER = 4, /* UDP: header.time is when it was sent again, not a wakeup */
	SEGMENT_ROLE_COUNT = 5,
	/* None yet: header.thread connects to a port whose listen queue is full. */
	SEGMENT_NOT_ANSWERED = 5,
};

#define SEGMENT_HOLDS 4

/*
 * header.thread was woken at header.time by a packet. TCP held back a segment that its wait was
 * for, from @written to @left: the reasons, one after the other; the first of them from @written
 * on, each of them @until its time.
 */
struct event_segment {
	struct event_header header;
	__u64 written; /* to the socket; SEGMENT_SPACE: 0 */
	__u64 left;    /* written <= left <= header.time */
	__u64 until[SEGMENT_HOLDS];
	__u8 reasons[SEGMENT_HOLDS]; /* enum hold_reason; HOLD_NONE: there are no more */
	/* The thread that wrote it; SEGMENT_SPACE: that read or sent last at the other end. 0:
	 * unknown */
	__u32 writer;
	__u8 role; /* enum segment_role */
	__u8 reserved[7];
	struct event_object object; /* the socket of header.thread */
};

/* Stacks that another event refers to by their hashes. */
struct event_stacks {
	struct event_header header;
	struct event_stack stack;
	__u32 pid; /* whose they are, if header.thread is 0 */
	__u32 reserved;
	__u64 frames[];
};

/*
 * A deferred unwind: the user stack to which another event refers by @hash, as far as the kernel
 * side could walk it. The frames follow, then stack memory from sp - RED_ZONE on.
 */
struct event_deferred {
	struct event_header header; /* of no thread */
	__u64 hash;
	__u64 ip; /* registers of the last frame */
	__u64 sp;
	__u64 fp;
	__u32 pid;
	__u32 size;  /* bytes of stack memory */
	__u16 depth; /* number of frames, the last one included */
	__u8 exact;  /* ip is the current instruction, not a return address */
	__u8 reserved[5];
};

/* A block device, at its first request, and its totals at the end (header.time). Of no thread. */
struct event_device {
	struct event_header header;
	__u32 device; /* its number, from 1 */
	__u32 dev;    /* major << 20 | minor */
	__u64 requests;
	__u64 bytes;
	__u64 queue_ns;	  /* sum over requests: from creation to issue to the driver */
	__u64 service_ns; /* sum over requests: from issue to completion */
	__u64 idle_ns;	  /* time with nothing in flight */
	char name[DWELL_DISK_NAME_SIZE];
};

/* A block device was idle in [since, header.time), until it got a request of header.thread. */
struct event_idle {
	struct event_header header;
	__u64 since;
	__u32 device;
	__u32 points; /* periods that common points in [since, header.time) represent */
	__u16 flags;  /* the spacing, as in enum interval_flags */
	__u16 reserved[3];
	struct event_stack stack; /* at the issue; no user stack if another thread issued it */
	__u64 frames[];
};

enum request_op {
	REQUEST_READ = 0,
	REQUEST_WRITE = 1,
	REQUEST_FLUSH = 2,
	REQUEST_OTHER = 3,
	REQUEST_OP_COUNT = 4,
};

/* A request to a block device that completed at header.time. Of the thread that created it. */
struct event_request {
	struct event_header header;
	__u64 begun;  /* created */
	__u64 issued; /* to the driver: begun <= issued <= header.time */
	__u64 sector;
	__u32 number; /* from 1 */
	__u32 device;
	__u32 bytes;
	__u8 op; /* enum request_op */
	__u8 reserved[3];
};

enum span_flags {
	SPAN_ANSWER = 0, /* or no request */
	/* Sent for another reason than what the client sent last: see bpf/core/pushes.bpf.h. */
	SPAN_PUSH = 1 << 0, /* another connection's data; from when that arrived and was read */
	SPAN_LATE = 1 << 1, /* a timer, after idleness; from when the client's last data came */
};

/*
 * A request to a server, or a call of a function: what one of the sources of spans found, from its
 * begin to its end at header.time. Of the thread that ended it.
 */
struct event_span {
	struct event_header header;
	__u64 arrived; /* a request: when its first byte came; arrived <= begun <= header.time */
	__u64 begun;
	__u32 begun_by;		    /* thread; 0: not recorded */
	__u32 source;		    /* number of the source, from 1 */
	struct event_object object; /* the connection */
	__u32 flags;		    /* enum span_flags */
	__u32 reserved;
};

/* A call that probes at a function measured; it ended at header.time. */
struct event_call {
	struct event_header header;
	__u64 begun;
	__u64 function;	  /* that of the instruction at its entry, + 1: as a return address */
	__u64 caller;	  /* where it returns to */
	__u64 overhead;	  /* ns of the time since it began that probes took: its own and others */
	__u32 probe;	  /* its number, from 1 */
	__u32 unfinished; /* it had not returned when the recording ended */
};

/* The path of a file that is an object: names from the file up to the root. */
struct event_file {
	struct event_header header;
	__u64 inode;
	__u64 device;
	__u32 size;   /* bytes used in names */
	__u32 flags;  /* 1: the path does not reach the root: a pseudo file system, or cut */
	char names[]; /* each NUL-terminated, innermost first */
};

/* What can stop threads, when it has done so first, or when its values have changed. Of no thread.
 */
struct event_limit {
	struct event_header header;
	__u64 id;     /* of a control group, a process, or (STOP_DEADLINE) a thread */
	__u64 value;  /* QUOTA, DEADLINE: ns in each period; MEMORY: bytes */
	__u64 period; /* ns */
	__u32 cause;  /* enum stop_cause */
	__u32 size;   /* bytes used in names */
	/*
	 * Names of groups, from the one that has the limit outwards, or one of a process; AFFINITY:
	 * a bit for each CPU, in words of 64.
	 */
	char names[]; /* each NUL-terminated */
};

/* Causes of losses, counted by the kernel side. */
enum loss {
	/* No room in the ring buffer for an event. */
	LOSS_RING_FULL = 0,
	/* No memory for the state of a thread, which is not recorded at all. */
	LOSS_THREAD_STATE = 1,
	/* No room in the ring buffer for the stack of a waker. */
	LOSS_WAKE_SKIPPED = 2,
	/* A switch-in without a tracepoint: the wait has no stack. */
	LOSS_HIDDEN_SWITCH = 3,
	/* A wakeup without a tracepoint: the waker is unknown. */
	LOSS_HIDDEN_WAKE = 4,
	/* No room in the ring buffer for a deferred unwind. */
	LOSS_DEFERRED_SKIPPED = 5,
	/*
	 * A switch or wakeup in an interrupt of the same BPF program: the kernel skips and counts
	 * these, user space reads the count.
	 */
	LOSS_PROGRAM_SKIPPED = 6,
	/* More requests to disks in flight than are kept. */
	LOSS_REQUEST = 7,
	/*
	 * A thread's switches that were not seen, because they were hidden or the program was
	 * skipped: the time between those that were is not known to be a run or a wait.
	 */
	LOSS_UNSEEN = 8,
	LOSS_COUNT = 9,
};

_Static_assert(sizeof(struct event_header) == 16, "event_header");
_Static_assert(sizeof(struct event_stack) == 24, "event_stack");
_Static_assert(sizeof(struct event_deferred) == 64, "event_deferred");
_Static_assert(sizeof(struct event_object) == 64, "event_object");
_Static_assert(sizeof(struct event_request) == 56, "event_request");
_Static_assert(sizeof(struct event_cpu_run) == 40, "event_cpu_run");
_Static_assert(sizeof(struct event_span) == 112, "event_span");
_Static_assert(sizeof(struct event_interval) == 192, "event_interval");
_Static_assert(sizeof(struct event_limit) == 48, "event_limit");
_Static_assert(sizeof(struct event_segment) == 144, "event_segment");
