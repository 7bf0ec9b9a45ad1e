/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups threads that become one vertex of the wait-for graph: short-lived threads, each created
 * for one task, and threads whose stacks are similar (wPerf, OSDI'18, sections 3.3 and 4.2).
 */
#pragma once

#include "analysis/own_strings.h"
#include "analysis/weighted_samples.h"

enum merged {
	MERGED_NOT = 0,
	MERGED_SHORT_LIVED, /* created for one task each, by the same thread */
	MERGED_SIMILAR,	    /* with similar stacks */
};

struct thread_group {
	enum merged merged;
	uint32_t leader;  /* its first thread */
	uint32_t n;	  /* number of threads */
	uint32_t creator; /* MERGED_SHORT_LIVED: thread */
	uint32_t name;	  /* string, with * for digits if the names differ: "worker-*" */
};

struct thread_similarity {
	uint32_t *group_of;		   /* by thread */
	ARRAY(struct thread_group) groups; /* [0] is unused */
};

struct similarity_options {
	bool separate;		      /* merge nothing */
	ARRAY(const char *) unfolded; /* names of threads or groups that are not merged */
};

/* Groups the threads of @strings' model. 0 or -ENOMEM; @out is to be freed in any case. */
int thread_similarity__find(struct own_strings *strings, const struct similarity_options *options,
			    struct thread_similarity *out);
void thread_similarity__free(struct thread_similarity *similarity);
