/* SPDX-License-Identifier: BSD-2-Clause */
/* A scanner of shadow stacks (call_scanner.h) as a source of events of a recording. */
#pragma once

#include "collect/programs/event_source.h"

struct call_source;

/* Starts the scanner, with @resolution_ns as for call_scanner__new(). 0 or a negative errno. */
int call_source__new(uint64_t resolution_ns, struct call_source **out);

/* For recorder_config.calls. Its arg is @source, which stays the caller's. */
struct event_source call_source__events(struct call_source *source);

/* After the recording: see call_scanner__problem(). */
const char *call_source__problem(const struct call_source *source);

/* To be called after recorder__free(). */
void call_source__free(struct call_source *source);
DEFINE_CLEANUP(struct call_source *, call_source__free)
