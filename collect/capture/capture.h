/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A capture starts the command, runs the kernel side, and passes its events to a product, the sink,
 * as they come. What the sink does with them is its own business: write a file, show them live, run
 * experiments.
 *
 * The life of a capture: capture__new() checks the configuration, starts the command (which is held
 * until all is ready) and loads the product's programs; capture__run() passes on events until the
 * command has ended, the time is up, or the sink or a signal stops it; capture__finish() stops the
 * kernel side and passes on the remaining events. Errors are negative errnos with a message in
 * error__set().
 */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/event.h"
#include "base/cleanup.h"
#include "collect/stacks/address_spaces.h"
#include "collect/kernel/kernel.h"
#include "collect/capture/loader.h"
#include "collect/capture/targets.h"
#include "collect/stacks/unwinder.h"
#include "privsep/privsep.h"

/* The functions of a product. None may be NULL, if it does not say so. */
struct capture_sink {
	/*
	 * An event of the kernel side, of @size bytes, valid during the call. Deferred unwinds
	 * come as EVENT_STACKS when they are complete, never as EVENT_DEFERRED.
	 */
	void (*on_event)(void *arg, const struct event_header *event, size_t size);
	/*
	 * Code was mapped in a process, at the start or now. The process is recorded, or may wake
	 * recorded threads. Not called for what a new process inherits from its parent. @mapping is
	 * valid during the call.
	 */
	void (*on_mapping)(void *arg, const struct code_mapping *mapping);
	/*
	 * Called after each batch of events, and at the latest at the time that the last call
	 * has returned. A result of 0 ends the capture. @now and the result are CLOCK_MONOTONIC.
	 */
	uint64_t (*on_tick)(void *arg, uint64_t now);
	/*
	 * The kernel side was stopped at @end, and all queued events were passed on. The product
	 * passes what it reads from its own maps to capture__event(). Mappings and EVENT_STACKS may
	 * still come after it, until capture__finish() returns. Not called after an error of the
	 * capture. 0 or a negative errno.
	 */
	int (*on_end)(void *arg, uint64_t end);
	/*
	 * All events and mappings of a batch were passed on: what they refer to in processes that
	 * have ended can still be located (address_spaces__locate()). May be NULL.
	 */
	void (*on_batch)(void *arg);
	void *arg;
};

struct capture_config {
	enum capture_target target;
	char *const
		*argv;	  /* the command; NULL: none. With other targets its end ends the capture */
	const char *user; /* as whom argv runs; NULL: as dwell */
	sigset_t ignored; /* signals that the command ignores */
	/* Bit N: signal N is for the command; set by signal handlers. NULL: none. */
	atomic_uint *to_forward;
	const pid_t *ids;
	size_t n_ids;
	const char *cgroup; /* a directory of the cgroup 2 file system */
	/* Any process may become a helper: kernel threads are, and the others are prepared for. */
	bool linked;
	uint64_t period_ns;   /* of sampling, 10 us to 1 s */
	bool trace;	      /* record every interval, not only those with a sampling point */
	uint64_t duration_ns; /* 0: until the end of the command, or a signal */
	size_t ring_bytes;    /* per CPU; 0: a default that depends on trace */
	/*
	 * Called with the sink's arg when the command has ended, and processes that it started
	 * still run. True: goes on until they have ended, too. NULL: never.
	 */
	bool (*goes_on)(void *arg);
	bool keep_files;		  /* see address_spaces__keep_all() */
	size_t table_bytes;		  /* memory of unwind tables, at most */
	const struct span_sources *spans; /* see loader_config.spans */
	bool return_probes;		  /* see loader_config.return_probes */
	const char *rung;		  /* see loader_config.rung */
};

struct capture;

int capture__new(const struct capture_config *config, const struct loader_object *object,
		 const struct capture_sink *sink, struct capture **out);

/*
 * Runs until the end. @stop is the number of signals to stop, checked after every wait. With a
 * command, the first one only waits for its end (it got the signal, too); the second ends the
 * capture at once.
 */
int capture__run(struct capture *capture, const volatile sig_atomic_t *stop);

/* Stops the kernel side, sets *@end to the time, and passes on the remaining events. */
int capture__finish(struct capture *capture, uint64_t *end);

/* Handles an event as if the kernel side had sent it; @opaque is a struct capture. */
void capture__event(void *opaque, const struct event_header *event, size_t size);

/*
 * From now on the kernel side sends the frames of all stacks and the paths of all files again, each
 * once: the product has forgotten some of them. Events that are queued may still have hashes of
 * stacks that were sent before.
 */
void capture__send_again(struct capture *capture);

/* From now on the sampling points of off-CPU intervals lie 2^@spacing periods apart. */
void capture__space_waits(struct capture *capture, unsigned int spacing);

/*
 * When threads began to be observed, CLOCK_MONOTONIC: reading what they had mapped, which takes up
 * to seconds, is over then. 0 before capture__run().
 */
uint64_t capture__start(const struct capture *capture);

const struct loader *capture__loader(const struct capture *capture);
const struct address_spaces *capture__spaces(const struct capture *capture);
struct privsep *capture__privsep(const struct capture *capture);

/* Losses so far, by cause. */
struct capture_losses {
	uint64_t kernel[LOSS_COUNT];
	uint64_t mappings; /* perf's buffer was full, or memory ran out */
};
void capture__losses(const struct capture *capture, struct capture_losses *losses);

void capture__unwinder_stats(const struct capture *capture, struct unwinder_stats *stats);

/* Counts of the whole machine during the capture. To be called after capture__finish(). */
const struct kernel_counts *capture__machine(const struct capture *capture);

/*
 * Sets *@made to the number of switches of the whole machine during the capture, *@seen to how many
 * of them the kernel side saw; both to 0 if unknown. To be called after capture__finish().
 */
void capture__switches(const struct capture *capture, uint64_t *made, uint64_t *seen);

/* See clock_throttle__slowest(). */
uint64_t capture__slowest_clock(const struct capture *capture, uint64_t *share);

/* Whether there is a command, and it has ended. */
bool capture__command_ended(const struct capture *capture);

/* Whether the command could not be started. */
bool capture__exec_failed(const struct capture *capture);

/*
 * The command's wait status. Waits for its end, if it still runs (after --duration). -1: there was
 * no command, or it could not be started, and *@exec_error is the errno; otherwise that is 0.
 */
int capture__command_status(struct capture *capture, int *exec_error);

void capture__free(struct capture *capture);
DEFINE_CLEANUP(struct capture *, capture__free)
