/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources of a recording's events besides what the kernel side sends by itself: what the program
 * says (annotations), probes in its code (spans, functions), a scanner of its stacks (calls), and
 * tables of the kernel side that are read at the end (devices).
 *
 * A recorder has a table of sources and knows no more of them than this: it calls their functions
 * in the order of the table, all in the same thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/capture/capture.h"
#include "collect/probes/observed_call.h"

struct record_programs;

enum target_event_type {
	TARGET_PROCESS = 0, /* @pid is recorded from now on */
	TARGET_EXEC = 1,    /* a process that was recorded executes another program */
	TARGET_THREAD = 2,
	TARGET_FILE = 3, /* has code that a process maps, or that the command will run */
};

/* What happens to recorded programs, as far as sources need it. Valid during the call. */
struct target_event {
	enum target_event_type type;
	uint32_t pid;
	/* TARGET_THREAD: thread @tid has @number (abi/thread_run.h) from now on. */
	uint32_t tid;
	uint32_t number;
	/* TARGET_FILE: */
	int fd; /* may be O_PATH */
	const char *path;
	bool is_recorded; /* the process is; or it may only wake recorded threads */
};

/* What sources may use from start() on. What it points to exists as long as the recorder. */
struct source_context {
	struct capture *capture;
	const struct record_programs *programs;
	const struct call_sink *calls; /* takes calls that were seen; NULL: they are not wanted */
};

/* NULL functions are not called. Errors are negative errnos, with a message in error__set(). */
struct event_source {
	/* The kernel side is loaded, and the command has not begun. */
	int (*start)(void *arg, const struct source_context *context);
	void (*event)(void *arg, const struct target_event *event);
	/*
	 * After each batch of the kernel side's events, CLOCK_MONOTONIC, ten times a second or
	 * more. Passes on what it has read. The threads of what was read in the call before are
	 * known to the recorder now. It may lower *@next, the time of the next call at the latest.
	 */
	int (*tick)(void *arg, uint64_t now, uint64_t *next);
	/*
	 * The kernel side was stopped: the source reads the last, and stops, too. It may pass
	 * events to capture__event(). The recording ends at @end.
	 */
	void (*end)(void *arg, uint64_t end);
	/* After end(), when all events were passed on: passes on the rest, and what was lost. */
	int (*finish)(void *arg, uint64_t now);
	void (*free)(void *arg);
	void *arg;
};
