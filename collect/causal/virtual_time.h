/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User-space control of virtual time: its shared memory, targets and counters. The work is done by
 * bpf/causal.bpf.c, and by libdwell.so, which pauses threads in the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "abi/delay_area.h"
#include "abi/event.h"
#include "abi/kind_steps.h"
#include "collect/capture/loader.h"

struct virtual_time;

struct virtual_time_config {
	uint32_t signal;       /* 0: 32, the C library's for pthread_cancel() */
	uint64_t min_pause_ns; /* 0: 100 us */
};

/*
 * Creates the shared memory and adds libdwell.so and the memory's descriptor to the environment of
 * commands started from now on. -errno with a message; -ENOENT: libdwell.so was not found.
 */
int virtual_time__new(const struct virtual_time_config *config, struct virtual_time **out);

/*
 * The kernel side, for capture__new(). It is loaded and destroyed with the capture: the functions
 * below must be called in between, and virtual_time__free() afterwards.
 */
struct loader_object virtual_time__object(struct virtual_time *vtime);

/* Maps the array of code ranges, once the BPF programs are loaded. -errno with a message. */
int virtual_time__map_ranges(struct virtual_time *vtime);

/* A target, see enum causal_match; ranges and callers are sorted. */
struct virtual_time_target {
	const char *name; /* for messages */
	enum causal_match match;
	enum wait_class class;
	struct kind_set kinds;
	const struct causal_range *ranges;
	size_t n_ranges;
	const struct causal_range *callers;
	size_t n_callers;
};

/*
 * Sets target @index, 0 to CAUSAL_TARGETS - 1, with a speedup of 0. -E2BIG, with a message: it
 * has more than CAUSAL_RANGES ranges or callers.
 */
int virtual_time__set_target(struct virtual_time *vtime, uint32_t index,
			     const struct virtual_time_target *target);

/*
 * Sets the tables that decide kinds of waiting: @ranges, functions of the running kernel, sorted by
 * start, and the kind of each system call (wait_kinds/kind_clues.h). -E2BIG: more than
 * KIND_RANGES_MAX ranges.
 */
int virtual_time__set_kinds(struct virtual_time *vtime, const struct kind_range *ranges, size_t n);

/* Sets the @speedup of target @index, 0 to 1. */
void virtual_time__speed_up(struct virtual_time *vtime, uint32_t index, double speedup);

/* ns of samples in target @index since the start. */
uint64_t virtual_time__hits(const struct virtual_time *vtime, uint32_t index);

/*
 * Begins (@tested) or ends a test of pauses, and from now on pauses all threads for @share, 0 to 1,
 * of the time. While it is in progress, waits for what is outside of the program are counted.
 */
void virtual_time__test_pauses(struct virtual_time *vtime, bool tested, double share);
void virtual_time__outside(const struct virtual_time *vtime, uint64_t ns[CAUSAL_WAITS]);

/*
 * By how many ns `global` has grown while threads had asynchronous I/O in flight without waiting
 * for it; sum of all threads.
 */
uint64_t virtual_time__in_flight(const struct virtual_time *vtime);

/* ns that counting a visit by a uprobe takes of a CPU, measured now at a function of dwell; 0: that
 * failed. @single_stepped: see struct code_entry. */
uint64_t virtual_time__uprobe_cost(struct virtual_time *vtime, bool single_stepped);

/*
 * Only the part of a debt that has existed for @ns is paid. So threads that alternate on a CPU do
 * not pay the short debts between them.
 */
void virtual_time__settle(struct virtual_time *vtime, uint64_t ns);

/* Forgives all debts and ends all pauses. */
void virtual_time__forgive(struct virtual_time *vtime);

/* Ends all pauses, and prevents further ones. */
void virtual_time__disable_pauses(struct virtual_time *vtime);

/* Sets whether the file whose unwind table has @slot is in scope. */
void virtual_time__set_scope(struct virtual_time *vtime, uint32_t slot, bool in_scope);

/* Sets the code in files in scope that is not in scope, sorted. -E2BIG: more than
 * CAUSAL_OUT_RANGES. */
int virtual_time__set_out_of_scope(struct virtual_time *vtime, const struct causal_range *ranges,
				   size_t n);

/* A place (UNWIND_CODE) drawn at random from the samples since the last call; 0: there were none.
 */
uint64_t virtual_time__candidate(struct virtual_time *vtime);

/* The last values of all progress points that the kernel side read, about once per period. */
void virtual_time__read_points(const struct virtual_time *vtime, struct causal_look *look);

/* The number of points claimed so far; a point, which the program can change (point_copy.h). */
uint32_t virtual_time__points(const struct virtual_time *vtime);
const struct dwell_point *virtual_time__point(const struct virtual_time *vtime, uint32_t number);

/* Visits of point @number so far. */
uint64_t virtual_time__visits(const struct virtual_time *vtime, uint32_t number);

/* Claims a point whose visits the kernel side counts. Returns its number, or -ENOSPC. */
int virtual_time__claim_point(struct virtual_time *vtime, enum dwell_point_type type,
			      const char *name);

/*
 * Counts system calls @nr that return without an error as visits of point @number. To be called
 * before the programs are loaded. 0 or -EINVAL.
 */
int virtual_time__count_syscall(struct virtual_time *vtime, uint32_t nr, uint32_t number);

/*
 * Counts visits of a place in unmodified code as point @number. 0, or -errno of the kernel.
 *
 * By uprobe: of @offset in the file @path, in all processes; @semaphore, of a USDT probe, is
 * incremented meanwhile (0: it has none). By breakpoint: of @address in thread @tid and in threads
 * and processes that it creates later; -ENOSPC beyond the four that a processor has, -EOPNOTSUPP
 * where breakpoints do not fire.
 */
int virtual_time__count_by_uprobe(struct virtual_time *vtime, const char *path, uint64_t offset,
				  uint64_t semaphore, uint32_t number);
int virtual_time__count_by_breakpoint(struct virtual_time *vtime, pid_t tid, uint64_t address,
				      uint32_t number);

struct virtual_time_counts {
	uint64_t global_ns;  /* delay inserted so far */
	uint64_t sampled_ns; /* of samples in scope */
	uint64_t class_ns[CLASS_COUNT];
	uint64_t pauses;
	uint64_t unpaused[CAUSAL_UNPAUSED];
	uint32_t unpaused_tid[CAUSAL_UNPAUSED]; /* the first thread of each */
	uint64_t places_lost;
};

void virtual_time__counts(const struct virtual_time *vtime, struct virtual_time_counts *counts);
uint64_t virtual_time__global(const struct virtual_time *vtime);

/* Calls @place for each place with samples, with the ns of these. */
void virtual_time__places(const struct virtual_time *vtime,
			  void (*place)(void *arg, uint64_t code, uint64_t ns), void *arg);

void virtual_time__free(struct virtual_time *vtime);
DEFINE_CLEANUP(struct virtual_time *, virtual_time__free)
