/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Annotations of the recorded program (include/dwell.h): creates the file through which it sends
 * events, and reads them. The program can write anything to that file, so its contents are not
 * trusted: reading is bounded in time and space. The fields of an event are passed on unchecked.
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
	uint32_t type; /* enum dwell_event, or a value of a newer header */
};

typedef void (*annotation_fn)(void *context, const struct annotation *event);

struct annotations;

/*
 * Creates the file, which only dwell's own user may open, and removes the files of recorders that
 * were killed. -errno with a message.
 */
int annotations__new(struct annotations **out);

/* Makes user @name, as whom the program runs, the owner of the file. 0 or -errno. */
int annotations__allow(struct annotations *annotations, const char *name);

/* The value of DWELL_ENVIRONMENT for the program; valid as long as @annotations is. */
const char *annotations__path(const struct annotations *annotations);

/*
 * Creates the memory in which DWELL_BEGIN() and DWELL_END() of the program name themselves, and
 * asks for an event for each of them. The program inherits its descriptor, which is returned and
 * stays @annotations', as DWELL_POINTS_ENVIRONMENT tells it. -errno: it has no such events.
 */
int annotations__trace_points(struct annotations *annotations);

/*
 * Copies the name of the point that an event with type DWELL_EVENT_BEGIN or _END has as its
 * address. False: there is none.
 */
bool annotations__point_name(const struct annotations *annotations, uint64_t address,
			     char name[DWELL_POINT_NAME]);

/*
 * Calls @each for the events that arrived. Events of a thread come in the order in which it wrote
 * them; only an event of a signal handler may come before an earlier one that it interrupted.
 * Between threads there is no order. An event that its writer has not finished delays those behind
 * it until the next call, and is then lost; with @last, it is lost at once. To be called often
 * enough: a thread has room for DWELL_SLOTS events, or fewer if it shares a stripe. Returns 0, or
 * -EIO with a message if the file was truncated.
 */
int annotations__drain(struct annotations *annotations, bool last, annotation_fn each,
		       void *context);

/*
 * Events that were written but not passed to @each: overwritten before they were read, dropped or
 * never finished. After the last call of annotations__drain(), these and those that were passed on
 * are all that were written.
 */
uint64_t annotations__lost(const struct annotations *annotations);

/* Tells programs that still write to stop, and removes the file. */
void annotations__free(struct annotations *annotations);
DEFINE_CLEANUP(struct annotations *, annotations__free)
