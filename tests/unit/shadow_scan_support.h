/* SPDX-License-Identifier: BSD-2-Clause */
/* A shadow stack of a test, and looks at it. To be included by one test file each. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/clock.h"
#include "collect/latency/shadow_scan.h"

struct told {
	ARRAY(struct observed_call) calls;
	size_t shorts, ended_in_pair;
	uint64_t short_ns;
};

static inline void on_call(void *arg, const struct observed_call *call)
{
	struct told *told = arg;

	assert_int_equal(array__push(&told->calls, *call), 0);
}

static inline void on_thread(void *arg, struct shadow_scan *scan)
{
	scan->tid = scan->own_tid;
	if (scan->stack->begun)
		shadow_scan__know_begin(scan, scan->stack->begun);
}

static inline void on_short_call(void *arg, const struct observed_call *call, unsigned looks)
{
	struct told *told = arg;

	told->shorts++;
	told->short_ns += call->end - call->begin;
	told->ended_in_pair += (call->flags & OBSERVED_CALL_IN_PAIR) != 0;
}

struct fixture {
	struct shadow_stack *stack;
	struct shadow_scan scan;
	struct told told;
	struct scan_sink sink;
	uint64_t generation;
	size_t depth;
};

static inline void set_up(struct fixture *f)
{
	*f = (struct fixture){.stack = calloc(1, sizeof(*f->stack)), .generation = 1};
	f->stack->state = SHADOW_USED;
	f->scan.stack = f->stack;
	f->scan.long_ns = 1000;
	f->sink = (struct scan_sink){.on_thread = on_thread,
				     .on_call = on_call,
				     .on_short_call = on_short_call,
				     .arg = &f->told};
}

static inline void tear_down(struct fixture *f)
{
	shadow_scan__free(&f->scan);
	array__free(&f->told.calls);
	free(f->stack);
}

static inline void push(struct fixture *f, uint64_t function)
{
	struct shadow_entry *entry = &f->stack->entries[f->depth++];

	entry->function = function;
	entry->site = function + 0x100;
	f->generation += 2;
	__atomic_store_n(&entry->generation, f->generation, __ATOMIC_RELEASE);
}

static inline void pop(struct fixture *f)
{
	__atomic_store_n(&f->stack->entries[--f->depth].generation, 0, __ATOMIC_RELEASE);
}

/* Times of looks that are not late, however slow this test is. */
static inline uint64_t later(void)
{
	static uint64_t time;

	if (!time)
		time = now_ns(CLOCK_MONOTONIC) + 3600000000000;
	return time += 100;
}

static inline void look(struct fixture *f, uint64_t time, bool second)
{
	assert_int_equal(shadow_scan__look(&f->scan, time, &second, &f->sink), 0);
}

/* Looks at @time if that is needed. */
static inline bool look_if_needed(struct fixture *f, uint64_t time, bool second)
{
	bool needed = shadow_scan__is_needed(&f->scan, &time);

	if (needed)
		look(f, time, second);
	return needed;
}
