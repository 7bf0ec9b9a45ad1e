/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The samples of a recording: every sample, and of every interval its blocked
 * and its run-queue part, filtered and cut to a window of time.
 */
#pragma once

#include "analysis/kinds/idle.h"

struct sample_filter {
	unsigned int classes;	   /* bits 1 << enum wait_class; 0: all */
	ARRAY(const char *) comms; /* any of them; none: all */
	ARRAY(uint32_t) tids;
	ARRAY(uint32_t) pids;
	bool helpers;	/* those recorded because they woke another, too; so are those named */
	uint64_t from;	/* ns since the recording's start */
	uint64_t until; /* ns since its start; 0: its end */
	/* Tells idle waits from others; NULL: no wait is idle. Stays the caller's. */
	const struct idle_waits *idle;
};

struct weighted_sample {
	uint32_t thread;
	uint32_t comm;	 /* string: what the thread was called then */
	uint32_t kernel; /* stack */
	uint32_t user;	 /* stack */
	uint32_t object;
	int16_t syscall; /* -1: none, or a sample */
	uint16_t flags;	 /* enum interval_flags */
	uint8_t class;	 /* enum wait_class */
	uint8_t idle;	 /* enum idle_reason */
	uint64_t from;	 /* a sample: both its time */
	uint64_t until;
	uint64_t points; /* sampling points */
	uint64_t ns;	 /* their calibrated time; in trace mode exact for what is off the CPU */
	uint64_t sampled_ns;		       /* before calibration */
	const struct model_interval *interval; /* NULL for a sample */
	const struct model_sample *sample;     /* NULL for an interval */
};

/* Whether the thread itself passes (its names may still not). */
bool sample_filter__thread(const struct sample_filter *filter, const struct model_thread *thread);

/* Whether a thread called @comm passes. */
bool sample_filter__comm(const struct sample_filter *filter, const char *comm);

/* Whether anything is left out. */
bool sample_filter__active(const struct sample_filter *filter);

void sample_filter__free(struct sample_filter *filter);

/*
 * Calls @visit for every sample that passes, thread by thread and in time order
 * within one, until it returns other than 0. The points of an interval that
 * lies half outside the window are shared out by time, so that adjoining
 * windows add up to the whole. Returns what @visit returned last, or 0.
 */
int weighted_samples__visit(const struct model *model, const struct sample_filter *filter,
			    int (*visit)(void *context, const struct weighted_sample *sample),
			    void *context);

/* The same for the thread with index @thread alone: nothing, if it does not pass. */
int weighted_samples__visit_thread(
	const struct model *model, const struct sample_filter *filter, uint32_t thread,
	int (*visit)(void *context, const struct weighted_sample *sample), void *context);

/* Samples that differ in nothing a profile shows, as one. */
struct sample_group {
	uint32_t thread;
	uint32_t comm;
	uint32_t kernel;
	uint32_t user;
	uint32_t object;
	int16_t syscall;
	uint16_t flags; /* PREEMPTED and FIRST only */
	uint8_t class;
	uint8_t idle; /* enum idle_reason */
	uint64_t count;
	uint64_t points;
	uint64_t ns;
};

struct sample_groups {
	ARRAY(struct sample_group) groups; /* in order of first sight */
	uint64_t points;
	uint64_t ns;
	uint64_t idle_points; /* of them, those in idle waits */
	uint64_t idle_ns;
	uint64_t class_ns[CLASS_COUNT];
	uint64_t sampled_ns[CLASS_COUNT]; /* before calibration */
	uint64_t sampled_idle_ns[CLASS_COUNT];
};

/* All samples that pass, grouped. Free with sample_groups__free(). Returns 0 or -ENOMEM. */
int sample_groups__collect(const struct model *model, const struct sample_filter *filter,
			   struct sample_groups *out);
void sample_groups__free(struct sample_groups *groups);
