/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Virtual time in the kernel; docs/virtual-time.md has the reasoning.
 *
 *  - A sample in the target credits its thread with weight x speedup: that is added to its delay,
 *    `own`. A sample is a clock tick, or a wait, which is credited when the thread runs again,
 *    before it can wake another one (Blocked Samples, OSDI'24, 3.3).
 *  - A thread that is woken by another thread of the program inherits its waker's `own`, whatever
 *    it waited for. One that an interrupt or another program wakes keeps its own.
 *  - A thread that waits for a CPU gets the credits of the threads that run there meanwhile.
 *  - A thread whose `own` is less than `global`, the largest, is paused, by a signal that is sent
 *    only where it cannot interrupt a system call. For debt that arose while it had a CPU it
 *    keeps the CPU, unless other programs wait for it.
 */
#pragma once

#include "abi/delay_area.h"
#include "bpf/causal/scope.bpf.h"
#include "bpf/causal/thread.bpf.h"
#include "bpf/core/state.bpf.h"
#include "bpf/core/unwind.bpf.h"

const volatile __u32 causal_signal;
const volatile __u64 causal_min_pause; /* ns; the shortest pause */
const volatile __u32 causal_cpus;      /* CPUs of the machine */
/* By number; the last one, which is no system call, is all 0. */
const volatile struct causal_syscall causal_syscalls[CAPTURE_SYSCALLS + 1];

/* Written by user space. */
__u64 causal_settle; /* ns that debt must have existed before it is paid; 0: pay at once */
struct causal_target_state causal_targets[CAUSAL_TARGETS];

__u32 causal_kinds_wanted; /* a target is a kind of waiting */
__u32 causal_pause_share;  /* of CAUSAL_WHOLE: all threads are paused for this part of the time */
__u32 causal_pause_tested; /* a test of pauses is in progress: waits are counted */

/* Read by user space. */
__u64 causal_sampled_ns;    /* of samples in scope */
__u64 causal_candidate;	    /* a place, drawn by weight from the samples since the last reset */
__u64 causal_candidates_ns; /* ns of those samples; user space resets both to 0 */
__u64 causal_unpaused[CAUSAL_UNPAUSED];
__u32 causal_unpaused_tid[CAUSAL_UNPAUSED];
__u64 causal_places_lost;
__u64 causal_pauses; /* of threads that have exited */
__u64 causal_outside_ns[CAUSAL_WAITS];
__u64 causal_in_flight_ns; /* growth of `global` while a thread had asynchronous I/O in flight and
			      did not wait for it: pauses do not stop the I/O */
struct causal_look causal_look;

struct causal_cpu_counts causal_counts[CAPTURE_MAX_CPUS];

/* Number of threads of the program that have a CPU, or left it for a pause. */
__u32 causal_running __attribute__((aligned(64)));
__u32 causal_others_running; /* CPUs that run other programs */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct causal_area);
} causal_areas SEC(".maps");

/* ns of samples by place (UNWIND_CODE): the innermost frame in scope. */
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

/* The debt of @slot, in ns: by how much its `own` is less than `global`; at least 0. */
static __always_inline __u64 causal_debt(const struct causal_area *area,
					 const struct causal_slot *slot)
{
	__s64 debt = area->global - slot->own;

	return debt > 0 ? debt : 0;
}

/* Moves @slot to the present epoch, which forgives debt from earlier experiments. */
static __always_inline void causal_enter_epoch(struct causal_area *area, struct causal_slot *slot,
					       struct thread_state *state)
{
	if (slot->epoch == area->epoch)
		return;
	slot->epoch = area->epoch;
	slot->own = slot->until = area->global; /* which also ends a pause */
	state->product.global_at_switch_out = area->global;
	state->product.least_debt = state->product.off_cpu_debt = state->product.overtaking_debt =
		0;
}

/* The slot of a recorded thread, in the present epoch; NULL: it has none. */
static __always_inline struct causal_slot *causal_slot_of(struct causal_area *area,
							  struct thread_state *state)
{
	struct causal_slot *slot = causal_slot_at(area, state->product.slot);

	if (slot)
		causal_enter_epoch(area, slot, state);
	return slot;
}

/* Credits @slot with @ns: adds it to `own`, and raises `global` to that if it is less. */
static __always_inline void causal_credit(struct causal_area *area, struct causal_slot *slot,
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

static __always_inline const volatile struct causal_syscall *causal_syscall(long nr)
{
	return &causal_syscalls[nr >= 0 && nr < CAPTURE_SYSCALLS ? nr : CAPTURE_SYSCALLS];
}

/* Gives @task, recorded from now on, a slot. @parent is the thread that created it, or NULL. */
static __noinline void causal_begin(struct task_struct *task, struct thread_state *state,
				    struct thread_state *parent)
{
	struct causal_area *area = causal_area();
	struct causal_slot *from, *slot;
	__u32 tid = own_tid(task), home = CAUSAL_HOME(tid);

	if (!area || !tid)
		return;
	state->product.slot = 0;
	for (__u32 i = 0; i < CAUSAL_PROBES; i++) {
		slot = &area->slot[CAUSAL_SLOT(home + i)];
		if (slot->tid || __sync_val_compare_and_swap(&slot->tid, 0, tid))
			continue;
		from = parent ? causal_slot_of(area, parent) : NULL;
		slot->own = from ? from->own : area->global;
		slot->epoch = area->epoch;
		slot->until = slot->asleep = slot->paused_ns = 0;
		slot->pauses = slot->pausing = CAUSAL_RUNS;
		state->product.slot = CAUSAL_SLOT(home + i) + 1;
		state->product.global_at_switch_out = area->global;
		state->product.least_debt = state->product.off_cpu_debt = 0;
		return;
	}
	causal_count_unpaused(CAUSAL_NO_SLOT, tid_of(task));
}

static __always_inline void causal_end(struct thread_state *state)
{
	struct causal_area *area = causal_area();
	struct causal_slot *slot = area ? causal_slot_at(area, state->product.slot) : NULL;

	state->product.slot = 0;
	if (!slot)
		return;
	__sync_fetch_and_add(&causal_pauses, slot->pauses);
	slot->tid = 0;
}
