/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel side in place: programs loaded and attached, rings, the clock on
 * every CPU. Picks the rung of the ladder (design, section 3) that this kernel
 * offers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "abi/event.h"
#include "abi/targets.h"
#include "collect/core/kernel.h"
#include "collect/core/unwinder.h"

/* The causal engine (bpf/causal/virtual_time.bpf.h), in place of recording what threads do. */
struct probes_causal {
	int area;	       /* a map of one struct causal_area, stays the caller's */
	uint32_t signal;       /* by which threads are paused */
	uint64_t min_pause_ns; /* less is not worth a signal */
};

struct probes_config {
	uint32_t period_ns;
	bool trace;
	bool follow; /* what recorded threads create */
	enum helper_threads helpers;
	size_t ring_bytes; /* per CPU, a power of two of pages */
	pid_t command;	   /* recorded from its exec on; 0: none */
	const pid_t *ids;  /* processes, or threads */
	size_t n_ids;
	bool ids_are_threads;
	bool everything;
	uint64_t cgroup;		    /* id, 0: none */
	const char *rung;		    /* begin at this rung of the ladder; NULL: the first */
	const struct probes_causal *causal; /* NULL: a recording */
};

struct record_bpf;
struct probes;

/* @event is valid during the call; @size is what was sent. */
typedef void (*probes_event_fn)(void *arg, const struct event_header *event, size_t size);

/*
 * Loads and attaches everything; nothing is recorded before probes__start().
 * Errors: -EPERM, -ENOTSUP (no BTF, or a kernel too old), others of libbpf.
 */
int probes__open(const struct probes_config *config, probes_event_fn on_event, void *arg,
		 struct probes **out);

/* Begins to record, and marks the threads there are. *@marked is how many. */
int probes__start(struct probes *probes, uint64_t *marked);

/*
 * *@any: whether there are still threads that are recorded. Looks only when some have ended
 * since it looked last. 0, or an error.
 */
int probes__any_left(struct probes *probes, bool *any);

/* A descriptor that polls readable when a ring has filled to a good part. */
int probes__fd(const struct probes *probes);

/* Sets the clocks to another tempo when it is time for that (see tempo.h). To be called often. */
void probes__stir_clocks(struct probes *probes);

/* From now on waits are held against sampling points 2^@spacing periods apart. */
void probes__space_waits(struct probes *probes, unsigned int spacing);

/* Hands all queued events to on_event. Returns how many, or a negative errno. */
int probes__consume(struct probes *probes);

/* Stops recording at *@now, hands out what is queued, then totals and open intervals. */
int probes__stop(struct probes *probes, uint64_t *now);

/* Where unwind tables and mappings go. False: this kernel walks by frame pointers only. */
bool probes__unwinder_maps(const struct probes *probes, struct unwinder_maps *maps);

/* The seed of the sampling points, see abi/grid.h: another one in each recording. */
uint64_t probes__grid_seed(const struct probes *probes);

/* Losses by cause so far. */
void probes__losses(const struct probes *probes, uint64_t losses[LOSS_COUNT]);

/* What the whole machine did while it recorded. To be called after probes__stop(). */
const struct kernel_counts *probes__machine(const struct probes *probes);

/*
 * Switches of the whole machine while it recorded, and how many of them were
 * told of; 0 and 0 when the kernel does not say. To be called after probes__stop().
 */
void probes__switches(const struct probes *probes, uint64_t *made, uint64_t *told);

/* Where sleepers' stacks are taken: a name that probes_config.rung takes. */
const char *probes__rung(const struct probes *probes);

/* The programs and their data, for engine.c. Valid as long as the probes are. */
struct record_bpf *probes__skeleton(const struct probes *probes);

void probes__free(struct probes *probes);
DEFINE_CLEANUP(struct probes *, probes__free)
