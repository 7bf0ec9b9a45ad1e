/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Which samples are hits of a target, and the credit for them. A sample is a clock tick, or a wait
 * that has ended; a target is code, a class of waiting, or kinds of waiting.
 */
#pragma once

#include "bpf/causal/kind.bpf.h"
#include "bpf/causal/state.bpf.h"
#include "bpf/core/scratch.bpf.h"
#include "bpf/core/unwind.bpf.h"

/* A wait counts for at most this long when the next target is drawn. */
#define CAUSAL_CANDIDATE_NS 10000000

/* If the handler has not begun by then, the signal is considered lost. */
#define CAUSAL_SIGNAL_TIMEOUT_NS 20000000

/* A walk over the frames of a sample, innermost first. */
struct causal_walk {
	__u64 place;   /* the innermost code in scope; 0: none yet */
	__u32 use;     /* enum scratch_use */
	__u32 n;       /* frames */
	__u32 matches; /* CAUSAL_IN_RANGES() and CAUSAL_HIT() of targets */
};

#define CAUSAL_IN_RANGES(target) (1U << (target)) /* a frame was in its ranges */
/* It is hit: a frame further out was in its callers' ranges as well, if it has any. */
#define CAUSAL_HIT(target) (1U << (CAUSAL_TARGETS + (target)))

/*
 * @matches, with those of target @i at a frame with @code. (Global: inlined, it would be verified
 * once for each combination of matches.)
 */
GLOBAL __u32 causal_match_frame(__u32 matches, __u32 i, __u64 code, bool innermost)
{
	const struct causal_target_state *target = &causal_targets[i & (CAUSAL_TARGETS - 1)];

	if (matches & CAUSAL_HIT(i))
		return matches;
	if (target->match == CAUSAL_MATCH_CODE && !innermost)
		return matches;
	if (target->match != CAUSAL_MATCH_CODE && target->match != CAUSAL_MATCH_STACK)
		return matches;
	if (matches & CAUSAL_IN_RANGES(i))
		return causal_in_ranges(CAUSAL_CALLERS_OF(i), target->n_callers, code)
			       ? matches | CAUSAL_HIT(i)
			       : matches;
	if (!causal_in_ranges(CAUSAL_RANGES_OF(i), target->n_ranges, code))
		return matches;
	matches |= CAUSAL_IN_RANGES(i);
	return target->n_callers ? matches : matches | CAUSAL_HIT(i);
}

static long causal_frame(__u32 index, void *arg)
{
	struct causal_walk *walk = arg;
	struct scratch *scratch = scratch_for(walk->use);
	bool innermost = false;
	__u64 code;

	if (!scratch || index >= walk->n)
		return loop_ends(true);
	code = scratch->codes[index & (DWELL_MAX_USER_FRAMES - 1)];
	if (!code)
		return loop_ends(false);
	if (!walk->place && causal_in_scope(code)) {
		walk->place = code;
		innermost = true;
	}
	for (__u32 i = 0; i < CAUSAL_TARGETS; i++)
		walk->matches = causal_match_frame(walk->matches, i, code, innermost);
	return loop_ends(false);
}

/*
 * Adds @ns to the samples at @place, and may make it the candidate for the next target. Waits
 * count for at most CAUSAL_CANDIDATE_NS there: longer ones are mostly idle waits, and the idle
 * threads of a server would be chosen all the time.
 */
static __always_inline void causal_add_place_sample(__u64 place, __u64 ns)
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
 * Takes a sample of @ns of current, thread @number: walks its user stack into scratch @use, and
 * credits the thread for each code target that is hit. (Global: verified once.)
 */
GLOBAL int causal_code_sample(__u32 use, __u32 number, __u64 ns)
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
		causal_add_place_sample(walk.place, ns);
	for (__u32 i = 0; i < CAUSAL_TARGETS; i++) {
		if (!(walk.matches & CAUSAL_HIT(i)))
			continue;
		__sync_fetch_and_add(&causal_targets[i].hit_ns, ns);
		causal_credit(area, slot, ns * causal_targets[i].speedup / CAUSAL_WHOLE);
	}
	return 0;
}

/*
 * Counts @ns of a wait, or of running (CLASS_CPU), as hits of targets of its class, and credits the
 * thread for them. Waits are not sampled: their exact length is known. @discount is the part of @ns
 * that is no gain, because peers would have waited instead.
 */
static __always_inline void causal_class_time(struct causal_area *area, struct causal_slot *slot,
					      __u32 class, __u64 ns, __u64 discount)
{
	if (class < CLASS_COUNT)
		causal_counts[bpf_get_smp_processor_id() & (CAPTURE_MAX_CPUS - 1)]
			.class_ns[class] += ns; /* interrupts are off */
	for (__u32 i = 0; i < CAUSAL_TARGETS; i++) {
		struct causal_target_state *target = &causal_targets[i];

		if (target->match != CAUSAL_MATCH_CLASS || target->class != class)
			continue;
		__sync_fetch_and_add(&target->hit_ns, ns);
		causal_credit(area, slot, (ns - discount) * target->speedup / CAUSAL_WHOLE);
	}
}

/* Whether the thread of @slot is in a pause at @now, which begins when it is requested. */
static __always_inline bool causal_in_pause(const struct causal_slot *slot, __u64 now)
{
	return slot->pausing == CAUSAL_PAUSES ||
	       (slot->pausing == CAUSAL_ASKED && now < slot->asked + CAUSAL_SIGNAL_TIMEOUT_NS);
}

/*
 * Adds the time for which @state's thread, current, ran until @now to its ran_ns, without that of
 * pauses. slot->asked is when the last one ended.
 */
static __always_inline void causal_count_run(struct thread_state *state,
					     const struct causal_slot *slot, __u64 now)
{
	__u64 from = state->ran_at;

	/* Off the CPU, with a hidden switch-in, it is not known yet since when it runs. */
	if (causal_in_pause(slot, now) || state->run_state == RUN_STATE_OFF_CPU)
		return;
	if (from < state->product.ran_until)
		from = state->product.ran_until;
	if (from < slot->asked)
		from = slot->asked;
	if (from < now)
		state->product.ran_ns += now - from;
	state->product.ran_until = now;
}

/*
 * @task, current, ran until @now. At a clock tick (@tick) takes a sample, which represents the time
 * for which the thread ran since its last sample. So pauses, most of which begin at a tick and end
 * before the next, need not be independent of the clock.
 */
static __always_inline void causal_ran(struct task_struct *task, struct thread_state *state,
				       __u32 use, bool tick, __u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_of(area, state) : NULL;
	__u64 ns;

	if (!slot)
		return;
	causal_count_run(state, slot, now);
	ns = state->product.ran_ns;
	if (!tick || !ns || slot->pausing == CAUSAL_PAUSES)
		return;
	state->product.ran_ns = 0;
	causal_class_time(area, slot, CLASS_CPU, ns, 0);
	if (has_user_stack(task, state))
		causal_code_sample(use, state->product.slot, ns);
}

/* `own` of the thread with slot @number; 0: it has none. */
static __always_inline __u64 causal_own(__u32 number)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, number) : NULL;

	return slot ? slot->own : 0;
}

/* Whether the thread with slot @number is in a pause. */
static __always_inline bool causal_is_paused(__u32 number)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, number) : NULL;

	return slot && slot->pausing == CAUSAL_PAUSES;
}

/* Counts the last wait of @task, current, as hits of targets of its kind, and credits it. */
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
		causal_credit(area, slot,
			      (ns - state->product.overtaking_discount) * target->speedup /
				      CAUSAL_WHOLE);
	}
}
