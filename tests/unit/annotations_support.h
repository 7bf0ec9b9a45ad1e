/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that annotates and the reader, both in the process of the test. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/dwell.h" /* first: enabled */
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "collect/record/annotations.h"

typedef ARRAY(struct annotation) annotation_array;

/* As if this process had just begun: it has not looked yet. */
static inline void forget(void)
{
	struct dwell_area *area = __atomic_load_n(&dwell_v1_state, __ATOMIC_RELAXED);

	if (area && area != DWELL_OFF)
		dwell_unmap(area);
	__atomic_store_n(&dwell_v1_state, NULL, __ATOMIC_RELAXED);
	unsetenv(DWELL_ENVIRONMENT);
}

static inline struct annotations *begin(void)
{
	struct annotations *annotations;

	forget();
	assert_int_equal(annotations__new(&annotations), 0);
	setenv(DWELL_ENVIRONMENT, annotations__path(annotations), 1);
	return annotations;
}

/* The program's own mapping. */
static inline struct dwell_area *attached(void)
{
	if (!dwell_v1_state)
		dwell_attach();
	assert_ptr_not_equal(dwell_v1_state, DWELL_OFF);
	return dwell_v1_state;
}

static inline void end(struct annotations *annotations)
{
	annotations__free(annotations);
	forget();
}

static inline void keep(void *context, const struct annotation *event)
{
	annotation_array *events = context;

	assert_int_equal(array__push(events, *event), 0);
}

static inline annotation_array drain(struct annotations *annotations, bool last)
{
	annotation_array events = {};

	assert_int_equal(annotations__drain(annotations, last, keep, &events), 0);
	return events;
}

static inline size_t drain_count(struct annotations *annotations, bool last)
{
	annotation_array events = drain(annotations, last);
	size_t n = events.n;

	array__free(&events);
	return n;
}

static inline uint64_t written(const struct dwell_area *area)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < DWELL_STRIPES; i++)
		sum += __atomic_load_n(&area->stripe[i].next, __ATOMIC_RELAXED);
	return sum;
}

static inline struct dwell_stripe *own_stripe(void)
{
	return &attached()->stripe[dwell_stripe_of((uint32_t)gettid())];
}
