/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A causal profile: the experiments of any number of runs, in a text file of one JSON
 * object a line, which runs append to (docs/causal-format.md). A line that a crash cut
 * short is passed over; so are objects of unknown type, and unknown members.
 *
 * Times are ns. "Effective" time is real time less the pauses that virtual speedups put
 * into the program (Coz, SOSP'15, section 2).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/array.h"
#include "base/cleanup.h"

enum causal_point_kind {
	CAUSAL_THROUGHPUT = 0, /* visits are counted */
	CAUSAL_LATENCY = 1,    /* begins and ends are, by Little's law */
	CAUSAL_SAMPLED = 2,    /* samples in a piece of code are counted, for want of visits */
	CAUSAL_END_TO_END = 3, /* the end of the program is the one visit */
};

/* What the program's speed is measured by. */
struct causal_point {
	const char *name;
	enum causal_point_kind kind;
};

enum causal_target_kind {
	CAUSAL_LINE = 0,
	CAUSAL_FUNCTION = 1,
	CAUSAL_CLASS = 2, /* of waiting, or a kind of it */
};

/* What is sped up virtually. Targets of several runs with the same members are one. */
struct causal_target {
	enum causal_target_kind kind;
	const char *name;     /* "env.cc:120", "DBImpl::Get", "io", "disk read": as shown */
	const char *file;     /* of a line, in full; else "" */
	uint32_t line;	      /* of a line; else 0 */
	const char *function; /* of a line, the function it is in; "" unknown */
	const char *caller;   /* "called from ..."; "" from anywhere */
	bool inclusive;	      /* with everything it calls; else with what it calls out of scope */
};

/* What one half of an experiment saw of one point. */
struct causal_visits {
	uint32_t point;	 /* index in points; for the writer: its number */
	uint64_t visits; /* begins, of a latency point; ns of samples, of a sampled one */
	uint64_t ends;	 /* of a latency point */
	/*
	 * Effective time that the visits took, from the last visit before the half to the
	 * last one in it. 0: unknown; also when that visit before was not yet under the
	 * half's own speedup (in its warm-up). Then the half's effective time stands for it.
	 */
	uint64_t span_ns;
	double occupied_ns; /* of a latency point: integral of those in progress over effective
			       time */
};

/* One stretch of the program, with the virtual speedup or without. */
struct causal_half {
	uint64_t duration_ns;	      /* real */
	uint64_t delay_ns;	      /* put in: duration_ns - delay_ns is the effective time */
	uint64_t hit_ns;	      /* time of samples in the target, all threads together */
	struct causal_visits *points; /* those that were visited; others may be left out */
	uint32_t n_points;
};

/*
 * One experiment: two halves side by side, so that what else the machine does is in both;
 * which came first is random. An end-to-end experiment is a whole run: it has one half only,
 * @with, and a speedup of 0 makes it a baseline.
 */
struct causal_experiment {
	uint32_t run;	  /* index in runs */
	uint32_t target;  /* index in targets */
	double speedup;	  /* of the target: 0 to 1 */
	const char *also; /* "TARGET=SPEEDUP, ...": what was sped up in both halves; "" nothing */
	bool whole_run;	  /* @base is empty */
	uint64_t at_ns;	  /* since the run's start */
	struct causal_half base;
	struct causal_half with;
};

/* Samples of a whole run. */
struct causal_seen {
	uint32_t target; /* index in targets */
	uint64_t ns;
};

/* A place where samples fell, for the list of what ran; targets or not. */
struct causal_place {
	const char *file; /* "" unknown */
	uint32_t line;
	const char *function;
	uint64_t ns;
};

struct causal_run {
	const char *id; /* unique */
	const char *command;
	uint64_t start_realtime;
	uint64_t runtime_ns; /* real; 0: the run did not come to its end */
	uint64_t delay_ns;   /* of it, put in */
	uint64_t period_ns;  /* of sampling */
	uint64_t sampled_ns; /* time of all samples in scope, threads added up */
	int status;	     /* of the command, as of waitpid(); -1 unknown */
	ARRAY(struct causal_seen) seen;
	ARRAY(struct causal_place) places;
	ARRAY(const char *) troubles; /* what hampered it, one sentence each, with the mend */
};

struct causal_profile {
	ARRAY(struct causal_point) points;
	ARRAY(struct causal_target) targets;
	ARRAY(struct causal_run) runs;
	ARRAY(struct causal_experiment) experiments;
	uint64_t skipped; /* lines that could not be read, and experiments without a target */
	void *memory;	  /* of strings and visits */
};

/* "throughput", "latency" ...; "line", "function", "class". */
const char *causal_point_kind__name(enum causal_point_kind kind);
const char *causal_target_kind__name(enum causal_target_kind kind);

/*
 * Reads the profile at @path. Errors, with error__set() and the mend: -ENOENT, -EINVAL
 * (no causal profile; a newer version), -ENOMEM and others.
 */
int causal_profile__read(const char *path, struct causal_profile **out);
void causal_profile__free(struct causal_profile *profile);
DEFINE_CLEANUP(struct causal_profile *, causal_profile__free)
#define _cleanup_causal_profile_ _cleanup_(causal_profile__freep)

/*
 * Writes one run into a profile. Each call appends whole lines with one write(), so that
 * a crash loses at most the last of them, and several runs can write at once.
 */
struct causal_writer;

/*
 * Opens @path to append to; creates it when there is none. -EINVAL when it is something
 * else than a causal profile. @run gives id (NULL: one is made), command, period_ns and
 * start_realtime.
 */
int causal_writer__open(const char *path, const struct causal_run *run, struct causal_writer **out);

/* Numbers of points and targets, the same for the same members. Or -ENOMEM, or of write(). */
int causal_writer__point(struct causal_writer *writer, const struct causal_point *point);
int causal_writer__target(struct causal_writer *writer, const struct causal_target *target);

/* Points and target of @experiment are given by their numbers. */
int causal_writer__experiment(struct causal_writer *writer,
			      const struct causal_experiment *experiment);

/* What the run came to: runtime_ns, delay_ns, sampled_ns, status, seen, places, troubles. */
int causal_writer__end(struct causal_writer *writer, const struct causal_run *run);

/* Closes the file. 0, or -errno of closing it. */
int causal_writer__close(struct causal_writer *writer);
