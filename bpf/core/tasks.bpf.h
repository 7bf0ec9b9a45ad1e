/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Walks over all tasks, run by user space: at the start to mark the threads to
 * be recorded, at the end to read their totals and where they still wait.
 */
#pragma once

#include "abi/targets.h"
#include "bpf/core/interval.bpf.h"
#include "bpf/core/state.bpf.h"

const volatile __u32 target_kind;   /* enum target_kind */
const volatile __u64 target_cgroup; /* id of a version 2 group */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u32); /* enum listed_as */
} targets SEC(".maps");

__u64 marked; /* threads marked by the last walk */
__u64 left;   /* threads recorded that the last count found */
__u64 stopped_at;

static __always_inline bool in_cgroup(struct task_struct *task)
{
	struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	struct cgroup_subsys_state *parent;

	for (int depth = 0; depth < 32; depth++) {
		if (BPF_CORE_READ(group, kn, id) == target_cgroup)
			return true;
		parent = BPF_CORE_READ(group, self.parent);
		if (!parent)
			return false;
		group = BPF_CORE_READ(parent, cgroup);
	}
	return false;
}

static __always_inline bool is_listed(__u32 id, __u32 as)
{
	__u32 *found = bpf_map_lookup_elem(&targets, &id);

	return found && *found == as;
}

static __always_inline bool is_wanted(struct task_struct *task)
{
	if (!task->pid || (__u32)task->tgid == own_tgid)
		return false;
	switch (target_kind) {
	case TARGET_ALL:
		return true;
	case TARGET_LISTED:
		return is_listed(task->tgid, LISTED_PROCESS) || is_listed(task->pid, LISTED_THREAD);
	case TARGET_CGROUP:
		return in_cgroup(task);
	default:
		return false;
	}
}

static __always_inline void mark(struct task_struct *task)
{
	struct thread_state *state = state_of(task);

	if (state && state->flags & STATE_TARGET) {
		if (state->flags & STATE_HELPER) /* to be announced once more, as a target */
			state->flags &= ~(STATE_HELPER | STATE_ANNOUNCED);
		return;
	}
	state = begin_state(task, bpf_ktime_get_ns(), 0, WHERE_UNKNOWN);
	if (!state) {
		lose(LOSS_THREAD_STATE);
		return;
	}
	state->class = task_blocked(task) ? blocked_class(task, state) : CLASS_SCHED;
	state->interval_flags =
		INTERVAL_BEGUN_BEFORE | (state->class == CLASS_SCHED ? INTERVAL_PREEMPTED : 0);
	state->flags = STATE_TARGET;
	marked++;
}

SEC("iter/task")
int mark_targets(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task && !(task->flags & PF_EXITING) && is_wanted(task))
		mark(task);
	return 0;
}

SEC("iter/task")
int count_targets(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_state *state;

	if (!task)
		return 0;
	state = target_state(task);
	if (state && state->where != WHERE_GONE && !(state->flags & (STATE_ENDED | STATE_HELPER)))
		left++;
	return 0;
}

/* A task that moved into the recorded group. */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_cgroup_attach, struct cgroup *group, const char *path, struct task_struct *task)
{
	if (active && is_wanted(task))
		mark(task);
	return 0;
}

/* Above any event's size, below that of a scratch: a bound the verifier can see. */
#define INTERVAL_BYTES_MASK 8191

_Static_assert(sizeof(struct event_interval) + MAX_FRAMES * sizeof(__u64) < INTERVAL_BYTES_MASK &&
		       sizeof(struct scratch) > INTERVAL_BYTES_MASK,
	       "INTERVAL_BYTES_MASK");

/* What the last walk writes for a thread, in this order, each behind its size. */
struct finish_head {
	__u64 thread_size;
	struct event_thread thread;
	__u64 totals_size;
	struct event_totals totals;
	__u64 interval_size; /* 0: it is in none; else the interval follows */
};

struct finish_scratch {
	struct finish_head head;
	struct thread_state last; /* a copy, brought up to the end */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct finish_scratch);
} finish_scratches SEC(".maps");

static __always_inline void capture_sleeping(struct task_struct *task, struct scratch *scratch,
					     struct event_stack *stack, bool user)
{
	long size =
		bpf_get_task_stack(task, scratch->raw, DWELL_MAX_KERNEL_FRAMES * sizeof(__u64), 0);
	__u32 at, n;

	__builtin_memset(stack, 0, sizeof(*stack));
	if (size > 0)
		take_kernel_stack(scratch, stack, (__u32)size / sizeof(__u64), schedule_range);
	if (!user)
		return;
	at = stack->kernel_depth & (RAW_FRAMES - 1);
	n = unwind_user(task, SCRATCH_FINISH, at, &stack->user_end, true);
	take_user_stack(scratch, stack, at, n);
}

/* The interval that @task is still in; returns the size of the event, 0 if there is none. */
static __always_inline __u32 unfinished_interval(struct task_struct *task,
						 struct thread_state *state,
						 struct scratch *scratch, bool user)
{
	struct event_interval *event = SCRATCH_HEAD(scratch, event_interval);
	__u32 frames;

	if (!end_interval(state, stopped_at, 0))
		return 0;
	fill_interval(event, state);
	event->flags |= INTERVAL_UNFINISHED;
	find_object(event, task, state, false);
	capture_sleeping(task, scratch, &event->stack, user && has_user_stack(task, state));
	frames = (__u32)event->stack.kernel_depth + event->stack.user_depth;
	return sizeof(*event) + (frames < MAX_FRAMES ? frames : MAX_FRAMES) * sizeof(__u64);
}

static __always_inline int finish(struct bpf_iter__task *ctx, bool user)
{
	struct task_struct *task = ctx->task;
	struct scratch *scratch = scratch_for(SCRATCH_FINISH);
	struct finish_scratch *out;
	struct thread_state *state;
	__u32 zero = 0, size = 0;

	if (!task || !scratch)
		return 0;
	state = target_state(task);
	out = bpf_map_lookup_elem(&finish_scratches, &zero);
	/* One that is dead but not gone has told of itself in on_exit(). */
	if (!state || !out || state->where == WHERE_GONE || task->__state & TASK_DEAD)
		return 0;
	/* On a copy: the walk shows a task again when its reader's buffer was full. */
	out->last = *state;
	if (out->last.where == WHERE_ON_CPU)
		out->last.ns[CLASS_CPU] += stopped_at - out->last.since;
	else
		size = unfinished_interval(task, &out->last, scratch, user);
	out->head.interval_size = size;
	out->head.thread_size = sizeof(out->head.thread);
	describe_thread(&out->head.thread, task, &out->last, 0);
	out->head.totals_size = sizeof(out->head.totals);
	out->head.totals.flags = 0;
	fill_totals(&out->head.totals, task, &out->last, stopped_at);
	bpf_seq_write(ctx->meta->seq, &out->head, sizeof(out->head));
	if (size)
		bpf_seq_write(ctx->meta->seq, scratch, size & INTERVAL_BYTES_MASK);
	return 0;
}

SEC("iter.s/task")
int finish_targets(struct bpf_iter__task *ctx)
{
	return finish(ctx, true);
}

/* Before 5.18 the user memory of another task cannot be read. */
SEC("iter/task")
int finish_targets_kernel_only(struct bpf_iter__task *ctx)
{
	return finish(ctx, false);
}
