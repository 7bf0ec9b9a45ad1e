/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recording: one file of compressed, checksummed chunks of records.
 * docs/format.md has the bytes; this is how the program sees them.
 *
 * Strings, stacks, DSOs and objects are interned: each is written once, before
 * the first record that names it, and named by its number from then on. Number
 * 0 is always "none" (the empty string, no stack), so real ones start at 1.
 * Times are ns, CLOCK_MONOTONIC. Values on disk are never renumbered; unknown
 * record types, and fields added behind the known ones, are skipped.
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
};

/*
 * A fact about the whole recording; a later value of the same key wins. Keys:
 * version, command, target, mode (sampling | trace), period_ns, grid_seed (of the
 * sampling points, see abi/grid.h), start and end
 * (ns, CLOCK_MONOTONIC; end is missing when the recorder was killed),
 * start_realtime (ns since 1970), hostname, kernel, machine, cpus, boot_id,
 * rung (where sleepers' stacks are taken), exit_status, cpu_ns (of dwell itself),
 * interface_N (the name of the network device with index N),
 * machine_busy_ns and machine_idle_ns (of all CPUs),
 * machine_switches and machine_switches_told (while it recorded, of all CPUs: those
 * the kernel counted, and those its tracepoints told of).
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
	uint32_t number;	/* given by the writer; not in the order of the file */
	const uint64_t *frames; /* innermost first; callers are return addresses */
	uint32_t depth;
	uint8_t kernel; /* 1: kernel addresses */
	uint8_t end;	/* enum stack_end */
};

enum dso_kind {
	DSO_FILE = 0,
	DSO_KERNEL = 1, /* addresses are absolute; also its modules and BPF programs */
	DSO_VDSO = 2,
	DSO_JIT = 3, /* anonymous executable memory; addresses are absolute, build_id is none */
};

struct record_dso {
	uint32_t number;   /* given by the writer */
	uint32_t path;	   /* string, as its process saw it; "[kernel]", "[vdso]", "[jit:PID]" */
	uint32_t build_id; /* string, lower-case hex; 0 when it has none */
	uint8_t kind;	   /* enum dso_kind */
	uint8_t deleted;   /* the path named another file, or none, when it was mapped */
	uint32_t pid;	   /* DSO_JIT: the process; else 0 */
};

struct record_object {
	uint32_t number;   /* given by the writer */
	uint8_t type;	   /* enum object_type */
	uint64_t id;	   /* inode, address or pid, see enum object_type */
	uint64_t extra;	   /* of a file the device, of a socket the index of a network device */
	uint32_t mode;	   /* files: i_mode */
	uint32_t family;   /* sockets: AF_* */
	uint32_t protocol; /* sockets: IPPROTO_* */
	uint32_t name;	   /* string: the path, or "ADDRESS:PORT" of the peer */
	uint32_t local;	   /* string: "ADDRESS:PORT" of a socket's own end */
};

struct record_thread {
	uint32_t thread; /* its number, from 1 */
	uint32_t tid;
	uint32_t tgid;
	uint32_t parent; /* thread number or 0 */
	uint32_t flags;	 /* enum thread_flags */
	uint32_t comm;	 /* string */
	uint64_t time;	 /* created, or first seen */
};

struct record_exec {
	uint32_t thread;
	uint32_t tid; /* from now on */
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
	uint64_t time;	/* until when they count */
	uint64_t ns[CLASS_COUNT];
	uint64_t voluntary;
	uint64_t involuntary;
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
	uint32_t device; /* that completed a request last where the wakeup came; 0: none */
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

/* A block device; its last record has what it did until @time. */
struct record_device {
	uint32_t device; /* its number, from 1 */
	uint32_t dev;	 /* major << 20 | minor */
	uint32_t name;	 /* string: "vda" */
	uint64_t time;
	uint64_t requests;
	uint64_t bytes;
	uint64_t queue_ns;   /* of all requests, before the driver had them */
	uint64_t service_ns; /* and from then on */
	uint64_t idle_ns;    /* with nothing in flight */
};

/* A block device had nothing in flight in [@since, @since + @ns), until @thread fed it. */
struct record_idle {
	uint32_t device;
	uint32_t thread; /* 0: unknown */
	uint64_t since;
	uint64_t ns;
	uint32_t points;       /* sampling points in it */
	uint16_t flags;	       /* the spacing, as in enum interval_flags */
	uint32_t kernel_stack; /* where the request was issued */
	uint32_t user_stack;   /* of @thread, if that issued it itself */
};

/* What a program told of itself by include/dwell.h; the values stand there, too. */
enum annotation_type {
	ANNOTATION_NONE = 0, /* or one that is not known */
	ANNOTATION_SPIN_BEGIN = 1,
	ANNOTATION_SPIN_END = 2,
	ANNOTATION_SPIN_RELEASE = 3,
	ANNOTATION_WOKEN_FOR_NOTHING = 4,
	ANNOTATION_COUNT = 5,
};

struct record_annotation {
	uint32_t thread;
	uint32_t other; /* thread: who holds what is waited for, if that was said */
	uint8_t type;	/* enum annotation_type */
	uint64_t address;
	uint64_t time;
};

/* How often something was lost; the last record of a cause counts. */
struct record_lost {
	uint32_t cause; /* string, such as "ring buffer full" */
	uint64_t count;
};

/*
 * One function at an address: the frames of an address follow each other, the
 * innermost inlined one first.
 */
struct record_symbol {
	uint32_t dso;
	uint64_t address; /* offset in the file; absolute for kernel and JIT */
	uint32_t name;	  /* string, demangled; 0: the address has no name */
	uint32_t file;	  /* string or 0 */
	uint32_t line;	  /* 0: unknown */
	uint8_t inlined;  /* 1: inlined into the frame that follows */
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
		struct record_device device;
		struct record_idle idle;
		struct record_annotation annotation;
	};
};

struct recording_writer;

/*
 * One thread at a time may use a writer. A program that writes recordings
 * ignores SIGXFSZ, to get -EFBIG at its file size limit instead of being killed.
 *
 * Creates @path, readable by its owner only (an existing file is first renamed
 * to PATH.old, as perf does), and writes the file header. Device files such as
 * /dev/null are written to as they are. Errors: -errno of open or write,
 * -EISDIR, -ELOOP (a symbolic link: it may be somebody else's), -EINVAL (a pipe
 * or block device), with error__set() done.
 */
int recording_writer__create(const char *path, struct recording_writer **out);

/*
 * Opens a recording to add records behind its last whole chunk (symbols, after
 * the run). Strings, stacks, DSOs and objects that are in it keep their
 * numbers, new ones go on where they ended; only stacks by hash start anew. The
 * file is untouched until the first chunk is written; when that or a later one
 * fails, everything added is taken back. One that was cut short can be added
 * to, and keeps saying so. Errors as recording_reader__open(), -EBUSY (still
 * being written), and -EINVAL for one that is damaged.
 */
int recording_writer__append(const char *path, struct recording_writer **out);

/*
 * The number of a string; written first when it is new. 0 for an empty one or
 * NULL. Bytes over 1 MiB are cut off. Never fails: an error is kept, and returned
 * by the next recording_writer__put().
 */
uint32_t recording_writer__string(struct recording_writer *writer, const char *text);

/*
 * The number of a stack, DSO or object; written first when it is new. @number
 * in it is not looked at. Stacks over 4096 frames are cut, and end in STACK_TOO_DEEP.
 */
uint32_t recording_writer__stack(struct recording_writer *writer, const struct record_stack *stack);
uint32_t recording_writer__dso(struct recording_writer *writer, const struct record_dso *dso);
uint32_t recording_writer__object(struct recording_writer *writer,
				  const struct record_object *object);

/*
 * Numbers a stack that is known by a 64-bit hash before its frames are:
 * RECORD_STACK is written when they come (recording_writer__stack_frames), only
 * for the first time. Frames may also come before the number is asked for. A
 * number whose frames never come reads as an empty stack. Hash 0 is no stack: 0.
 */
uint32_t recording_writer__stack_by_hash(struct recording_writer *writer, uint64_t hash);
void recording_writer__stack_frames(struct recording_writer *writer, uint64_t hash,
				    const struct record_stack *stack);

/*
 * Appends a record (any type but STRING, STACK, DSO, OBJECT). Chunks go to disk
 * as they fill. Returns 0 or the first error (a full disk: -ENOSPC), after which
 * the file holds every whole chunk written before and nothing more is written.
 */
int recording_writer__put(struct recording_writer *writer, const struct record *record);

/* META with both strings interned; the value is formatted. */
int recording_writer__meta(struct recording_writer *writer, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes what is buffered as a whole chunk, so that a crash loses nothing before. */
int recording_writer__flush(struct recording_writer *writer);

/* Bytes in the file so far, and records put by this writer, interned ones included. */
uint64_t recording_writer__size(const struct recording_writer *writer);
uint64_t recording_writer__records(const struct recording_writer *writer);

/*
 * Flushes, writes index and trailer, and closes. Always frees @writer (NULL is
 * fine). Returns 0 or the first error there was.
 */
int recording_writer__close(struct recording_writer *writer);

struct recording_reader;

/*
 * Opens @path. Errors, each with a message and a mend by error__set(): -ENOENT,
 * -EACCES, -EISDIR, -EINVAL (not a recording; names the tool it is of when that
 * can be seen: perf.data, gzip, ...), -ENOTSUP (a newer major version), -ENODATA
 * (an empty file).
 */
int recording_reader__open(const char *path, struct recording_reader **out);

/*
 * The next record: 1, or 0 at the end. Interned strings, stacks, DSOs and
 * objects come as records too, before what names them (but for stacks known by
 * hash first); a reader that keeps them must copy. Pointers in @record are valid
 * until the next call. -ENOMEM and -EIO are errors.
 *
 * Whatever is in the file, intact, damaged or hostile, a record keeps these
 * promises (what would break one is skipped, or reads as none or unknown):
 * - A string, DSO or object named by a record is 0 or came before as a record of
 *   its own; each number comes only once. In a damaged file, references to what
 *   is lost read as 0.
 * - A stack's record may come later than its number, once, or never. A thread's
 *   may come later, or never, if it was lost on its way to the recording.
 * - Every number is at most 65536 + 4 for each byte of the file so far, so it can
 *   index an array that grows.
 * - Enums are in their range, flags may have unknown bits. Strings end in a NUL.
 *   Stacks have at most 4096 frames.
 * - Times are at most INT64_MAX, and so is t_out + blocked_ns + runq_ns. A
 *   mapping's start + size does not overflow.
 *
 * A chunk that is damaged is skipped, and reading goes on behind it; a chunk that
 * is cut ends the reading (0). recording_reader__warning() tells of both.
 */
int recording_reader__next(struct recording_reader *reader, struct record *record);

/*
 * NULL, or what is wrong with the file, for one line of warning: cut short (the
 * recorder was killed or the disk was full), or damaged, and how much is missing.
 * Complete once recording_reader__next() returned 0 for the first time, and NULL
 * before. Valid until the reader is closed.
 */
const char *recording_reader__warning(const struct recording_reader *reader);

/* Bytes in the file, and how many of them were read: for progress. */
uint64_t recording_reader__size(const struct recording_reader *reader);
uint64_t recording_reader__position(const struct recording_reader *reader);

/* Back to the first record. */
void recording_reader__rewind(struct recording_reader *reader);

void recording_reader__close(struct recording_reader *reader);
