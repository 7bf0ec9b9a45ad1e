/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes a recording, and prints how that went: dwell record, and what records first (dwell latency
 * run, dwell path). A command calls recording_run__init(), sets what it needs to have otherwise,
 * and calls recording_run__set_target(), recording_run__record() and recording_run__free().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "collect/probes/function_patterns.h"
#include "collect/probes/span_sources.h"
#include "collect/record/recorder.h"

#define RECORDING_NO_CALLS UINT64_MAX

struct recording_run {
	/*
	 * What recorder__new() needs; recording_run__set_target() sets the target, the command and
	 * the description, recording_run__record() the pointers to what is below.
	 */
	struct recorder_config config;
	struct span_sources requests;
	struct function_patterns functions;
	uint64_t calls_ns; /* resolution of a scanner of calls; RECORDING_NO_CALLS: none */
	bool verbose;	   /* print where stacks are taken, and a summary */
	/* Of recording_run__set_target(): */
	ARRAY(pid_t) ids;
	char *description;
};

/* What is recorded, as given by the user; nothing: the command and all that it starts. */
struct recording_target {
	const char *processes; /* ids joined by commas, or NULL */
	const char *threads;   /* likewise */
	bool system;
	const char *cgroup; /* path, or NULL */
};

/* Sets the defaults of dwell record. */
void recording_run__init(struct recording_run *run);

/*
 * Sets the target and @command: words up to a NULL, which may have none, and stay the caller's, as
 * the texts do. 0, or an error that is one of usage, with a message.
 */
int recording_run__set_target(struct recording_run *run, const struct recording_target *target,
			      char *const *command);

/*
 * Records. Prints errors, and what the recording lacks. Sets *@recorded to whether there is a
 * recording then, also if the command that was recorded failed. Returns the exit status.
 */
int recording_run__record(struct recording_run *run, bool *recorded);

void recording_run__free(struct recording_run *run);
