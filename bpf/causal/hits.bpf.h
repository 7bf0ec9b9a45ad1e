/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The causal engine in the kernel: which samples are in a target. A clock tick, or a wait
 * when it is over, by the code it was in, by its class, or by its kind.
 */
#pragma once

#include "bpf/causal/kind.bpf.h"
#include "bpf/causal/state.bpf.h"
#include "bpf/core/scratch.bpf.h"
#include "bpf/core/unwind.bpf.h"

/* The longest that one wait counts when the next target is drawn. */
#define CAUSAL_CANDIDATE_NS 10000000

/* A walk over the frames of a sample, from the inside out. */
struct causal_walk {
	__u64 place; /* the innermost code in scope; 0: none yet */
	__u32 use;   /* of the scratch */
	__u32 n;
	__u32 inside; /* targets whose code was met, a bit each */
	__u32 hits;   /* and their caller, too */
};

static __always_inline void causal_try(struct causal_walk *walk, __u32 i, __u64 code,
				       bool innermost)
{
	const struct causal_target_state *target = &causal_targets[i & (CAUSAL_TARGETS - 1)];
	__u32 bit = 1U << i;

	if (walk->hits & bit)
		return;
	if (target->match == CAUSAL_MATCH_CODE && !innermost)
		return;
	if (target->match != CAUSAL_MATCH_CODE && target->match != CAUSAL_MATCH_STACK)
		return;
	if (!(walk->inside & bit)) {
		if (!causal_in_ranges(CAUSAL_RANGES_OF(i), target->n_ranges, code))
			return;
		walk->inside |= bit;
		if (!target->n_callers)
			walk->hits |= bit;
	} else if (causal_in_ranges(CAUSAL_CALLERS_OF(i), target->n_callers, code)) {
		walk->hits |= bit;
	}
}

static long causal_frame(__u32 index, void *arg)
{
	struct causal_walk *walk = arg;
	struct scratch *scratch = scratch_for(walk->use);
	bool innermost = false;
	__u64 code;

	if (!scratch || index >= walk->n)
		return 1;
	code = scratch->codes[index & (DWELL_MAX_USER_FRAMES - 1)];
	if (!code)
		return 0;
	if (!walk->place && causal_in_scope(code)) {
		walk->place = code;
		innermost = true;
	}
	for (__u32 i = 0; i < CAUSAL_TARGETS; i++)
		causal_try(walk, i, code, innermost);
	return 0;
}

/*
 * Counts @ns of samples at @place, and may make it the candidate. A wait of more than
 * CAUSAL_CANDIDATE_NS is mostly one for work: the idle threads of a server would be tried all
 * the time.
 */
static __always_inline void causal_count_place(__u64 place, __u64 ns)
{
	__u64 *known = bpf_map_lookup_elem(&causal_places, &place);
	__u64 all;

	__sync_fetch_and_add(&causal_sampled_ns, ns);
	if (known)
		__sync_fetch_and_add(known, ns);
	else if (bpf_map_update_elem(&causal_places, &place, &ns, BPF_NOEXIST))
		__sync_fetch_and_add(&causal_places_lost, 1);
	if (ns > CAUSAL_CANDIDATE_NS)
		ns = CAUSAL_CANDIDATE_NS;
	/* Reservoir sampling: each ns has the same chance. */
	all = __sync_fetch_and_add(&causal_candidates_ns, ns) + ns;
	if (bpf_get_prandom_u32() < ((ns << 16) / (all ? all : 1)) << 16 || all == ns)
		causal_candidate = place;
}

/*
 * A sample of current, of @ns: walks its user stack into scratch @use. (Global: verified
 * once.)
 */
__noinline int causal_code_sample(__u32 use, __u32 number, __u64 ns)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot;
	struct causal_walk walk = {.use = use};

	if (!settings.use_tables || !area || !number || use >= SCRATCH_USES)
		return 0;
	slot = causal_slot_at(area, number);
	if (!slot)
		return 0;
	walk.n = (__u32)unwind_current(use, 0);
	bpf_loop(DWELL_MAX_USER_FRAMES, causal_frame, &walk, 0);
	if (walk.place)
		causal_count_place(walk.place, ns);
	for (__u32 i = 0; i < CAUSAL_TARGETS; i++) {
		if (!(walk.hits & 1U << i))
			continue;
		__sync_fetch_and_add(&causal_targets[i].hit_ns, ns);
		causal_give(area, slot, ns * causal_targets[i].speedup / CAUSAL_WHOLE);
	}
	return 0;
}

/*
 * Credits @ns of a class of waiting: all of it, as the exact time is known. Of these, @in_vain
 * would have been waits of other threads instead, and are no gain.
 */
static __always_inline void causal_class_time(struct causal_area *area, struct causal_slot *slot,
					      __u32 class, __u64 ns, __u64 in_vain)
{
	if (class < CLASS_COUNT)
		causal_counts[bpf_get_smp_processor_id() & (CAPTURE_MAX_CPUS - 1)]
			.class_ns[class] += ns; /* interrupts are off */
	for (__u32 i = 0; i < CAUSAL_TARGETS; i++) {
		struct causal_target_state *target = &causal_targets[i];

		if (target->match != CAUSAL_MATCH_CLASS || target->class != class)
			continue;
		__sync_fetch_and_add(&target->hit_ns, ns);
		causal_give(area, slot, (ns - in_vain) * target->speedup / CAUSAL_WHOLE);
	}
}

/*
 * What @points are worth that a tick due at @due stands for, when some of the time since the
 * tick before was a pause. Debts come at ticks, too, those of other CPUs: pauses begin at one
 * or soon after and end before the next one, and are never seen by any, as if the thread ran
 * all the time. So what a pause took of the time between two ticks comes off the second one,
 * which may be in it. In a run that is younger than the tick before, ticks in a pause are just
 * none.
 */
static __always_inline __u64 causal_tick_ns(struct thread_state *state,
					    const struct causal_slot *slot, __u64 points, __u64 due)
{
	__u64 tick = this_cpu()->tick ? this_cpu()->tick : settings.period_ns;
	__u64 from = due - tick, ns = points * settings.period_ns, paused;
	__u64 to = slot->pausing == CAUSAL_RUNS ? slot->asked : due;

	if (!state->product.paused_at || state->product.paused_run > from) {
		if (slot->pausing != CAUSAL_PAUSES)
			return ns;
		state->product.paused_at = 0;
		return 0;
	}
	if (from < state->product.paused_at)
		from = state->product.paused_at;
	if (to > due)
		to = due;
	paused = to > from ? (to - from) * settings.period_ns / tick : 0;
	return ns > paused ? ns - paused : 0;
}

/* A clock tick due at @due, worth @points, that came while @task, current, was on a CPU. */
static __always_inline void causal_sample(struct task_struct *task, struct thread_state *state,
					  __u32 use, __u64 points, __u64 due)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_of(area, state) : NULL;
	__u64 ns;

	if (!points || !slot)
		return;
	ns = causal_tick_ns(state, slot, points, due);
	if (!ns)
		return;
	causal_class_time(area, slot, CLASS_CPU, ns, 0);
	if (has_user_stack(task, state))
		causal_code_sample(use, state->product.slot, ns);
}

/* The time that the thread with slot @number was given so far. */
static __always_inline __u64 causal_own(__u32 number)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, number) : NULL;

	return slot ? slot->own : 0;
}

/* Whether the thread with slot @number stands still. */
static __always_inline bool causal_is_paused(__u32 number)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, number) : NULL;

	return slot && slot->pausing == CAUSAL_PAUSES;
}

/* Current has waited: credits the wait to targets of its kind. */
static __always_inline void causal_kind_time(void *ctx, struct task_struct *task,
					     struct thread_state *state)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, state->product.slot) : NULL;
	struct scratch *scratch = scratch_for(SCRATCH_INTERVAL);
	__u64 ns = state->product.blocked_ns;
	struct kind_wait wait = {};
	__u32 kind;
	long size;

	state->product.blocked_ns = 0;
	if (!settings.use_tables || !slot || !scratch)
		return;
	size = bpf_get_stack(ctx, scratch->raw, DWELL_MAX_KERNEL_FRAMES * sizeof(__u64), 0);
	describe_wait(&wait, task, state);
	kind = kind_of_wait(SCRATCH_INTERVAL, size > 0 ? (__u32)size / sizeof(__u64) : 0, &wait);
	for (__u32 i = 0; i < CAUSAL_TARGETS; i++) {
		struct causal_target_state *target = &causal_targets[i];

		if (target->match != CAUSAL_MATCH_KIND || !kind_set__has(&target->kinds, kind))
			continue;
		__sync_fetch_and_add(&target->hit_ns, ns);
		causal_give(area, slot,
			    (ns - state->product.in_vain) * target->speedup / CAUSAL_WHOLE);
	}
}
