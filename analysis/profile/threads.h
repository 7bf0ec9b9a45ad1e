/* SPDX-License-Identifier: BSD-2-Clause */
/* The exact times of each thread, for comparison with what samples estimate. */
#pragma once

#include "analysis/weighted_samples.h"

struct thread_times {
	uint32_t thread;
	uint32_t comm;	      /* string: its last name */
	uint64_t lifetime_ns; /* within the recording */
	uint64_t ns[CLASS_COUNT];
	uint64_t idle_ns[CLASS_COUNT]; /* part of ns: in idle waits; estimated from samples */
	bool differs[CLASS_COUNT];     /* from samples, by more than chance:
					  model_thread__is_calibrated() */
	/* Of the lifetime, but of no class: see struct model_thread. */
	uint64_t stolen_ns;
	uint64_t unseen_ns;
};

struct thread_summary {
	ARRAY(struct thread_times) threads; /* most CPU time first */
	uint64_t lifetime_ns;
	uint64_t ns[CLASS_COUNT];
	uint64_t idle_ns[CLASS_COUNT];
	/* Sums of all threads; in trace mode of CLASS_CPU only. */
	uint64_t error_ns[CLASS_COUNT]; /* standard error of the sampled time, at most */
	bool differs[CLASS_COUNT];
	uint64_t stolen_ns;
	uint64_t unseen_ns;
	bool counted; /* of any thread, these are known: see struct model_thread */
};

/* What of the class's time was not idle. */
static inline uint64_t busy_ns(const uint64_t ns[CLASS_COUNT], const uint64_t idle_ns[CLASS_COUNT],
			       enum wait_class class)
{
	return ns[class] > idle_ns[class] ? ns[class] - idle_ns[class] : 0;
}

/* Threads with exact totals that pass @filter (classes and window do not apply). */
int thread_summary__make(const struct model *model, const struct sample_filter *filter,
			 struct thread_summary *out);
void thread_summary__free(struct thread_summary *summary);
