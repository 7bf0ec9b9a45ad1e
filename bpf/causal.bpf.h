/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The causal engine in the kernel: virtual time. docs/virtual-time.md has the reasoning.
 *
 *  - A sample in the target gives its thread time: weight x speedup. A sample is a clock
 *    tick, or a wait, which is weighed when the thread runs again, so before it can wake
 *    anybody (Blocked Samples, OSDI'24, 3.3).
 *  - A thread that another one wakes goes on at the other's time: whatever it waited for,
 *    by whatever means. One that an interrupt or another program wakes goes on at its own.
 *  - A thread that waits for a CPU is given what the one is given that has it.
 *  - A thread that is behind the one farthest on is paused, by a signal where that can
 *    interrupt no system call, for as long as it was behind all of the last few ms: what
 *    threads that take turns owe each other cancels out.
 */
#pragma once

#include "bpf/causal.h"
#include "bpf/scratch.bpf.h"
#include "bpf/state.bpf.h"
#include "bpf/unwind.bpf.h"

const volatile __u32 causal_signal;
const volatile __u64 causal_min_pause; /* ns; less is not worth a signal */
/* Which system calls can deliver to a socket while they run. */
const volatile __u8 syscall_sends[SYSCALLS_MAX];

/* Written by user space. */
__u64 causal_settle; /* ns that a debt has to last before it is paid */
struct causal_target_state causal_targets[CAUSAL_TARGETS];
__u8 causal_scope[UNWIND_MAX_TABLES]; /* by slot: samples in the file belong to somebody */
__u32 causal_n_out;		      /* of causal_out_ranges */

__u32 causal_kinds_wanted; /* a target is a kind of waiting */
__u32 causal_n_kind_rows;
struct causal_kind_row causal_kind_rows[CAUSAL_KIND_ROWS]; /* by start */
__u8 causal_kind_of_call[SYSCALLS_MAX];			   /* by system call */

/* Read by user space. */
__u64 causal_sampled_ns;	    /* of samples in scope */
__u64 causal_class_ns[CLASS_SLOTS]; /* of all samples, by class */
__u64 causal_candidate;		    /* a place, drawn by weight from the samples since it was 0 */
__u64 causal_candidates_ns;	    /* of those samples; to be set to 0 with it */
__u64 causal_unpaused[CAUSAL_UNPAUSED];
__u32 causal_unpaused_tid[CAUSAL_UNPAUSED];
__u64 causal_places_lost;
__u64 causal_pauses, causal_paused_ns; /* of threads that are gone */
struct causal_look causal_look;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct causal_area);
} causal_areas SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CAUSAL_ALL_RANGES);
	__type(key, __u32);
	__type(value, struct causal_range);
} causal_ranges SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CAUSAL_OUT_RANGES);
	__type(key, __u32);
	__type(value, struct causal_range);
} causal_out_ranges SEC(".maps");

/* ns of samples by place: the innermost frame in scope. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, __u64);
	__type(value, __u64);
} causal_places SEC(".maps");

static __always_inline struct causal_area *causal_area(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&causal_areas, &zero);
}

static __always_inline struct causal_slot *causal_slot_at(struct causal_area *area, __u32 number)
{
	return number ? &area->slot[CAUSAL_SLOT(number - 1)] : NULL;
}

/* How far @slot is behind the farthest; not below 0. */
static __always_inline __u64 causal_debt(const struct causal_area *area,
					 const struct causal_slot *slot)
{
	__s64 debt = area->global - slot->own;

	return debt > 0 ? debt : 0;
}

/* Forgives what is left of another experiment. */
static __always_inline void causal_renew(struct causal_area *area, struct causal_slot *slot,
					 struct thread_state *state)
{
	if (slot->epoch == area->epoch)
		return;
	slot->epoch = area->epoch;
	slot->own = area->global;
	state->global_then = area->global;
	state->least_debt = state->slept_debt = 0;
}

/* The slot of a recorded thread, brought to the present; NULL: it has none. */
static __always_inline struct causal_slot *causal_slot_of(struct causal_area *area,
							  struct thread_state *state)
{
	struct causal_slot *slot = causal_slot_at(area, state->slot);

	if (slot)
		causal_renew(area, slot, state);
	return slot;
}

static __always_inline void causal_give(struct causal_area *area, struct causal_slot *slot,
					__u64 ns)
{
	__u64 own = __sync_fetch_and_add(&slot->own, ns) + ns;
	__u64 global = area->global;

	if ((__s64)(own - global) > 0)
		__sync_val_compare_and_swap(&area->global, global, own);
}

static __always_inline void causal_count_unpaused(enum causal_unpaused why, __u32 tid)
{
	if (!causal_unpaused_tid[why])
		causal_unpaused_tid[why] = tid;
	__sync_fetch_and_add(&causal_unpaused[why], 1);
}

/* @task is recorded from now on; @parent is the thread that created it, or NULL. */
static __noinline void causal_begin(struct task_struct *task, struct thread_state *state,
				    struct thread_state *parent)
{
	struct causal_area *area = causal_area();
	struct causal_slot *from, *slot;
	__u32 tid = own_tid(task), home = CAUSAL_HOME(tid);

	if (!area || !tid)
		return;
	state->slot = 0;
	for (__u32 i = 0; i < CAUSAL_PROBES; i++) {
		slot = &area->slot[CAUSAL_SLOT(home + i)];
		if (slot->tid || __sync_val_compare_and_swap(&slot->tid, 0, tid))
			continue;
		from = parent ? causal_slot_of(area, parent) : NULL;
		slot->own = from ? from->own : area->global;
		slot->epoch = area->epoch;
		slot->until = slot->asleep = slot->paused_ns = 0;
		slot->pauses = slot->pausing = CAUSAL_RUNS;
		state->slot = CAUSAL_SLOT(home + i) + 1;
		state->global_then = area->global;
		state->least_debt = state->slept_debt = 0;
		return;
	}
	causal_count_unpaused(CAUSAL_NO_SLOT, tid);
}

static __always_inline void causal_end(struct thread_state *state)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, state->slot) : NULL;

	state->slot = 0;
	if (!slot)
		return;
	__sync_fetch_and_add(&causal_pauses, slot->pauses);
	__sync_fetch_and_add(&causal_paused_ns, slot->paused_ns);
	slot->tid = 0;
}

/* Whether one of @n ranges of @map from @first on holds @code. Global: looked at once. */
__noinline int causal_in_ranges(__u32 first, __u32 n, __u64 code)
{
	__u32 low = first, high = first + n;

	for (int i = 0; i < 14 && low < high; i++) {
		__u32 middle = low + (high - low) / 2;
		struct causal_range *range = bpf_map_lookup_elem(&causal_ranges, &middle);

		if (!range)
			return 0;
		if (code < range->start)
			high = middle;
		else if (code >= range->end)
			low = middle + 1;
		else
			return 1;
	}
	return 0;
}

__noinline int causal_out_of_scope(__u64 code)
{
	__u32 low = 0, high = causal_n_out;

	for (int i = 0; i < 17 && low < high; i++) {
		__u32 middle = low + (high - low) / 2;
		struct causal_range *range = bpf_map_lookup_elem(&causal_out_ranges, &middle);

		if (!range)
			return 0;
		if (code < range->start)
			high = middle;
		else if (code >= range->end)
			low = middle + 1;
		else
			return 1;
	}
	return 0;
}

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
	if (!walk->place && causal_scope[code >> 32 & (UNWIND_MAX_TABLES - 1)] &&
	    !causal_out_of_scope(code)) {
		walk->place = code;
		innermost = true;
	}
	for (__u32 i = 0; i < CAUSAL_TARGETS; i++)
		causal_try(walk, i, code, innermost);
	return 0;
}

/* Counts @ns of samples at @place, and may make it the candidate. */
static __always_inline void causal_count_place(__u64 place, __u64 ns)
{
	__u64 *known = bpf_map_lookup_elem(&causal_places, &place);
	__u64 all;

	__sync_fetch_and_add(&causal_sampled_ns, ns);
	if (known)
		__sync_fetch_and_add(known, ns);
	else if (bpf_map_update_elem(&causal_places, &place, &ns, BPF_NOEXIST))
		__sync_fetch_and_add(&causal_places_lost, 1);
	/* Of samples that come one by one, each is drawn with the same chance. */
	all = __sync_fetch_and_add(&causal_candidates_ns, ns) + ns;
	if (bpf_get_prandom_u32() < ((ns << 16) / (all ? all : 1)) << 16 || all == ns)
		causal_candidate = place;
}

/*
 * A sample of current, of @ns: walks its user stack into scratch @use. Global: the
 * verifier looks at it once.
 */
__noinline int causal_code_sample(__u32 use, __u32 number, __u64 ns)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot;
	struct causal_walk walk = {.use = use};

	if (!use_tables || !area || !number || use >= SCRATCH_USES)
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

/* @ns of a class of waiting, the whole of it: no need to sample what is known. */
static __always_inline void causal_class_time(struct causal_area *area, struct causal_slot *slot,
					      __u32 class, __u64 ns)
{
	__sync_fetch_and_add(&causal_class_ns[class & (CLASS_SLOTS - 1)], ns);
	for (__u32 i = 0; i < CAUSAL_TARGETS; i++) {
		struct causal_target_state *target = &causal_targets[i];

		if (target->match != CAUSAL_MATCH_CLASS || target->class != class)
			continue;
		__sync_fetch_and_add(&target->hit_ns, ns);
		causal_give(area, slot, ns * target->speedup / CAUSAL_WHOLE);
	}
}

/* Clock ticks worth @points that came while @task, which is current, was on a CPU. */
static __always_inline void causal_sample(struct task_struct *task, struct thread_state *state,
					  __u32 use, __u64 points)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_of(area, state) : NULL;

	if (!points || !slot || slot->pausing == CAUSAL_PAUSES)
		return;
	causal_class_time(area, slot, CLASS_CPU, points * period_ns);
	if (has_user_stack(task, state))
		causal_code_sample(use, state->slot, points * period_ns);
}

/* What the frames of a kernel stack say, from the inside out. */
struct causal_evidence {
	__u32 use; /* of the scratch that has the stack */
	__u32 n;
	__u8 kind;
	__u8 strength;
	__u8 writing; /* what it is if it reads as `written` */
	__u8 written;
};

/* The first row of the function around @address, its index + 1; 0: none. Global. */
__noinline __u32 causal_kind_row_of(__u64 address)
{
	__u32 low = 0, high = causal_n_kind_rows;

	for (int i = 0; i < 12 && low < high; i++) {
		__u32 middle = low + (high - low) / 2;

		if (causal_kind_rows[middle & (CAUSAL_KIND_ROWS - 1)].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	if (low >= causal_n_kind_rows ||
	    causal_kind_rows[low & (CAUSAL_KIND_ROWS - 1)].start > address)
		return 0;
	return low + 1;
}

static __always_inline void causal_weigh(struct causal_evidence *evidence,
					 const struct causal_kind_row *row)
{
	if (row->strength == CAUSAL_WRITING) {
		evidence->writing = row->kind;
		evidence->written = row->over;
	} else if (row->strength == CAUSAL_REFINES) {
		if (evidence->kind == row->over)
			evidence->kind = row->kind;
	} else if (row->strength > evidence->strength) {
		evidence->kind = row->kind;
		evidence->strength = row->strength;
	}
}

#define CAUSAL_ROWS_OF_FUNCTION 4

static long causal_kernel_frame(__u32 index, void *arg)
{
	struct causal_evidence *evidence = arg;
	struct scratch *scratch = scratch_for(evidence->use);
	__u64 start = 0;
	__u32 at;

	if (!scratch || index >= evidence->n)
		return 1;
	at = causal_kind_row_of(scratch->raw[index & (RAW_FRAMES - 1)]);
	if (!at--)
		return 0;
	for (__u32 i = 0; i < CAUSAL_ROWS_OF_FUNCTION; i++) {
		const struct causal_kind_row *row =
			&causal_kind_rows[(at + i) & (CAUSAL_KIND_ROWS - 1)];

		if (!i)
			start = row->start;
		if (at + i >= causal_n_kind_rows || row->start != start)
			break;
		causal_weigh(evidence, row);
	}
	return 0;
}

/*
 * The kind of the wait whose kernel stack of @n frames is in scratch @use, in system call
 * @nr; as analysis/kinds.c tells it. Global.
 */
__noinline __u32 causal_kind(__u32 use, __u32 n, __s32 nr)
{
	struct causal_evidence evidence = {.use = use, .n = n};
	__u32 call;

	bpf_loop(RAW_FRAMES, causal_kernel_frame, &evidence, 0);
	if (evidence.writing && evidence.kind == evidence.written)
		evidence.kind = evidence.writing;
	if (evidence.strength > CAUSAL_WEAK || nr < 0 || nr >= SYSCALLS_MAX)
		return evidence.kind;
	call = causal_kind_of_call[nr & (SYSCALLS_MAX - 1)];
	return call ? call : evidence.kind;
}

/* The time that the thread with slot @number was given so far. */
static __always_inline __u64 causal_own(__u32 number)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, number) : NULL;

	return slot ? slot->own : 0;
}

/* Current has waited: gives it what targets of a kind are worth. */
static __always_inline void causal_kind_time(void *ctx, struct task_struct *task,
					     struct thread_state *state)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, state->slot) : NULL;
	struct scratch *scratch = scratch_for(SCRATCH_INTERVAL);
	__u64 ns = state->blocked_ns;
	__u32 kind;
	long size;

	state->blocked_ns = 0;
	if (!use_tables || !slot || !scratch)
		return;
	size = bpf_get_stack(ctx, scratch->raw, DWELL_MAX_KERNEL_FRAMES * sizeof(__u64), 0);
	kind = causal_kind(SCRATCH_INTERVAL, size > 0 ? (__u32)size / sizeof(__u64) : 0,
			   syscall_of(task));
	for (__u32 i = 0; i < CAUSAL_TARGETS && kind; i++) {
		struct causal_target_state *target = &causal_targets[i];

		if (target->match != CAUSAL_MATCH_KIND ||
		    !(target->kinds[kind >> 6 & 1] >> (kind & 63) & 1))
			continue;
		__sync_fetch_and_add(&target->hit_ns, ns);
		causal_give(area, slot, ns * target->speedup / CAUSAL_WHOLE);
	}
}

static __always_inline bool causal_speeds_up_queue(void)
{
	return causal_targets[0].match == CAUSAL_MATCH_CLASS &&
	       causal_targets[0].class == CLASS_SCHED;
}

static __always_inline __u64 lesser(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0 ? a : b;
}

/*
 * How far the farthest time went on while @sleeper slept. What @waker was given in that time,
 * for a wait that began before, was partly due already.
 */
static __always_inline __u64 causal_gone_on(const struct causal_area *area,
					    const struct thread_state *waker,
					    const struct thread_state *sleeper)
{
	__u64 gone = area->global - sleeper->global_then;
	__u64 length = waker->hit_to - waker->hit_from, before;

	if (waker->hit_at < sleeper->since || waker->hit_from >= sleeper->since || !length)
		return gone;
	before = sleeper->since - waker->hit_from;
	before = before < length ? waker->hit_ns * before / length : waker->hit_ns;
	return gone > before ? gone - before : 0;
}

/*
 * @sleeper is woken by @waker, which is recorded too: it goes on at the waker's time, but
 * for what it owed before and the wait was too short for.
 */
static __always_inline void causal_wake(struct thread_state *waker, struct thread_state *sleeper,
					__u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *from, *slot;
	__u64 waited, own;

	if (!area || sleeper->where != WHERE_OFF_CPU || sleeper->class == CLASS_SCHED)
		return;
	from = causal_slot_of(area, waker);
	slot = causal_slot_of(area, sleeper);
	if (!from || !slot || slot->pausing == CAUSAL_PAUSES)
		return;
	waited = now > sleeper->since ? now - sleeper->since : 0;
	waited += causal_gone_on(area, waker, sleeper);
	own = lesser(from->own, slot->own + waited);
	slot->own = own;
	sleeper->carried = true;
}

/* What threads were given while they had @cpu. */
static __always_inline __u64 causal_given(struct causal_area *area, const struct cpu_state *cpu)
{
	const struct causal_slot *slot = causal_slot_at(area, cpu->slot);

	return slot ? cpu->given + slot->own - cpu->own_in : cpu->given;
}

/* @state's thread waits for @cpu from now on. */
static __always_inline void causal_ready(struct thread_state *state, struct cpu_state *cpu)
{
	struct causal_area *area = causal_area();

	if (!area)
		return;
	state->ready_cpu = (__u32)(cpu - cpu_states) + 1;
	state->given_then = causal_given(area, cpu);
}

/* @state's thread, paused or not, leaves its CPU. */
static __always_inline void causal_switch_out(struct cpu_state *cpu, struct thread_state *state)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_of(area, state) : NULL;

	if (area)
		cpu->given = causal_given(area, cpu);
	cpu->slot = 0;
	state->ready_cpu = 0;
	if (!slot)
		return;
	state->global_then = area->global;
	state->carried = false;
	if (state->class == CLASS_SCHED)
		causal_ready(state, cpu);
}

/*
 * @state's thread runs, and was ready before: while it waited, its CPU was used for less
 * virtual than real time, by what was given for that.
 */
static __always_inline void causal_take_cpu(struct causal_area *area,
					    const struct thread_state *state,
					    struct causal_slot *slot)
{
	__u64 given, debt = causal_debt(area, slot);

	if (!state->ready_cpu || causal_speeds_up_queue())
		return;
	given = causal_given(area, &cpu_states[(state->ready_cpu - 1) & (MAX_CPUS - 1)]) -
		state->given_then;
	__sync_fetch_and_add(&slot->own, given < debt ? given : debt);
}

/* A pause goes on: asleep it has passed, waiting for a CPU it has not. */
static __always_inline void causal_resume_pause(const struct causal_area *area,
						struct thread_state *state,
						struct causal_slot *slot, __u64 wake, __u64 now)
{
	__s64 later; /* debt that this pause is not for */

	if (now > wake)
		slot->queued += now - wake;
	if (state->class == CLASS_SCHED)
		return;
	if (wake > state->since)
		__sync_fetch_and_add(&slot->own, wake - state->since);
	later = area->global - slot->until;
	state->slept_debt = later > 0 ? later : 0;
}

/* @state's thread is back from a wait that was no pause. */
static __always_inline void causal_come_back(struct causal_area *area, struct thread_state *state,
					     struct causal_slot *slot, __u64 wake, __u64 now)
{
	__u64 own;

	/* Waits for another thread of the program end when that one is faster, not by themselves.
	 */
	state->hit_at = 0;
	if (state->class != CLASS_SCHED && state->class != CLASS_LOCK && !state->carried) {
		own = slot->own;
		causal_class_time(area, slot, state->class, wake - state->since);
		state->hit_at = now;
		state->hit_from = state->since;
		state->hit_to = wake;
		state->hit_ns = slot->own - own;
		state->blocked_ns = causal_kinds_wanted ? wake - state->since : 0;
	}
	if (now > wake)
		causal_class_time(area, slot, CLASS_SCHED, now - wake);
	if (state->class != CLASS_SCHED)
		state->slept_debt = causal_debt(area, slot);
}

/* @state's thread runs again, at @now; what it waited for came at @wake. */
static __always_inline void causal_switch_in(struct cpu_state *cpu, struct thread_state *state,
					     __u64 wake, __u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_of(area, state) : NULL;

	state->blocked_ns = 0;
	if (!slot)
		return;
	causal_take_cpu(area, state, slot);
	if (slot->pausing == CAUSAL_PAUSES)
		causal_resume_pause(area, state, slot, wake, now);
	else
		causal_come_back(area, state, slot, wake, now);
	cpu->waited = state->blocked_ns;
	cpu->slot = state->slot;
	cpu->own_in = slot->own;
}

/* While a thread begins or ends, the C library blocks all signals: that is nothing to tell. */
#define CAUSAL_BLOCKS_NS 20000000

/* Whether libdwell.so's handler will take the signal. */
static __always_inline bool causal_can_pause(struct task_struct *task, struct thread_state *state,
					     __u64 now)
{
	__u32 index = (causal_signal - 1) & 63;

	if (signal_handler_mask(task, index) != CAUSAL_HANDLER_MASK) {
		causal_count_unpaused(CAUSAL_NO_HANDLER, task->pid);
		return false;
	}
	if (blocked_signals(task) >> index & 1) {
		if (!state->blocked_at)
			state->blocked_at = now;
		else if (now - state->blocked_at > CAUSAL_BLOCKS_NS)
			causal_count_unpaused(CAUSAL_BLOCKED, task->pid);
		return false;
	}
	state->blocked_at = 0;
	return true;
}

/* What current is to pause for, by now; 0: nothing, or it is not worth it yet. */
static __always_inline __u64 causal_due(struct causal_area *area, struct causal_slot *slot,
					struct thread_state *state, __u64 now)
{
	__u64 debt = causal_debt(area, slot), due = 0;

	if (!causal_settle)
		return debt;
	if (debt < state->least_debt)
		state->least_debt = debt;
	if (now >= state->settle_at) {
		due = state->least_debt;
		state->least_debt = debt;
		state->settle_at = now + causal_settle;
	}
	return due;
}

/*
 * How much of a pause of @due holds no CPU: what came due while the thread had none. The
 * rest does, because the CPU is where the thread would still be.
 */
static __always_inline __u64 causal_asleep(struct thread_state *state, __u64 due, __u64 debt)
{
	__u64 asleep = due;

	if (state->slept_debt > debt)
		state->slept_debt = debt;
	if (asleep > state->slept_debt && !causal_speeds_up_queue())
		asleep = state->slept_debt;
	state->slept_debt -= asleep < state->slept_debt ? asleep : state->slept_debt;
	return asleep;
}

/*
 * Current is about to return to user mode, and no system call will see a signal: pauses
 * it when it owes. Global: looked at once.
 */
__noinline int causal_pay(__u32 number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = target_state(task);
	struct causal_area *area = causal_area();
	struct causal_slot *slot;
	__u64 now, due;

	if (!state || !area || !number || state->slot != number)
		return 0;
	slot = causal_slot_of(area, state);
	if (!slot || slot->pausing || area->ended)
		return 0;
	now = bpf_ktime_get_ns();
	if (slot->pausing == CAUSAL_ASKED && now < slot->asked + 20000000)
		return 0;
	due = causal_due(area, slot, state, now);
	if (due < causal_min_pause || !causal_can_pause(task, state, now))
		return 0;
	slot->until = slot->own + due;
	slot->asleep = causal_asleep(state, due, causal_debt(area, slot));
	slot->asked = now;
	slot->pausing = CAUSAL_ASKED;
	state->least_debt = causal_debt(area, slot) - due;
	if (bpf_send_signal_thread(causal_signal)) {
		slot->pausing = CAUSAL_RUNS;
		causal_count_unpaused(CAUSAL_NOT_SENT, task->pid);
	}
	return 0;
}

/* Whether there can be something to pay: what every system call asks. */
static __always_inline bool causal_owes(__u32 number)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, number) : NULL;

	return slot && (__s64)(area->global - slot->own) >= (__s64)causal_min_pause;
}

#define ERESTARTSYS	      512
#define ERESTART_RESTARTBLOCK 516

SEC("raw_tp/sys_exit")
int on_sys_exit(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 number = this_cpu()->slot;
	long ret = ctx->args[1];

	if (!number || !causal_owes(number))
		return 0;
	/* One that a signal of the program interrupts: ours must not be the first it sees. */
	if (ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK)
		return 0;
	return causal_pay(number);
}

/* One visit of a point that stands in unmodified code. The cookie is its number. */
static __always_inline int causal_visit(void *ctx)
{
	struct causal_area *area = causal_area();
	__u64 number = bpf_get_attach_cookie(ctx);

	if (!active || !area || !target_state(bpf_get_current_task_btf()))
		return 0;
	__sync_fetch_and_add(&area->points.point[number & (DWELL_POINTS - 1)].count[0].count, 1);
	return 0;
}

SEC("uprobe")
int on_visit_uprobe(struct pt_regs *ctx)
{
	return causal_visit(ctx);
}

SEC("perf_event")
int on_visit_breakpoint(struct bpf_perf_event_data *ctx)
{
	return causal_visit(ctx);
}

/* What a look at all points knows. */
struct causal_looking {
	__u64 time;
	__u64 global;
	__u64 passed; /* virtual time since the last look */
};

static long causal_look_at(__u32 index, void *arg)
{
	const struct causal_looking *looking = arg;
	struct causal_area *area = causal_area();
	struct causal_seen_point *seen;
	struct dwell_point *point;
	__u64 count = 0;

	if (!area || index >= area->points.claimed)
		return 1;
	point = &area->points.point[index & (DWELL_POINTS - 1)];
	seen = &causal_look.point[index & (DWELL_POINTS - 1)];
	for (__u32 i = 0; i < DWELL_COUNTS; i++)
		count += point->count[i].count;
	seen->area += seen->count * looking->passed;
	if (count == seen->count)
		return 0;
	seen->count = count;
	seen->changed_at = looking->time;
	seen->changed_global = looking->global;
	return 0;
}

/* Looks at the progress points about once a period, on whichever CPU comes first. */
__noinline int causal_look_around(__u64 now)
{
	struct causal_area *area = causal_area();
	struct causal_looking looking = {.time = now};
	__u64 round = causal_look.round;

	if (!use_tables || !area || round & 1 || now < causal_look.time + period_ns * 3 / 4 ||
	    __sync_val_compare_and_swap(&causal_look.round, round, round + 1) != round)
		return 0;
	looking.global = area->global;
	looking.passed = now - causal_look.time - (looking.global - causal_look.global);
	causal_look.time = now;
	causal_look.global = looking.global;
	bpf_loop(DWELL_POINTS, causal_look_at, &looking, 0);
	causal_look.round = round + 2;
	return 0;
}
