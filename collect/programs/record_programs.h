/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel side of a recording (bpf/record.bpf.c), for captures whose sink needs samples,
 * intervals and totals, whether it writes them to a file or not.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "abi/targets.h"
#include "abi/thread_run.h"
#include "collect/capture/capture.h"
#include "collect/probes/probe_cost.h"

struct record_bpf;

/* The caller sets the first members, and zeroes the rest. Must live as long as the capture. */
struct record_programs {
	enum helper_threads helpers; /* which threads are recorded because they wake one that is */
	bool lock_wakers;	     /* stacks of wakers only where they end a wait for a lock */
	bool trace;		     /* as in capture_config */
	bool span_probes;	     /* there will be probes for spans */
	bool call_probes;	     /* and for calls of functions */
	bool tells_runs;	     /* record_programs__map_runs() will be called */
	struct record_bpf *skeleton; /* NULL unless the object is open */
	uint64_t other_sends;	     /* not by TCP, until record_programs__tick() was called last */
};

/* For capture__new(). */
struct loader_object record_programs__loader(struct record_programs *programs);

/*
 * Finds the sockets that listen already, in dwell's network namespace, and the run queues of CPUs:
 * once the programs are loaded. Without it, of their connections it is not known whether the listen
 * queue is full, and of a CPU not that it is idle before it has been busy.
 */
void record_programs__find_existing(const struct record_programs *programs);

/*
 * To be called ten times a second. In sampling mode, programs that run for all that is sent on the
 * machine are detached while recorded threads do not use TCP and others send much: what TCP holds
 * back is not known then, until this is called next after a recorded thread has sent by TCP.
 */
void record_programs__tick(struct record_programs *programs);

/*
 * Maps the runs of threads (abi/thread_run.h), read-only; record_programs__unmap_runs() takes them
 * away. NULL: there is no memory.
 */
const struct thread_run *record_programs__map_runs(const struct record_programs *programs);
void record_programs__unmap_runs(const struct thread_run *runs);

/* For the probes at functions; valid while the programs are loaded. */
struct call_programs record_programs__calls(const struct record_programs *programs,
					    const struct kernel_info *kernel);

/* A descriptor of the map of block devices; valid while the programs are loaded. */
int record_programs__devices(const struct record_programs *programs);

/*
 * To be called by the sink's on_end(). Passes to capture__event() what the programs have kept: the
 * totals of threads up to @end, that of the capture, and the intervals and calls that are still
 * open. 0 or a negative errno with a message.
 */
int record_programs__end(struct record_programs *programs, struct capture *capture, uint64_t end);
