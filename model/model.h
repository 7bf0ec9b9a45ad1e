/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loaded recording: processes, threads with their timelines, and stacks resolved to code. Plain
 * structs that refer to each other by index; index 0 means none.
 *
 * Times are ns, CLOCK_MONOTONIC. Dangling references of a damaged file have been replaced by 0, so
 * all indices are valid.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/round.h"
#include "model/diagnostics.h"
#include "recording/recording.h"

#define MODEL_FOREVER UINT64_MAX
#define MODEL_PROBES  4096 /* numbers are below */

/* A clock tick that found the thread running. */
struct model_sample {
	uint64_t time;
	uint32_t weight; /* sampling points it stands for */
	uint32_t kernel; /* stack; 0: it ran in user mode */
	uint32_t user;	 /* stack */
};

/* The thread was off the CPU in [t_out, t_out + blocked_ns + runq_ns). */
struct model_interval {
	uint64_t t_out;
	uint64_t blocked_ns; /* until the wakeup */
	uint64_t runq_ns;    /* from the wakeup until it ran again */
	uint64_t stolen_ns;  /* of the run before it; 0: less than STOLEN_MIN */
	uint32_t blocked_points;
	uint32_t runq_points;
	uint32_t kernel; /* stack, from below schedule() on */
	uint32_t user;	 /* stack */
	uint32_t object;
	uint32_t waker;	       /* thread that woke it; 0: an interrupt did, or it is unknown */
	uint32_t wake;	       /* 1 + index in the thread's wakes: the waker's stack; 0: none */
	uint16_t flags;	       /* enum interval_flags */
	int16_t syscall;       /* number, -1: none */
	uint8_t class;	       /* enum wait_class of the blocked part */
	uint8_t waker_context; /* enum waker_context */
	uint8_t sequence;      /* 0: not known; otherwise see model_thread__lost_before() */
	uint16_t cpu;	       /* where it runs again: number + 1; 0: unknown */
	uint32_t device;       /* which completed a request last on the CPU of the wakeup */
	uint32_t request;      /* 1 + index in the model: the request that was completed; 0: none */
	uint32_t previous;     /* thread that ran before on the CPU */
	uint32_t sender;       /* of a wakeup in an interrupt: thread that sent to the socket */
	uint32_t segment;      /* 1 + index in the thread's segments; 0: nothing was held back */
	uint32_t held; /* object: the socket, if TCP held data back for most of the blocked part */
};

/* A request to a block device, in trace mode. */
struct model_request {
	uint64_t begun;
	uint64_t issued; /* to the driver */
	uint64_t completed;
	uint64_t sector; /* of 512 bytes */
	uint64_t bytes;
	uint32_t number; /* in the recording */
	uint32_t device;
	uint32_t thread; /* that created it */
	uint8_t op;	 /* enum request_op */
};

/* A thread that is not recorded had a CPU: see struct record_cpu_run. */
struct model_cpu_run {
	uint64_t from;
	uint64_t until; /* more than from */
	uint64_t ns;	/* of that; at most until - from */
	uint32_t thread;
	uint16_t cpu; /* its number + 1 */
};

/* A request to a server, or another operation: see struct record_span. */
struct model_span {
	uint64_t arrived; /* <= begun <= ended */
	uint64_t begun;
	uint64_t ended;
	uint32_t name;	   /* string: its source */
	uint32_t thread;   /* that ended it */
	uint32_t begun_by; /* thread */
	uint32_t object;
	uint32_t flags;	  /* enum span_flags, of a push */
	uint64_t id;	  /* of a tagged request: the program's */
	uint32_t part;	  /* of a tagged request: the first of its parts, in span_parts */
	uint32_t n_parts; /* 0: it is no tagged request, but one of @thread all the time */
};

/* A thread had a tagged request, or it was in a queue. Parts may overlap. */
struct model_span_part {
	uint64_t begin;
	uint64_t end;
	uint64_t queue;	 /* its address, if @thread is 0; 0: not given */
	uint32_t thread; /* 0: it was in a queue, or waited */
};

/* A wakeup of the thread, with the waker's stack. */
struct model_wake {
	uint64_t time;
	uint32_t waker;	  /* thread */
	uint32_t kernel;  /* stack */
	uint32_t user;	  /* stack, of the waker */
	uint32_t context; /* enum waker_context */
};

/* TCP held back what the thread waited for when a packet woke it: see struct record_segment. */
struct model_segment {
	uint64_t time;
	uint64_t written; /* SEGMENT_SPACE: 0 */
	uint64_t left;	  /* written <= left <= time */
	uint64_t until[SEGMENT_HOLDS];
	uint32_t objects[SEGMENT_HOLDS]; /* the socket, with the reason */
	uint8_t reasons[SEGMENT_HOLDS];	 /* enum hold_reason */
	uint8_t n;			 /* reasons; never 0 */
	uint8_t role;			 /* enum segment_role */
	uint32_t writer;		 /* thread */
};

/* TCP held back what a thread waited for, in [@from, @until). */
struct model_hold {
	uint64_t from;
	uint64_t until;
	uint32_t object; /* the socket, with the reason */
	uint8_t reason;	 /* enum hold_reason */
};

/* The thread's name from @time on. */
struct model_comm {
	uint64_t time;
	uint32_t name; /* string */
};

struct model_exec {
	uint64_t time;
	uint32_t comm; /* string */
};

/* An annotation by include/dwell.h. */
struct model_annotation {
	uint64_t time;
	uint64_t address;
	uint64_t queue;
	uint32_t other; /* thread */
	uint32_t name;	/* string */
	uint8_t type;	/* enum annotation_type */
};

/* A call that a scanner of shadow stacks saw, or probes: see struct record_call. */
struct model_call {
	uint64_t begin;
	uint64_t end;
	uint32_t stack; /* see struct record_call */
	uint32_t begin_slack;
	uint32_t end_slack;
	uint16_t depth;
	uint16_t flags; /* enum call_flags */
	uint32_t probe; /* that measured it; 0: none. May have no element in the model's probes */
	uint64_t overhead; /* ns of it that probes took: at most its length */
};

/* Without what probes took. */
static inline uint64_t model_call__length(const struct model_call *call)
{
	return call->end - call->begin - call->overhead;
}

/* Calls shorter than the scanner's period: see struct record_short_calls. */
struct model_short_calls {
	uint64_t time;
	uint32_t stack;
	uint64_t looks;
	uint64_t ended;
	uint64_t seen; /* 0: unknown */
	uint64_t ns;
	uint64_t nested_ns; /* at most ns */
};

/* Probes at a function: see struct record_probe. */
struct model_probe {
	uint32_t name; /* string: the function */
	uint64_t entries;
	uint64_t cost_ns;
	uint64_t set_ns;
	uint64_t times;
	uint64_t cpu_ns;
	uint64_t set_cpu_ns;
	bool single_stepped;
};

/* Tagged requests (DWELL_REQUEST_BEGIN and related macros) that are not in model.spans, and why. */
struct model_tags {
	uint64_t requests; /* that are */
	uint64_t unended;  /* that were begun, but not ended */
	uint64_t strays;   /* tags that hand on or end a request that the thread does not have */
};

/* How much of the time of threads lies in pairs of looks: see struct record_scan. */
struct model_coverage {
	uint64_t ns;
	uint64_t pairs;
	uint64_t pair_ns;
	uint64_t gap_ns[SCAN_GAPS]; /* all 0: unknown */
	uint64_t pushes;
	uint64_t pushes_ns;
};

/* What the scanner did, in all. */
struct model_scans {
	uint64_t reports; /* 0: there was no scanner */
	struct model_coverage all;
	uint64_t longest_ns;
	uint64_t torn;
	uint64_t lost;
	uint64_t missed;
};

struct model_thread {
	uint32_t number; /* in the recording */
	uint32_t tid;
	uint32_t tgid;
	uint32_t parent; /* thread */
	uint32_t process;
	uint32_t flags;	  /* enum thread_flags */
	uint64_t created; /* or first seen */
	uint64_t ended;	  /* end of the time of its totals; without totals, the recording's end */
	bool exited;
	bool announced; /* has a RECORD_THREAD; else tid, tgid and name were lost */
	bool has_totals;
	bool totals_lost; /* a recorder that counts CPU time ended properly: they must be there */
	bool counted;	  /* the kernel counted its CPU time; else it is what intervals left */
	/* Per enum wait_class: */
	uint64_t ns[CLASS_COUNT];     /* exact times of [created, ended) */
	uint64_t points[CLASS_COUNT]; /* sampling points of all samples and intervals */
	double factor[CLASS_COUNT];   /* calibration: points * period * factor = time; 1 without
					 totals and for exact times (see calibrate.c) */
	/* Upper bounds of the variance of points, see accuracy.c. */
	double own_variance[CLASS_COUNT];    /* independent of that of other threads */
	double common_variance[CLASS_COUNT]; /* by sampling points that all threads have */
	/* With those of the classes, they sum to ended - created if the times are counted. */
	uint64_t stolen_ns;	 /* of runs, by a hypervisor or interrupts; not its CPU time */
	uint64_t last_stolen_ns; /* of the last run alone; 0: less than STOLEN_MIN */
	uint64_t unseen_ns;	 /* between switches that were not seen; it did not run then */
	uint32_t unseen;	 /* number of such times */
	uint8_t sequence;	 /* of the last interval; another one if it was lost, or after it */
	uint64_t voluntary;
	uint64_t involuntary;
	ARRAY(struct model_comm) comms;		     /* by time; never empty */
	ARRAY(struct model_exec) execs;		     /* by time */
	ARRAY(struct model_sample) samples;	     /* by time */
	ARRAY(struct model_interval) intervals;	     /* by t_out */
	ARRAY(struct model_wake) wakes;		     /* by time */
	ARRAY(struct model_segment) segments;	     /* by time */
	ARRAY(struct model_annotation) annotations;  /* by time */
	ARRAY(struct model_call) calls;		     /* by end */
	ARRAY(struct model_short_calls) short_calls; /* as they come in the recording */
	struct model_coverage coverage;		     /* by a scanner of its calls */
};

/* A block device had no request in flight in [since, since + ns); then @thread issued one. */
struct model_idle {
	uint64_t since;
	uint64_t ns;
	uint32_t points;
	uint32_t thread;
	uint32_t kernel; /* stack */
	uint32_t user;	 /* stack, of @thread */
	uint16_t flags;	 /* the spacing, as in enum interval_flags */
};

struct model_device {
	uint32_t number; /* in the recording */
	uint32_t dev;	 /* major << 20 | minor */
	uint32_t name;	 /* string */
	uint64_t seen;	 /* time of its first request; idle time counts from then on */
	uint64_t requests;
	uint64_t bytes;
	uint64_t queue_ns;		/* of all requests: from insertion to issue to the driver */
	uint64_t service_ns;		/* of all requests: from issue to completion */
	uint64_t idle_ns;		/* without a request in flight */
	ARRAY(struct model_idle) idles; /* by since */
};

/* An executable mapping that existed in [from, until). */
struct model_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* of @start in the file */
	uint64_t from;
	uint64_t until;
	uint64_t reach; /* the highest end of this and all maps before it */
	uint32_t dso;
};

/* A process. A pid that was reused has several. */
struct model_process {
	uint32_t pid;
	uint32_t parent;   /* process */
	uint32_t previous; /* process that had the same pid before */
	uint32_t leader;   /* thread: the leader, or else the first one seen */
	uint64_t created;
	uint64_t ended;		      /* MODEL_FOREVER while a thread was alive at the end */
	ARRAY(struct model_map) maps; /* by start */
};

struct model_dso {
	uint32_t path;	   /* string */
	uint32_t name;	   /* string: its last component, as tables print it */
	uint32_t build_id; /* string */
	uint32_t pid;
	uint8_t kind; /* enum dso_kind */
	bool deleted;
	bool c_library; /* it is one, though its name does not tell any more (model/redact.h) */
};

struct model_object {
	uint8_t type; /* enum object_type */
	uint64_t id;
	uint64_t extra;
	uint32_t mode;
	uint32_t family;
	uint32_t protocol;
	uint8_t side;	/* sockets: enum socket_side */
	uint32_t name;	/* string */
	uint32_t local; /* string */
	/* A socket on which TCP held back what was waited for: */
	uint8_t hold;	    /* enum hold_reason */
	uint32_t owner_pid; /* process that listens, or does not read; 0: unknown */
	uint32_t owner;	    /* string: its name */
};

/* A function at a location. */
struct model_frame {
	uint32_t name; /* string; 0: no name */
	uint32_t file; /* string */
	uint32_t line; /* 0: unknown */
	bool inlined;  /* into the next frame */
};

/* An instruction address in a DSO, with its frames. */
struct model_location {
	uint64_t address;  /* offset in the file; absolute for kernel, JIT and unknown */
	uint32_t dso;	   /* 0: in no known mapping */
	uint32_t frame;	   /* index of its first frame; innermost inlined function first */
	uint16_t n_frames; /* never 0 after model__symbolize() */
	bool kernel;
	bool data;	  /* not code: see struct model_variable */
	bool provisional; /* until model__symbolize(): it has a name without lines */
};

/*
 * A futex that lies in the data of a file, maybe. Its location's address is as of
 * symbolizer__variable(), and its frame's name that of the variable.
 */
struct model_variable {
	uint32_t process;
	uint32_t object;
	uint32_t location;
};

struct model_stack {
	size_t first; /* in stack_locations, innermost first */
	uint16_t depth;
	uint8_t kernel;
	uint8_t end; /* enum stack_end */
};

struct model_lost {
	uint32_t cause; /* string */
	uint64_t count;
};

struct model_meta {
	uint32_t key;	/* string */
	uint32_t value; /* string */
};

struct model {
	struct intern strings; /* see model__string(); 0 is "" */

	/* Element 0 of each stands for none. */
	ARRAY(struct model_thread) threads;
	ARRAY(struct model_process) processes;
	ARRAY(struct model_dso) dsos;
	ARRAY(struct model_object) objects;
	ARRAY(struct model_device) devices;
	ARRAY(struct model_request) requests;	  /* without an element 0 for none; by completion */
	ARRAY(struct model_cpu_run) cpu_runs;	  /* no element for none; by CPU, then until */
	ARRAY(struct model_span) spans;		  /* without an element 0 for none; by end */
	ARRAY(struct model_span) pushes;	  /* the same: sent by a server, but no answers */
	ARRAY(struct model_span_part) span_parts; /* of each span by begin */
	ARRAY(struct model_stack) stacks;
	ARRAY(struct model_location) locations;
	ARRAY(struct model_variable) variables; /* by process and object; no element for none */

	ARRAY(uint32_t) stack_locations;
	ARRAY(struct model_frame) frames;
	ARRAY(struct model_meta) metas;
	ARRAY(struct model_lost) losts;

	ARRAY(struct model_probe) probes; /* by number; those without a record are zeroed */

	struct model_scans scans;
	struct model_tags tags;
	uint64_t start;	    /* of the recording */
	uint64_t end;	    /* of the recording, or of its last record if it was cut short */
	uint64_t period_ns; /* between two sampling points */
	uint64_t grid_seed; /* of the sampling points, see abi/grid.h */
	bool trace;	    /* trace mode: all intervals were recorded, not only sampled ones */
	uint32_t spacing;   /* the coarsest sampling of waits: every 2^spacing periods */

	uint64_t n_samples;
	uint64_t n_intervals;
	uint64_t truncated[STACK_END_COUNT]; /* number of user stacks of samples and
						intervals, by enum stack_end */
	uint64_t refused;		     /* records that were dropped for dangling references */
	char *warning;			     /* what is wrong with the file, in one line; or NULL */
	model_diagnostics diagnostics;
};

/*
 * Loads @path. Locations have frames only after model__symbolize(). Errors as
 * of recording_reader__open() and recording_reader__next().
 */
int model__load(const char *path, struct model **out);
void model__free(struct model *model);

struct model_symbolize_options {
	bool lines;	    /* source lines and inlined functions too */
	bool debuginfod;    /* ask servers for missing debug files */
	bool embedded_only; /* use only symbols in the recording; for tests */

	/* What reads the files (privsep/names.h); NULL: this process. */
	struct privsep *privsep;
};

/*
 * Sets the frames of all locations: from the recording if it has them, else by symbols/. Then
 * removes the frames of tracing, and for blocked stacks those above the scheduler, from the top of
 * kernel stacks; and from wakeups in interrupts the thread that was interrupted: their waker is
 * none, unless it sent what was received. To be called once. Returns 0 or -ENOMEM.
 */
int model__symbolize(struct model *model, const struct model_symbolize_options *options);

static inline const char *model__string(const struct model *model, uint32_t id)
{
	return intern__bytes(&model->strings, id, NULL);
}

/* The id of @text, which must not point into model->strings; 0 for NULL and when out of memory. */
uint32_t model__intern(struct model *model, const char *text);

/* The value of the RECORD_META with @key, or NULL. */
const char *model__meta(const struct model *model, const char *key);

/* The same as a number; @otherwise if there is none. */
uint64_t model__meta_number(const struct model *model, const char *key, uint64_t otherwise);

/* Whether DSO @index is the C library (or its older libpthread). */
bool model__is_c_library(const struct model *model, uint32_t index);

/*
 * The number of @thread's intervals that begin at or before @time. Fast if the result is close to
 * @near, any number: that of the last time, where times ascend.
 */
size_t model_thread__intervals_until(const struct model_thread *thread, uint64_t time, size_t near);

/*
 * Whether intervals of @thread before number @interval, and after the one before it, were lost, or
 * switches were not seen: the time between is no run then. @interval is at most their number: then
 * it is the time after the last.
 */
bool model_thread__lost_before(const struct model_thread *thread, size_t interval);

/* The object that most of the blocked part of @interval was for. */
static inline uint32_t model_interval__object(const struct model_interval *interval)
{
	return interval->held ? interval->held : interval->object;
}

/*
 * Sets @holds to the times within the blocked part of @interval, of @thread, in which TCP held back
 * what it waited for: not empty, one after the other. Returns their number.
 */
size_t model_interval__holds(const struct model_thread *thread,
			     const struct model_interval *interval,
			     struct model_hold holds[SEGMENT_HOLDS]);

/* A time on the CPU: [from, until), of which a hypervisor and interrupts took stolen_ns. */
struct model_run {
	uint64_t from;
	uint64_t until;
	uint64_t stolen_ns; /* <= until - from; 0: less than STOLEN_MIN, or unknown */
};

/*
 * The run of @thread before interval number @interval, or after the last one if that is their
 * number. False if there is none, or it was not seen. In trace mode.
 */
bool model_thread__run_before(const struct model_thread *thread, size_t interval,
			      struct model_run *run);

/* Whether the intervals of @thread are in the recording, not only its name. */
static inline bool model_thread__is_recorded(const struct model_thread *thread)
{
	return thread->flags & (THREAD_TARGET | THREAD_HELPER) || thread->intervals.n;
}

/* Whether the thread was recorded only because it woke a target. */
static inline bool model_thread__is_helper(const struct model_thread *thread)
{
	return (thread->flags & (THREAD_HELPER | THREAD_TARGET)) == THREAD_HELPER;
}

/* The calibrated time, in ns, of @points sampling points of @thread in @class. */
static inline uint64_t model_thread__time(const struct model *model,
					  const struct model_thread *thread, enum wait_class class,
					  uint64_t points)
{
	return round__uint64((double)(points * model->period_ns) * thread->factor[class]);
}

/* The time of the samples of @thread in @class before calibration, in ns. */
static inline uint64_t model_thread__sampled_ns(const struct model *model,
						const struct model_thread *thread,
						enum wait_class class)
{
	return thread->points[class] * model->period_ns;
}

/*
 * The exact time that samples of @thread in @class estimate: on the CPU that of its runs, as a tick
 * does not tell what was stolen from a run.
 */
static inline uint64_t model_thread__exact_ns(const struct model_thread *thread,
					      enum wait_class class)
{
	return thread->ns[class] + (class == CLASS_CPU ? thread->stolen_ns : 0);
}

/*
 * Whether it differs from the exact time by more than chance: by 5 standard errors, and by more
 * than 1% and 1 ms. False in trace mode for classes off the CPU.
 */
bool model_thread__is_calibrated(const struct model *model, const struct model_thread *thread,
				 enum wait_class class);

/* The sampling error of the time in a class, of one thread or the sum of several. */
struct sampling_error {
	double own; /* variances, in squared periods */
	double common;
	size_t threads;
	double exact_ns; /* sums */
	double sampled_ns;
};

/* Adds that of @thread in @class to @error, which the caller has zeroed first. */
void sampling_error__add(struct sampling_error *error, const struct model *model,
			 const struct model_thread *thread, enum wait_class class);

/* The standard error of the sum of sampled times, at most, in ns. */
double sampling_error__ns(const struct sampling_error *error, const struct model *model);

/* Whether that sum differs from the exact one by more than chance, as above. */
bool sampling_error__is_exceeded(const struct sampling_error *error, const struct model *model);

/* The name of @thread at @time: a string id. */
uint32_t model_thread__comm(const struct model_thread *thread, uint64_t time);

/*
 * The mapping that contains @address at @time, or else the next one that will (code can run before
 * its mapping is reported), or NULL. The result is the same for all times in [*@from, *@until).
 */
const struct model_map *model_process__map(const struct model_process *process, uint64_t address,
					   uint64_t time, uint64_t *from, uint64_t *until);

/*
 * The mapping with the highest start at or below @address that existed at @time, or NULL: that of
 * the file's code, if @address is in the data of a file.
 */
const struct model_map *model_process__map_below(const struct model_process *process,
						 uint64_t address, uint64_t time);

/* The name of the variable that futex @object is in, in @process: a string; 0: none, or unknown. */
uint32_t model__variable(const struct model *model, uint32_t process, uint32_t object);

/* The location of frame @i of @stack; 0 is the innermost. */
static inline const struct model_location *
model__location(const struct model *model, const struct model_stack *stack, size_t i)
{
	return &model->locations.data[model->stack_locations.data[stack->first + i]];
}

DEFINE_CLEANUP(struct model *, model__free)
#define _cleanup_model_ _cleanup_(model__freep)
