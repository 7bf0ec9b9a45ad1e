/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtual time from the outside: its shared memory, its targets, and what it has
 * counted. bpf/causal.bpf.c does the work; libdwell.so pauses threads in the program.
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
#include "collect/core/loader.h"

struct virtual_time;

struct virtual_time_config {
	uint32_t signal;       /* 0: the C library's own for pthread_cancel() */
	uint64_t min_pause_ns; /* 0: 100 us */
};

/*
 * Makes the memory and puts libdwell.so and the descriptor into the environment, for a
 * command that is started from now on. -ENOENT, with a message, when libdwell.so is not
 * where it belongs.
 */
int virtual_time__new(const struct virtual_time_config *config, struct virtual_time **out);

/*
 * The kernel side, for capture__new(). It is loaded with the capture and gone with it: what
 * follows is to be called in between, and virtual_time__free() afterwards.
 */
struct loader_object virtual_time__object(struct virtual_time *vtime);

/* Maps what the programs read, once they are loaded. -errno with a message. */
int virtual_time__map(struct virtual_time *vtime);

/* What is sped up, see abi/delay_area.h; @ranges are sorted. Stays so until it is set anew. */
struct virtual_time_target {
	enum causal_match match;
	enum wait_class class;
	struct kind_set kinds;
	const struct causal_range *ranges;
	size_t n_ranges;
	const struct causal_range *callers;
	size_t n_callers;
};

/* -E2BIG when it has more ranges than there is room for. Its speedup is 0 then. */
int virtual_time__set_target(struct virtual_time *vtime, uint32_t index,
			     const struct virtual_time_target *target);

/*
 * How kinds of waiting are recognized: functions of the running kernel, sorted by start,
 * and the kind of each system call. -E2BIG: more than KIND_RANGES_MAX functions.
 */
int virtual_time__tell_kinds(struct virtual_time *vtime, const struct kind_range *ranges, size_t n,
			     uint8_t (*of_call)(int nr));

/* @speedup from 0 to 1. */
void virtual_time__speed_up(struct virtual_time *vtime, uint32_t index, double speedup);

/* Ns of samples in target @index since the start. */
uint64_t virtual_time__hits(const struct virtual_time *vtime, uint32_t index);

/*
 * Only the part of a debt that has lasted for @ns is paid: what threads that take turns owe each
 * other for a moment is then never paid.
 */
void virtual_time__settle(struct virtual_time *vtime, uint64_t ns);

/* Forgives all debts; pauses end. */
void virtual_time__forgive(struct virtual_time *vtime);

/* No more pauses at all. */
void virtual_time__end(struct virtual_time *vtime);

/* Whether the file whose unwind table is in @slot is in scope. */
void virtual_time__set_scope(struct virtual_time *vtime, uint32_t slot, bool in_scope);

/* Code in such files that is not in scope; sorted. -E2BIG. */
int virtual_time__set_out_of_scope(struct virtual_time *vtime, const struct causal_range *ranges,
				   size_t n);

/* A place drawn at random from the samples since the last call (UNWIND_CODE); 0: there was none. */
uint64_t virtual_time__candidate(struct virtual_time *vtime);

/* What was seen of all progress points at the last look, a period ago at most. */
void virtual_time__look(const struct virtual_time *vtime, struct causal_look *look);

/* Points there are; their names and types. */
uint32_t virtual_time__points(const struct virtual_time *vtime);
const struct dwell_point *virtual_time__point(const struct virtual_time *vtime, uint32_t number);

/* Visits of point @number so far. */
uint64_t virtual_time__visits(const struct virtual_time *vtime, uint32_t number);

/* Claims a point for visits that the kernel side counts. Returns its number, or -ENOSPC. */
int virtual_time__claim_point(struct virtual_time *vtime, enum dwell_point_type type,
			      const char *name);

/*
 * Counts visits of a place in unmodified code as point @number. 0, or -errno of the kernel.
 *
 * By uprobe: of the code at @offset of the file @path, in any process; @semaphore, of a
 * USDT probe, is counted up meanwhile (0: it has none). By breakpoint: of @address in
 * thread @tid and in threads and processes that it creates later; a processor has four.
 */
int virtual_time__count_by_uprobe(struct virtual_time *vtime, const char *path, uint64_t offset,
				  uint64_t semaphore, uint32_t number);
int virtual_time__count_by_breakpoint(struct virtual_time *vtime, pid_t tid, uint64_t address,
				      uint32_t number);

struct virtual_time_counts {
	uint64_t global_ns;  /* delay put in so far */
	uint64_t sampled_ns; /* of samples in scope */
	uint64_t class_ns[CLASS_COUNT];
	uint64_t pauses;
	uint64_t paused_ns; /* by all threads together */
	uint64_t unpaused[CAUSAL_UNPAUSED];
	uint32_t unpaused_tid[CAUSAL_UNPAUSED]; /* the first */
	uint64_t places_lost;
};

void virtual_time__counts(const struct virtual_time *vtime, struct virtual_time_counts *counts);
uint64_t virtual_time__global(const struct virtual_time *vtime);

/* Calls @place for every place with samples, and the ns of them. */
void virtual_time__places(const struct virtual_time *vtime,
			  void (*place)(void *arg, uint64_t code, uint64_t ns), void *arg);

void virtual_time__free(struct virtual_time *vtime);
DEFINE_CLEANUP(struct virtual_time *, virtual_time__free)
