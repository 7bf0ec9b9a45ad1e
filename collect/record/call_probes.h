/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures calls of functions of unmodified programs, by probes at their entries and returns
 * (uprobes, uretprobes). A thread of dwell sets them, and limits what they cost.
 */
#pragma once

#include "base/cleanup.h"
#include "collect/probes/function_patterns.h"
#include "collect/probes/probe_cost.h"

struct call_probes;

struct call_probes_config {
	const struct function_patterns *patterns;
	double limit; /* percent of the programs' CPU time that probes may take; 0: no limit */
	struct call_programs programs;
	struct privsep *privsep; /* whose parsers find the functions */
};

/* What the probes of a function have done so far. */
struct call_probe {
	const char *name; /* of the function; the call_probes' */
	uint64_t entries; /* while they were set */
	uint64_t cost_ns; /* of the programs' CPU time */
	uint64_t set_ns;  /* how long they were set, */
	uint64_t times;	  /* in this many pieces */
	/* CPU time of the programs, without what probes took: */
	uint64_t cpu_ns;     /* since they were set first; */
	uint64_t set_cpu_ns; /* while they were set */
	bool single_stepped;
};

/* What @config points to stays the caller's. 0 or a negative errno. */
int call_probes__new(const struct call_probes_config *config, struct call_probes **out);

/*
 * A file, open at @fd (it may be O_PATH), that recorded processes have mapped, or will map. Before
 * call_probes__start(), the probes are set when this returns; later, they will be. To be called
 * again for the same file at any time.
 */
void call_probes__add_file(struct call_probes *probes, int fd, const char *path);

/* A recorded process, to whose CPU time the limit refers. */
void call_probes__add_process(struct call_probes *probes, uint32_t pid);

/* Starts the thread. 0, or an error with a message. */
int call_probes__start(struct call_probes *probes);

/* Stops the thread. No probe is set or counted any more. */
void call_probes__stop(struct call_probes *probes);

/* Copies what is known of the probe @number, from 1. False: there is none. */
bool call_probes__get(struct call_probes *probes, uint32_t number, struct call_probe *probe);

/*
 * After call_probes__stop(): why there may be no calls of the functions of pattern @index, in one
 * line; or NULL.
 */
const char *call_probes__problem(const struct call_probes *probes, size_t index);

void call_probes__free(struct call_probes *probes);
DEFINE_CLEANUP(struct call_probes *, call_probes__free)
