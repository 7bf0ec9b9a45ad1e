/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which threads are one of a kind: those that a program creates for single tasks,
 * and those that do the same work (wPerf, OSDI'18, sections 3.3 and 4.2). In a graph
 * they stand as one vertex.
 */
#pragma once

#include "analysis/own_strings.h"
#include "analysis/weighted_samples.h"

enum merged {
	MERGED_NOT = 0,
	MERGED_SHORT_LIVED, /* created for a task, by the same thread */
	MERGED_SIMILAR,	    /* their stacks are alike */
};

struct thread_group {
	enum merged merged;
	uint32_t leader;  /* thread: the first of them */
	uint32_t n;	  /* threads */
	uint32_t creator; /* MERGED_SHORT_LIVED: thread */
	uint32_t name;	  /* string: with * for what differs: "worker*" */
};

struct thread_similarity {
	uint32_t *group_of;		   /* by thread */
	ARRAY(struct thread_group) groups; /* [0]: none */
};

struct similarity_options {
	bool separate;		      /* every thread for itself */
	ARRAY(const char *) unfolded; /* names, of threads or groups, that are not merged */
};

/* Groups the threads of the model of @strings. 0 or -ENOMEM; @out is to be freed in any case. */
int thread_similarity__find(struct own_strings *strings, const struct similarity_options *options,
			    struct thread_similarity *out);
void thread_similarity__free(struct thread_similarity *similarity);

/* A number for each stack: the same for stacks of the same functions. NULL without memory. */
uint64_t *stack_names__make(const struct model *model);
