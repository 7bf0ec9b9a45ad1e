/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A causal profile: the experiments of any number of runs, in a text file with one JSON
 * object per line, to which runs append (docs/causal-format.md). Lines that a crash cut short,
 * objects of unknown type and unknown members are skipped.
 *
 * Times are ns. Effective time is real time minus the pauses that virtual speedups inserted
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
	CAUSAL_LATENCY = 1,    /* begins and ends are counted; latency by Little's law */
	CAUSAL_SAMPLED = 2,    /* samples in a piece of code are counted instead of visits */
	CAUSAL_END_TO_END = 3, /* the end of the program is the only visit */
};

/* A progress point: what the program's speed is measured by. */
struct causal_point {
	const char *name;
	enum causal_point_kind kind;
};

enum causal_target_kind {
	CAUSAL_LINE = 0,
	CAUSAL_FUNCTION = 1,
	CAUSAL_CLASS = 2, /* a class or kind of waits */
};

/* What is sped up virtually. Targets of different runs with equal members are merged. */
struct causal_target {
	enum causal_target_kind kind;
	const char *name;     /* for display: "env.cc:120", "DBImpl::Get", "io", "disk read" */
	const char *file;     /* of a line: full path; else "" */
	uint32_t line;	      /* of a line; else 0 */
	const char *function; /* of a line: its function; "" unknown */
	const char *caller;   /* "called from ..."; "" any caller */
	bool inclusive;	      /* with all callees; else only with callees out of scope */
};

/* Visits of one point during one half of an experiment. */
struct causal_visits {
	uint32_t point;	 /* index in points; for the writer: its number */
	uint64_t visits; /* latency points: begins; sampled points: ns of samples */
	uint64_t ends;	 /* latency points */
	/*
	 * Effective time from the last visit before the half to the last visit in it. 0:
	 * unknown, also if that earlier visit was not under the half's own speedup (in its
	 * warm-up); then the effective time of the half is used.
	 */
	uint64_t span_ns;
	double occupied_ns; /* latency points: operations in progress, integrated over
			       effective time */
};

/* A period of the run, with the virtual speedup or without it. */
struct causal_half {
	uint64_t duration_ns;	      /* real */
	uint64_t delay_ns;	      /* inserted pauses; effective time is the difference */
	uint64_t hit_ns;	      /* time of samples in the target, sum of all threads */
	struct causal_visits *points; /* visited points; others may be omitted */
	uint32_t n_points;
	uint64_t in_flight_ns; /* of delay_ns, while a thread had asynchronous I/O in flight that
				  it did not wait for; sum of all threads */
};

/*
 * An experiment: two adjacent halves in random order, so that other load of the machine affects
 * both alike. An end-to-end experiment is a whole run and has only the half @with; with speedup
 * 0 it is a baseline.
 */
struct causal_experiment {
	uint32_t run;	  /* index in runs */
	uint32_t target;  /* index in targets */
	double speedup;	  /* of the target: 0 to 1 */
	const char *also; /* "TARGET=SPEEDUP, ...": sped up in both halves; "" none */
	bool whole_run;	  /* end-to-end: @base is unused */
	uint64_t at_ns;	  /* since the run's start */
	struct causal_half base;
	struct causal_half with;
};

/* What the program's threads waited for and did not come from the program itself. */
enum causal_outside {
	CAUSAL_OUTSIDE_REQUESTS = 0, /* other programs, and the network */
	CAUSAL_OUTSIDE_IO = 1,	     /* devices */
	CAUSAL_OUTSIDE_TIMERS = 2,
	CAUSAL_OUTSIDES = 3,
};

/*
 * A test of the profiler: as an experiment without a target, whose half @with pauses all threads
 * for a @share of the time. In effective time, that changes nothing, unless something that the
 * program depends on goes on during pauses.
 */
struct causal_pause_test {
	uint32_t run;
	double share; /* 0 to 1 */
	uint64_t at_ns;
	uint64_t outside_ns[CAUSAL_OUTSIDES]; /* of waits, sum of all threads, both halves */
	struct causal_half base;
	struct causal_half with;
};

/* A program or library that code in scope is in. */
struct causal_build {
	const char *path;
	const char *id; /* build id, hex */
};

/* A progress point whose visits dwell counts by a probe in the program. */
struct causal_probe {
	uint32_t point; /* index in points */
	uint64_t ns;	/* that counting a visit takes of a CPU, measured */
};

/* A target that was requested, with the speedups to be tried. */
struct causal_request {
	uint32_t target;  /* index in targets */
	double *speedups; /* 0 to 1 */
	uint32_t n_speedups;
};

/* Pauses that failed for one reason. */
struct causal_unpaused_count {
	const char *reason; /* "no-library", "blocked", "not-sent", "no-slot" */
	uint32_t tid;	    /* the first thread */
	uint64_t times;
};

/* Time of the samples in a target during a whole run. */
struct causal_seen {
	uint32_t target; /* index in targets */
	uint64_t ns;
};

/* Time of the samples at a source line during a whole run, target or not. */
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
	uint64_t runtime_ns; /* real time; 0: the run was not completed */
	uint64_t delay_ns;   /* of runtime_ns: inserted pauses */
	uint64_t period_ns;  /* of sampling */
	uint64_t sampled_ns; /* time of all samples in scope, sum of all threads */
	uint64_t pauses;     /* that did not fail, sum of all threads */
	int status;	     /* of the command, as from waitpid(); -1 unknown */
	ARRAY(struct causal_seen) seen;
	ARRAY(struct causal_place) places;
	ARRAY(const char *) diagnostics; /* one sentence each, with a hint */
	ARRAY(struct causal_build) builds;
	ARRAY(struct causal_probe) probes;
	ARRAY(struct causal_request) requests;
	ARRAY(struct causal_unpaused_count) unpaused;
};

struct causal_profile {
	ARRAY(struct causal_point) points;
	ARRAY(struct causal_target) targets;
	ARRAY(struct causal_run) runs;
	ARRAY(struct causal_experiment) experiments;
	ARRAY(struct causal_pause_test) pause_tests;
	uint64_t skipped; /* malformed lines, and experiments without a target */
	void *memory;	  /* holds strings and visits */
};

/* "throughput", "latency" ...; "line", "function", "class". */
const char *causal_point_kind__name(enum causal_point_kind kind);
const char *causal_target_kind__name(enum causal_target_kind kind);

/*
 * Reads the profile @path. Errors, recorded with a message and a hint: -ENOENT, -EINVAL (not a
 * causal profile, or of a newer version), -ENOMEM and others.
 */
int causal_profile__read(const char *path, struct causal_profile **out);
void causal_profile__free(struct causal_profile *profile);

struct redaction;

/*
 * Leaves out command lines and diagnostics, and hashes names of files: of targets, places, points
 * and in names. Returns 0 or -ENOMEM.
 */
int causal_profile__redact(struct causal_profile *profile, const struct redaction *redaction);
DEFINE_CLEANUP(struct causal_profile *, causal_profile__free)
#define _cleanup_causal_profile_ _cleanup_(causal_profile__freep)

/*
 * Appends one run to a profile. Each line is appended with one write(), so that a crash loses at
 * most the last line, and several runs can write at once.
 */
struct causal_writer;

/*
 * Opens @path for appending and creates it if necessary. Uses id (NULL: generates one), command,
 * period_ns and start_realtime of @run, which are written with the first line that follows: a run
 * that does not begin adds nothing. 0, -EINVAL if the file is not a causal profile, or another
 * -errno.
 */
int causal_writer__open(const char *path, const struct causal_run *run, struct causal_writer **out);

/* Whether the profile has no other runs. */
bool causal_writer__is_new(const struct causal_writer *writer);

/*
 * Return the number of a point or target, the same for equal members, and write it if it is new.
 * -ENOMEM, or -errno of write().
 */
int causal_writer__point(struct causal_writer *writer, const struct causal_point *point);
int causal_writer__target(struct causal_writer *writer, const struct causal_target *target);

/* Points and target of @experiment are such numbers. 0 or -errno. */
int causal_writer__experiment(struct causal_writer *writer,
			      const struct causal_experiment *experiment);

/* Points of @test, the point of @probe and the target of @request are such numbers. 0 or -errno. */
int causal_writer__pause_test(struct causal_writer *writer, const struct causal_pause_test *test);
int causal_writer__probe(struct causal_writer *writer, const struct causal_probe *probe);
int causal_writer__request(struct causal_writer *writer, const struct causal_request *request);
int causal_writer__build(struct causal_writer *writer, const struct causal_build *build);

/*
 * Writes runtime_ns, delay_ns, sampled_ns, pauses, status, seen, places, diagnostics and unpaused
 * of @run. 0 or -errno.
 */
int causal_writer__end(struct causal_writer *writer, const struct causal_run *run);

/* Closes the file and frees @writer. 0, or -errno of close(). */
int causal_writer__close(struct causal_writer *writer);
