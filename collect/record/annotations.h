/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Annotations of the recorded program, by the macros of include/dwell.h:
 * the file that its events go through, and the reader of it. The program can write
 * to that file whatever it likes, so nothing in it is trusted: reading is bounded in
 * time and space. Only what an event says is passed on as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* The layout and the types of events; dwell itself is not annotated. */
#ifndef DWELL_DISABLE
#define DWELL_DISABLE
#endif
#include "include/dwell.h"

struct annotation {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	uint64_t address;
	uint64_t value;
	uint32_t tid;  /* in the pid namespace of the program */
	uint32_t type; /* enum dwell_event, or one that a newer header has */
};

typedef void (*annotation_fn)(void *context, const struct annotation *event);

struct annotations;

/*
 * Creates the file, which only the own user may open, and removes those of recorders that
 * were killed. -errno with a message.
 */
int annotations__new(struct annotations **out);

/* Lets user @name, whom the program runs as, write to the file, too. -errno: it cannot. */
int annotations__allow(struct annotations *annotations, const char *name);

/* What DWELL_ENVIRONMENT is to name for the program; valid as long as @annotations is. */
const char *annotations__path(const struct annotations *annotations);

/*
 * Hands out the events that arrived. Those of a thread come in the order in which it
 * wrote them, but for a signal handler's, which may come before the one they interrupt
 * and be later; between threads there is no order. An event whose writer has begun but
 * not finished holds up those behind it until the next call; then it is lost. With
 * @last, nothing is waited for. To be called often enough: a thread has room for
 * DWELL_SLOTS events, or less where it shares a ring. Returns 0, or -EIO with a message
 * when the file is no longer what it was.
 */
int annotations__drain(struct annotations *annotations, bool last, annotation_fn each,
		       void *context);

/*
 * Events that were written but not handed out: overwritten before they were read, dropped
 * or never finished. After the last call of annotations__drain(), these and what was
 * handed out are all that was written.
 */
uint64_t annotations__lost(const struct annotations *annotations);

/* Tells programs that still write to stop, and removes the file. */
void annotations__free(struct annotations *annotations);
DEFINE_CLEANUP(struct annotations *, annotations__free)
