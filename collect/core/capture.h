/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A capture: what is to be recorded, the kernel side in place, and the events that it sends,
 * handed to a product as they come. It writes nothing: a product is a sink, whether it keeps
 * events in a file, shows them live or acts on them.
 *
 * The life of a capture: capture__new() checks the configuration, starts the command (held
 * until all is ready) and loads the product's programs; capture__run() hands out events until
 * the command has ended, the time is up, the sink ends it or somebody stops it;
 * capture__finish() stops the kernel side and hands out what is left. Errors are negative
 * errnos with error__set() done.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/event.h"
#include "base/cleanup.h"
#include "collect/core/address_spaces.h"
#include "collect/core/kernel.h"
#include "collect/core/loader.h"
#include "collect/core/targets.h"
#include "collect/core/unwinder.h"

/* A product's end of a capture. No function of it may be NULL. */
struct capture_sink {
	/*
	 * An event of the kernel side, valid during the call; @size is what was sent. Stacks that
	 * user space walked to their end come as EVENT_STACKS; EVENT_DEFERRED never comes.
	 */
	void (*on_event)(void *arg, const struct event_header *event, size_t size);
	/* Code is mapped in a recorded process; valid during the call. */
	void (*on_mapping)(void *arg, const struct code_mapping *mapping);
	/*
	 * Called when a batch of events is over, and when it asked for it: @now is
	 * CLOCK_MONOTONIC. Returns when to be called next at the latest; 0: the capture is over.
	 */
	uint64_t (*on_tick)(void *arg, uint64_t now);
	/*
	 * The kernel side has stopped, at @end, and what it had queued was handed out. What the
	 * product reads out of its own maps now it hands to capture__event(). 0 or an error.
	 */
	int (*on_end)(void *arg, uint64_t end);
	void *arg;
};

struct capture_config {
	enum capture_target target;
	char *const *argv; /* CAPTURE_COMMAND; else NULL, or a command that bounds the time */
	const char *user;  /* whom argv runs as; NULL: as dwell itself */
	sigset_t ignored;  /* signals the command is to ignore */
	const pid_t *ids;
	size_t n_ids;
	const char *cgroup;   /* a directory of the cgroup 2 file system */
	uint64_t period_ns;   /* of sampling, 10 us to 1 s */
	bool trace;	      /* every interval, not only those with a sampling point */
	uint64_t duration_ns; /* 0: until the end of the command, or a signal */
	size_t ring_bytes;    /* per CPU; 0: a default that depends on @trace */
	size_t table_bytes;   /* of unwind tables, at most */
	const char *rung;     /* where sleepers' stacks are taken; NULL: the best place there is */
};

struct capture;

int capture__new(const struct capture_config *config, const struct loader_object *object,
		 const struct capture_sink *sink, struct capture **out);

/*
 * Runs until the end. @stop is looked at after every wait: the number of signals
 * that asked to stop. The first lets a command finish by itself (it got the
 * signal too), the second ends the capture at once.
 */
int capture__run(struct capture *capture, const volatile sig_atomic_t *stop);

/* Stops the kernel side, at *@end, and hands out what is left. */
int capture__finish(struct capture *capture, uint64_t *end);

/* Takes an event as if the kernel side had sent it; @opaque is a struct capture. */
void capture__event(void *opaque, const struct event_header *event, size_t size);

/* From now on waits are held against sampling points 2^@spacing periods apart. */
void capture__space_waits(struct capture *capture, unsigned int spacing);

/* When capture__new() was done, CLOCK_MONOTONIC. */
uint64_t capture__start(const struct capture *capture);

const struct loader *capture__loader(const struct capture *capture);
const struct address_spaces *capture__spaces(const struct capture *capture);

/* What was lost so far, by cause. */
struct capture_losses {
	uint64_t kernel[LOSS_COUNT];
	uint64_t mappings; /* the kernel's buffer, or memory, was full */
};
void capture__losses(const struct capture *capture, struct capture_losses *losses);

void capture__unwinder_stats(const struct capture *capture, struct unwinder_stats *stats);

/* What the whole machine did while it recorded. To be called after capture__finish(). */
const struct kernel_counts *capture__machine(const struct capture *capture);

/*
 * Switches of the whole machine while it recorded, and how many of them were seen; 0 and 0 when
 * the kernel does not say. To be called after capture__finish().
 */
void capture__switches(const struct capture *capture, uint64_t *made, uint64_t *seen);

/*
 * The longest distance between ticks of the sampling clocks so far, in ns, if they were slowed for
 * what they cost; else 0. *@share: see clock_throttle__slowest().
 */
uint64_t capture__slowest_clock(const struct capture *capture, uint64_t *share);

/* Sends @signal to the command, if there is one that runs. */
void capture__signal(const struct capture *capture, int signal);

/* Whether there is a command, and it has ended. */
bool capture__command_ended(const struct capture *capture);

/*
 * The command's wait status once it has ended; waits for it when it still runs
 * (after --duration). -1 when there was no command, or it could not be started
 * (*@exec_error is then its errno, otherwise 0).
 */
int capture__command_status(struct capture *capture, int *exec_error);

void capture__free(struct capture *capture);
DEFINE_CLEANUP(struct capture *, capture__free)
