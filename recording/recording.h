/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recording: one file of compressed, checksummed chunks of records. docs/format.md
 * describes the bytes; this header the records in memory.
 *
 * Strings, stacks, DSOs and objects are interned: each is written before the first record that
 * refers to it (stacks may come later), and referred to by its number. What was not used for long
 * is written again, with another number: equal ones are the same thing. Number 0 means none (the
 * empty string, no stack); others start at 1. Times are ns, CLOCK_MONOTONIC. Values on disk are
 * never renumbered; readers skip unknown record types, and fields that later versions append to
 * known ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"

enum record_type {
	RECORD_META = 1,
	RECORD_STRING = 2,
	RECORD_STACK = 3,
	RECORD_DSO = 4,
	RECORD_OBJECT = 5,
	RECORD_THREAD = 6,
	RECORD_EXEC = 7,
	RECORD_COMM = 8,
	RECORD_TOTALS = 9,
	RECORD_MAP = 10,
	RECORD_SAMPLE = 11,
	RECORD_INTERVAL = 12,
	RECORD_WAKE = 13,
	RECORD_LOST = 14,
	RECORD_SYMBOL = 15,
	RECORD_DEVICE = 16,
	RECORD_IDLE = 17,
	RECORD_ANNOTATION = 18,
	RECORD_REQUEST = 19,
	RECORD_SPAN = 20,
	RECORD_CALL = 21,
	RECORD_SHORT_CALLS = 22,
	RECORD_SCAN = 23,
	RECORD_PROBE = 24,
	RECORD_SEGMENT = 25,
	RECORD_CPU_RUN = 26,
	RECORD_FUNCTION = 27,
};

/*
 * A property of the whole recording; a later value of the same key replaces an earlier one.
 * Keys: version, command, target, mode (sampling | trace), period_ns, grid_seed (of the
 * sampling points, see abi/grid.h), start and end (ns, CLOCK_MONOTONIC; end is missing when
 * the recorder was killed), start_realtime (ns since 1970), hostname, kernel, machine, cpus,
 * boot_id, rung (where sleepers' stacks are taken), exit_status, cpu_ns (of dwell itself),
 * interface_N (name of the network device with index N), machine_busy_ns and
 * machine_idle_ns (sums over all CPUs), machine_switches and machine_switches_told (context
 * switches of all CPUs during the recording: counted by the kernel, and reported by its
 * tracepoints), and if the sampling clocks were throttled, slowest_clock_ns (the longest distance
 * between ticks) and clock_share (what a tick took, in thousandths of the period).
 */
struct record_meta {
	uint32_t key;	/* string; see above */
	uint32_t value; /* string */
};

struct record_string {
	uint32_t number;
	const char *bytes; /* NUL-terminated in memory; may hold any byte */
	size_t size;
};

struct record_stack {
	uint32_t number;	/* assigned by the writer; not ascending in the file */
	const uint64_t *frames; /* innermost first; callers are return addresses */
	uint32_t depth;
	uint8_t kernel; /* 1: a kernel stack */
	uint8_t end;	/* enum stack_end */
};

enum dso_kind {
	DSO_FILE = 0,
	DSO_KERNEL = 1, /* with its modules and BPF programs; addresses are absolute */
	DSO_VDSO = 2,
	DSO_JIT = 3, /* anonymous executable memory; absolute addresses, no build_id */
};

struct record_dso {
	uint32_t number;   /* assigned by the writer */
	uint32_t path;	   /* string, in its process's view; or "[kernel]", "[vdso]", "[jit:PID]" */
	uint32_t build_id; /* string, lower-case hex; 0 when it has none */
	uint8_t kind;	   /* enum dso_kind */
	uint8_t deleted;   /* at mapping time, the path led to another file or none */
	uint32_t pid;	   /* DSO_JIT: the process; else 0 */
};

struct record_object {
	uint32_t number;   /* assigned by the writer */
	uint8_t type;	   /* enum object_type */
	uint64_t id;	   /* inode, address or pid, see enum object_type */
	uint64_t extra;	   /* files: st_dev; sockets: index of the network device */
	uint32_t mode;	   /* files: i_mode */
	uint32_t family;   /* sockets: AF_* */
	uint32_t protocol; /* sockets: IPPROTO_* */
	uint32_t name;	   /* string: path, or "ADDRESS:PORT" of the peer */
	uint32_t local;	   /* sockets: string, local "ADDRESS:PORT" */
	uint8_t side;	   /* sockets: enum socket_side */
};

struct record_thread {
	uint32_t thread; /* its number, from 1 */
	uint32_t tid;
	uint32_t tgid;
	uint32_t parent; /* thread number or 0 */
	uint32_t flags;	 /* enum thread_flags */
	uint32_t comm;	 /* string */
	uint64_t time;	 /* of creation, or first seen */
};

struct record_exec {
	uint32_t thread;
	uint32_t tid; /* after the exec */
	uint32_t comm;
	uint64_t time;
};

struct record_comm {
	uint32_t thread;
	uint32_t comm;
	uint64_t time;
};

struct record_totals {
	uint32_t thread;
	uint32_t flags; /* enum totals_flags */
	uint64_t time;	/* end of the time that the totals cover */
	uint64_t ns[CLASS_COUNT];
	uint64_t voluntary;
	uint64_t involuntary;
	uint64_t stolen_ns;	 /* of runs; see struct event_totals */
	uint64_t last_stolen_ns; /* of the last run alone */
	uint32_t unseen;
	uint8_t sequence; /* of the last interval; other than that if the time after it is no run */
};

/* An executable mapping of a process, from @time on. */
struct record_map {
	uint32_t pid; /* tgid */
	uint32_t dso;
	uint64_t time;
	uint64_t start;
	uint64_t size;
	uint64_t offset; /* in the file, bytes */
};

struct record_sample {
	uint32_t thread;
	uint32_t weight;
	uint32_t kernel_stack;
	uint32_t user_stack;
	uint64_t time;
};

struct record_interval {
	uint32_t thread;
	uint32_t waker;	       /* thread number; 0 unknown */
	uint8_t waker_context; /* enum waker_context */
	uint8_t class;	       /* enum wait_class of the blocked part */
	uint16_t flags;	       /* enum interval_flags */
	int32_t syscall;       /* -1: none */
	uint64_t t_out;
	uint64_t blocked_ns; /* t_wake - t_out */
	uint64_t runq_ns;    /* t_in - t_wake */
	uint32_t blocked_points;
	uint32_t runq_points;
	uint32_t kernel_stack;
	uint32_t user_stack;
	uint32_t object;
	uint32_t device;   /* which completed a request last on the CPU of the wakeup; 0: none */
	uint32_t request;  /* its number, if the wakeup came in an interrupt; 0: none, unknown */
	uint32_t previous; /* trace mode: thread that ran before on the CPU; 0: unknown, or none */
	uint32_t sender; /* trace mode, a wakeup in an interrupt: the thread that sent to the socket
			  */
	uint32_t cpu;	 /* where it runs again: its number + 1; 0: unknown */
	uint8_t sequence;   /* 1 to INTERVAL_SEQUENCES, then 1 again; 0: not known */
	uint64_t stolen_ns; /* of the run before it: not counted as the thread's; 0 if unknown */
};

/* The waker's stack; belongs to the interval of @thread whose t_wake is @time. */
struct record_wake {
	uint32_t thread; /* the sleeper */
	uint32_t waker;
	uint32_t context; /* enum waker_context */
	uint32_t kernel_stack;
	uint32_t user_stack;
	uint64_t time;
};

/* A block device, with totals from its first request until @time; its last record counts. */
struct record_device {
	uint32_t device; /* its number, from 1 */
	uint32_t dev;	 /* major << 20 | minor */
	uint32_t name;	 /* string: "vda" */
	uint64_t time;
	uint64_t requests;
	uint64_t bytes;
	uint64_t queue_ns;   /* of all requests: from insertion to issue to the driver */
	uint64_t service_ns; /* of all requests: from issue to completion */
	uint64_t idle_ns;    /* with nothing in flight */
};

/*
 * A block device had no request in flight in [@since, @since + @ns); then @thread issued one.
 */
struct record_idle {
	uint32_t device;
	uint32_t thread; /* 0: unknown */
	uint64_t since;
	uint64_t ns;
	uint32_t points;       /* sampling points in it */
	uint16_t flags;	       /* the spacing, as in enum interval_flags */
	uint32_t kernel_stack; /* where the request was issued */
	uint32_t user_stack;   /* of @thread, if it issued the request itself */
};

/* A request to a block device, in trace mode. queue_ns + service_ns is at most @time. */
struct record_request {
	uint32_t number; /* from 1; intervals refer to it */
	uint32_t device;
	uint32_t thread;     /* that created it; 0: unknown */
	uint64_t time;	     /* of its completion */
	uint64_t queue_ns;   /* from its creation until it was issued to the driver */
	uint64_t service_ns; /* from then until its completion */
	uint64_t sector;     /* of 512 bytes */
	uint64_t bytes;
	uint8_t op; /* enum request_op */
};

/*
 * A thread that is not recorded had a CPU for @ns within the @length ns that ended at @time, while
 * a recorded one waited for it: see struct event_cpu_run. ns <= length <= time; cpu is not 0.
 */
struct record_cpu_run {
	uint32_t thread; /* 0: unknown */
	uint64_t time;
	uint64_t length;
	uint64_t ns;
	uint16_t cpu; /* its number + 1 */
};

/* A request to a server, or another operation. queue_ns + ns is at most @time. */
struct record_span {
	uint32_t name;	   /* string: its source, as it was given to --request */
	uint32_t thread;   /* that ended it */
	uint32_t begun_by; /* thread; 0: unknown */
	uint64_t time;	   /* of its end */
	uint64_t queue_ns; /* requests: from the arrival of its first byte to the first read */
	uint64_t ns;	   /* from the first read to the last write, or from begin to end */
	uint32_t object;   /* the connection; 0: none */
	uint32_t flags;	   /* enum span_flags, abi/event.h: what is no answer to a request */
};

enum call_flags {
	CALL_IN_PAIR = 1 << 0, /* see enum observed_call_flags, collect/probes/observed_call.h */
	CALL_UNFINISHED = 1 << 1,
	CALL_EARLIER = 1 << 2,
	CALL_PROBED = 1 << 3, /* probes measured it, not a scanner */
	CALL_NESTED = 1 << 4, /* as OBSERVED_CALL_NESTED */
};

/* A call that a scanner of shadow stacks saw, or probes at its function. @ns is at most @time. */
struct record_call {
	uint32_t thread;
	uint32_t stack; /* the function; if there is one, its caller on the shadow stack; and then
			   of a scanner, since minor version 8, the place of the call */
	uint64_t time;	/* of its end */
	uint64_t ns;
	uint32_t begin_slack; /* ns; its begin may have been so much earlier or later */
	uint32_t end_slack;
	uint16_t depth;	   /* calls below it on the shadow stack */
	uint16_t flags;	   /* enum call_flags */
	uint32_t probe;	   /* number of the probe; 0: none */
	uint64_t overhead; /* ns of it that probes took */
};

/* Calls shorter than the period of the scanner, until @time since the record before. */
struct record_short_calls {
	uint32_t thread;
	uint32_t stack; /* as above */
	uint64_t time;
	uint64_t looks; /* see struct short_calls */
	uint64_t ended;
	uint64_t seen;
	uint64_t ns;
	uint64_t nested_ns;
};

enum probe_flags {
	PROBE_SINGLE_STEPPED = 1 << 0, /* the kernel cannot emulate the instruction at its place */
};

/* What the probes of a function did until @time. The last record of a number counts. */
struct record_probe {
	uint32_t number;
	uint32_t name; /* string: the function */
	uint64_t time;
	uint64_t entries; /* while they were set */
	uint64_t cost_ns; /* CPU time that they took from the programs */
	uint64_t set_ns;  /* how long they were set, */
	uint64_t times;	  /* in this many pieces */
	/* CPU time of the programs, without what probes took: */
	uint64_t cpu_ns;     /* since they were set first; */
	uint64_t set_cpu_ns; /* while they were set: not greater */
	uint32_t flags;	     /* enum probe_flags */
};

/* Classes of gaps between two looks: class i is of those up to scan_gap__limit(i), in ns. */
#define SCAN_GAPS 8
/* Gaps of this class and longer ones, above 128 us: the thread that looks had no CPU. */
#define SCAN_GAP_UNLOOKED 4

static inline uint64_t scan_gap__limit(unsigned class)
{
	return class + 1 < SCAN_GAPS ? 2000ULL << (2 * class) : UINT64_MAX;
}

/* What the scanner did until @time. See struct scan_report. */
struct record_scan {
	uint32_t thread; /* with its stack; 0: in all */
	uint64_t time;
	uint64_t ns;
	uint64_t pairs;
	uint64_t pair_ns;
	uint64_t gap_ns[SCAN_GAPS];
	uint64_t pushes;
	uint64_t pushes_ns;
	uint64_t longest_ns;
	uint64_t torn;
	uint64_t lost;
	uint64_t missed;
};

/*
 * A packet woke @thread at @time, and TCP had held back what it waited for: see struct
 * event_segment. Times before @time, in ns; none is greater than it.
 */
struct record_segment {
	uint32_t thread;
	uint32_t writer; /* thread; SEGMENT_SPACE: at the other end; 0: unknown */
	uint64_t time;
	uint64_t written; /* SEGMENT_SPACE: 0, it is not known */
	uint64_t left;
	uint64_t until[SEGMENT_HOLDS];
	uint8_t reasons[SEGMENT_HOLDS]; /* enum hold_reason; the first HOLD_NONE ends them */
	uint8_t role;			/* enum segment_role */
	uint32_t object;		/* the socket */
	uint32_t owner_pid;		/* process that listens, or does not read; 0: unknown */
	uint32_t owner;			/* string: its name */
};

/* Annotations by include/dwell.h, with the values of enum dwell_event there. */
enum annotation_type {
	ANNOTATION_NONE = 0, /* or unknown */
	ANNOTATION_SPIN_BEGIN = 1,
	ANNOTATION_SPIN_END = 2,
	ANNOTATION_SPIN_RELEASE = 3,
	ANNOTATION_WOKEN_FOR_NOTHING = 4,
	ANNOTATION_BEGIN = 5, /* of a span of that name */
	ANNOTATION_END = 6,
	ANNOTATION_REQUEST_BEGIN = 7, /* the thread works at it; address: its id */
	ANNOTATION_REQUEST_BLOCK = 8, /* it hands it on; address: its id */
	ANNOTATION_REQUEST_END = 9,   /* address: its id */
	ANNOTATION_REQUEST_END_ALL = 10,
	ANNOTATION_COUNT = 11,
};

/* The source of the spans that ANNOTATION_REQUEST_* mark. */
#define RECORDING_TAGGED "dwell:requests"

struct record_annotation {
	uint32_t thread;
	uint32_t other; /* thread that holds what is waited for; 0: not given */
	uint8_t type;	/* enum annotation_type */
	uint32_t name;	/* string: of a span */
	uint64_t address;
	uint64_t time;
	uint64_t
		queue; /* address: REQUEST_BEGIN: it was taken from it, _BLOCK: put into; 0: none */
};

/* The number of lost events by cause; the last record of a cause counts. */
struct record_lost {
	uint32_t cause; /* string, such as "ring buffer full" */
	uint64_t count;
};

/*
 * A function at an address. An address with inlined functions has several consecutive records,
 * innermost first.
 */
struct record_symbol {
	uint32_t dso;
	/*
	 * Offset in the file; absolute for kernel and JIT. Of data, such as a lock that threads
	 * waited for: where it would be in the file if that were mapped as a whole, where its code
	 * is.
	 */
	uint64_t address;
	uint32_t name;	 /* string, demangled; 0: the address has no name */
	uint32_t file;	 /* string or 0 */
	uint32_t line;	 /* 0: unknown */
	uint8_t inlined; /* 1: inlined into the frame that follows */
};

/*
 * The same, found while it was recorded, without lines and inlined functions: where the recorder
 * was killed before RECORD_SYMBOL, which takes precedence.
 */
struct record_function {
	uint32_t dso;
	uint64_t address;
	uint32_t name; /* string, never 0 */
};

struct record {
	enum record_type type;
	union {
		struct record_meta meta;
		struct record_string string;
		struct record_stack stack;
		struct record_dso dso;
		struct record_object object;
		struct record_thread thread;
		struct record_exec exec;
		struct record_comm comm;
		struct record_totals totals;
		struct record_map map;
		struct record_sample sample;
		struct record_interval interval;
		struct record_wake wake;
		struct record_lost lost;
		struct record_symbol symbol;
		struct record_function function;
		struct record_device device;
		struct record_idle idle;
		struct record_annotation annotation;
		struct record_request request;
		struct record_cpu_run cpu_run;
		struct record_span span;
		struct record_call call;
		struct record_short_calls short_calls;
		struct record_probe probe;
		struct record_scan scan;
		struct record_segment segment;
	};
};

struct recording_writer;

/*
 * A writer is not thread-safe. Programs that write recordings should ignore SIGXFSZ, to get
 * -EFBIG at the file size limit instead of being killed.
 *
 * Creates a file, readable by its owner only, and writes the file header. It has the name @path
 * from the first chunk on that holds a sample (or an interval or call): an existing file is renamed
 * to PATH.old then, as perf does. Without any, it gets the name at the end, if there is no file, or
 * an empty one. Character devices such as /dev/null are written to.
 * Errors, recorded with error__set(): -errno of open or write, -EISDIR, -ELOOP (a symbolic link,
 * or one on the way that another user can choose: base/safe_directory.h), -EPERM (a device that
 * another user can have made), -EINVAL (a pipe or block device).
 */
int recording_writer__create(const char *path, struct recording_writer **out);

/*
 * The stream of which it is the sink (recording/record_stream.h): what is put there is appended. A
 * chunk is written to the file when it is full. An error is kept, and returned by all that follows,
 * such as -ENOSPC: the file has all whole chunks written before, and nothing more is written.
 */
struct record_stream;
struct record_stream *recording_writer__stream(struct recording_writer *writer);

/* Writes the buffered records as a chunk, so that a crash does not lose them. 0 or -errno. */
int recording_writer__flush(struct recording_writer *writer);

/* Bytes in the file so far: whole chunks only. */
uint64_t recording_writer__size(const struct recording_writer *writer);

/*
 * Flushes, writes index and trailer, closes, and frees @writer in any case; NULL is allowed.
 * Returns 0 or the first error of the writer.
 */
int recording_writer__close(struct recording_writer *writer);

/*
 * Flushes, and writes index and trailer: the file is complete. More can be put, such as names,
 * which takes the place of the index; if that cannot be written, the file is as it was at this
 * call. 0 or the first error of the writer.
 */
int recording_writer__complete(struct recording_writer *writer);

/*
 * Whether the file has its name; if not after recording_writer__complete(), it has no sample, and
 * another file is there.
 */
bool recording_writer__has_name(const struct recording_writer *writer);

/*
 * Frees @writer (NULL: nothing) without completing the file: one that does not have its name yet is
 * removed.
 */
void recording_writer__discard(struct recording_writer *writer);

struct recording_reader;

/*
 * Opens @path. Errors, recorded with a message and a hint: -ENOENT, -EACCES, -EISDIR, -EINVAL
 * (not a recording; the message says what it is if file_type__recognize() knows), -ENOTSUP (a
 * newer major version), -ENODATA (empty, or cut in the file header).
 */
int recording_reader__open(const char *path, struct recording_reader **out);

/* The same of an open file; owns @fd from now on, also on errors. */
int recording_reader__open_fd(int fd, const char *path, struct recording_reader **out);

/*
 * Reads the next record. Returns 1, 0 at the end, -ENOMEM or -EIO. Strings, stacks, DSOs and
 * objects are returned as records too. Pointers in @record are valid until the next call.
 *
 * Whatever is in the file, intact, damaged or hostile, these guarantees hold for a record
 * (records that violate one are skipped, values read as none or unknown):
 * - A reference to a string, DSO or object is 0, or the record of that number was returned
 *   before. No number is defined twice. In a damaged file, references to lost records read
 *   as 0.
 * - The record of a stack may come after references to it, once, or never. The record of a
 *   thread may come later, or never if the recorder lost it.
 * - Numbers of strings, stacks, DSOs, objects, threads and devices are at most 65536 + 4 * (bytes
 *   of the file read so far), so that arrays can be indexed by them. Those of requests and probes
 *   may be any.
 * - Enums are in range; flags may have unknown bits. Strings are NUL-terminated. Stacks have at
 *   most 4096 frames.
 * - Times are at most INT64_MAX, and so is t_out + blocked_ns + runq_ns. start + size of a
 *   mapping does not overflow.
 *
 * A damaged chunk is skipped; one that is cut short ends the reading (0). Both are reported by
 * recording_reader__warning().
 */
int recording_reader__next(struct recording_reader *reader, struct record *record);

/*
 * What is wrong with the file, in one line: cut short (the recorder was killed or the disk was
 * full) or damaged, and how much is missing. NULL if nothing is, and until
 * recording_reader__next() has returned 0. Valid until the reader is closed.
 */
const char *recording_reader__warning(const struct recording_reader *reader);

/* Starts again at the first record. */
void recording_reader__rewind(struct recording_reader *reader);

void recording_reader__close(struct recording_reader *reader);
