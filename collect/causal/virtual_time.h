/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The causal engine from the outside: its shared memory, its targets, and what it has
 * counted. bpf/causal/virtual_time.bpf.h does the work; libdwell.so pauses threads in the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "abi/delay_area.h"
#include "abi/event.h"
#include "collect/core/loader.h"

struct engine;

struct engine_config {
	uint32_t signal;       /* 0: the C library's own for pthread_cancel() */
	uint64_t min_pause_ns; /* 0: 100 us */
};

/*
 * Makes the memory and puts libdwell.so and the descriptor into the environment, for a
 * command that is started from now on. -ENOENT, with a message, when libdwell.so is not
 * where it belongs.
 */
int engine__new(const struct engine_config *config, struct engine **out);

/* What probes__open() is to be given, and the probes that came of it. */
const struct probes_causal *engine__probes(const struct engine *engine);
int engine__use(struct engine *engine, struct probes *probes);

/* What is sped up, see abi/delay_area.h; @ranges are sorted. Stays so until it is set anew. */
struct engine_target {
	enum causal_match match;
	enum wait_class class;
	uint64_t kinds[2];
	const struct causal_range *ranges;
	size_t n_ranges;
	const struct causal_range *callers;
	size_t n_callers;
};

/* -E2BIG when it has more ranges than there is room for. Its speedup is 0 then. */
int engine__set_target(struct engine *engine, uint32_t index, const struct engine_target *target);

/* By what kinds of waiting are told: rows sorted by start, and the kind of each system call. */
int engine__tell_kinds(struct engine *engine, const struct causal_kind_row *rows, size_t n,
		       uint8_t (*of_call)(int nr));

/* @speedup from 0 to 1. */
void engine__speed_up(struct engine *engine, uint32_t index, double speedup);

/* Ns of samples in target @index since the start. */
uint64_t engine__hits(const struct engine *engine, uint32_t index);

/*
 * A debt is paid when it has lasted for @ns, as far as it was there all the time: what
 * threads that take turns owe each other is then never paid.
 */
void engine__settle(struct engine *engine, uint64_t ns);

/* Nobody owes anything any more; who pauses goes on. */
void engine__forgive(struct engine *engine);

/* No more pauses at all. */
void engine__end(struct engine *engine);

/* Samples in code whose unwind table is in @slot belong to somebody. */
void engine__set_scope(struct engine *engine, uint32_t slot, bool in_scope);

/* Code in such files that does not count; sorted. -E2BIG. */
int engine__set_out_of_scope(struct engine *engine, const struct causal_range *ranges, size_t n);

/* A place drawn at random from the samples since the last call (CAUSAL_CODE); 0: there was none. */
uint64_t engine__candidate(struct engine *engine);

/* What was seen of all progress points at the last look, a period ago at most. */
void engine__look(const struct engine *engine, struct causal_look *look);

/* Points there are; their names and types. */
uint32_t engine__points(const struct engine *engine);
const struct dwell_point *engine__point(const struct engine *engine, uint32_t number);

/* Visits of point @number so far. */
uint64_t engine__visits(const struct engine *engine, uint32_t number);

/* Claims a point for visits that the kernel side counts. Returns its number, or -ENOSPC. */
int engine__claim_point(struct engine *engine, enum dwell_point_type type, const char *name);

/*
 * Counts visits of a place in unmodified code as point @number. 0, or -errno of the kernel.
 *
 * By uprobe: of the code at @offset of the file @path, in any process; @semaphore, of a
 * USDT probe, is counted up meanwhile (0: it has none). By breakpoint: of @address in
 * thread @tid and in threads and processes that it creates later; a processor has four.
 */
int engine__count_by_uprobe(struct engine *engine, const char *path, uint64_t offset,
			    uint64_t semaphore, uint32_t number);
int engine__count_by_breakpoint(struct engine *engine, pid_t tid, uint64_t address,
				uint32_t number);

struct engine_counts {
	uint64_t global_ns;  /* delay put in so far */
	uint64_t sampled_ns; /* of samples in scope */
	uint64_t class_ns[CLASS_COUNT];
	uint64_t pauses;
	uint64_t paused_ns; /* by all threads together */
	uint64_t unpaused[CAUSAL_UNPAUSED];
	uint32_t unpaused_tid[CAUSAL_UNPAUSED]; /* the first */
	uint64_t places_lost;
};

void engine__counts(const struct engine *engine, struct engine_counts *counts);
uint64_t engine__global(const struct engine *engine);

/* Calls @place for every place with samples, and the ns of them. */
void engine__places(const struct engine *engine,
		    void (*place)(void *arg, uint64_t code, uint64_t ns), void *arg);

void engine__free(struct engine *engine);
DEFINE_CLEANUP(struct engine *, engine__free)
