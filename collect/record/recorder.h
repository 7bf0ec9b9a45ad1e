/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a recording: the sink of a capture that writes a file, with other sources of events
 * (recording_sources.h) and the limit of recorded waits.
 *
 * The life of a recorder: recorder__new() checks the configuration, loads the programs and creates
 * the file; recorder__run() records until the command has ended, the time is up or a signal stops
 * it; recorder__finish() reads the totals and completes the file, recorder__add_names() adds names
 * of code to it. Errors are negative errnos, with
 * a message in error__set(); what was recorded before an error stays readable.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/targets.h"
#include "collect/capture/capture.h"
#include "collect/probes/function_patterns.h"
#include "collect/programs/event_source.h"

struct recorder_progress {
	uint64_t elapsed_ns;
	uint64_t events;
	uint64_t lost;
	uint64_t bytes; /* written */
	struct unwinder_stats unwinder;
};

struct recorder_config {
	struct capture_config capture;
	const char *output;
	uint64_t wait_limit; /* waits recorded per CPU and period, on average; 0: no limit */
	enum helper_threads helpers;
	bool names;		  /* are to be added (recorder__add_names()) */
	bool lock_wakers;	  /* stacks of wakers only where they end a wait for a lock */
	const char *command_line; /* what the user typed, for the header */
	const struct event_source *calls; /* a source of calls, such as a scanner; NULL: none */
	const struct function_patterns *functions; /* to be measured by probes; NULL: none */
	double probe_limit;			   /* see struct call_probes_config */
	/* Called from recorder__run() after each batch of events, ten times a second or more. */
	void (*on_progress)(void *arg, const struct recorder_progress *progress);
	void *arg;
};

struct recorder;

int recorder__new(const struct recorder_config *config, struct recorder **out);

/* See loader__rung(). */
const char *recorder__rung(const struct recorder *recorder);

/* See capture__run(). */
int recorder__run(struct recorder *recorder, const volatile sig_atomic_t *stop);

/*
 * Ends the recording and completes the file. Sets @progress to the final counts. If the command
 * could not be started, there is no recording.
 */
int recorder__finish(struct recorder *recorder, struct recorder_progress *progress);

/*
 * After recorder__finish(): whether there is a recording; if not, nothing was sampled, and the file
 * that was there is left as it was.
 */
bool recorder__has_file(const struct recorder *recorder);

/*
 * After recorder__finish(), if there is a file and config.names: adds the names of its addresses.
 * Sets *@named to the number of addresses with a name. After an error the recording has none, and
 * only recorder__close() may follow, whose error is the same.
 */
int recorder__add_names(struct recorder *recorder, uint64_t *named);

/* Closes the file; nothing can be added any more. An error, such as -ENOSPC, if it is not whole. */
int recorder__close(struct recorder *recorder);

/*
 * After recorder__finish(): why there are no requests of source @index of config.capture.spans, in
 * one line; or NULL. Valid until the recorder is freed.
 */
const char *recorder__request_problem(const struct recorder *recorder, size_t index);

/* The same of pattern @index of config.functions. */
const char *recorder__function_problem(const struct recorder *recorder, size_t index);

/* See capture__command_status(). */
int recorder__command_status(struct recorder *recorder, int *exec_error);

void recorder__free(struct recorder *recorder);
DEFINE_CLEANUP(struct recorder *, recorder__free)
