/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The times in which threads are not allowed to run (CLASS_STOPPED): those of blocked threads begin
 * with the switch-out, and end with the wakeup; a runnable thread is stopped by a limit of CPU time
 * from its switch-out, or from its wakeup on.
 */
#pragma once

#include "bpf/core/interval.bpf.h"
#include "bpf/core/object.bpf.h"
#include "bpf/core/stop.bpf.h"
#include "bpf/record/affinity.bpf.h"
#include "bpf/record/thread.bpf.h"

#define SCHED_FIFO	    1
#define SCHED_RR	    2
#define SCHED_DEADLINE	    6
#define REALTIME_PRIORITIES 100 /* those below it */
#define NO_QUOTA	    (~0ULL)
#define GROUP_LEVELS	    16
#define MAX_STOPPED	    4096 /* processes */
#define MAX_LIMITS	    4096
#define SIGSTOP		    19
#define SIGTTOU		    22

/* Who has sent the last signal that stops a process, by its tgid. */
struct stopper {
	__u32 tgid;
	char comm[DWELL_COMM_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_STOPPED);
	__type(key, __u32);
	__type(value, struct stopper);
} stoppers SEC(".maps");

/* Limits whose EVENT_LIMIT was sent, by a hash of all that it says but for its names. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_LIMITS);
	__type(key, __u64);
	__type(value, __u8);
} sent_limits SEC(".maps");

/* Stops are found at switches, in interrupts, and by iterators: one can interrupt another. */
struct limit_scratch {
	__u64 busy;
	char bytes[sizeof(struct event_limit) + DWELL_PATH_SIZE + 2 * NAME_SIZE];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct limit_scratch);
} limit_scratches SEC(".maps");

SEC("tp_btf/signal_generate")
int on_signal(__u64 *ctx)
{
	struct task_struct *sender = bpf_get_current_task_btf();
	int signal = ctx[0];
	struct task_struct *task = (void *)ctx[2];
	struct stopper stopper = {};
	__u32 tgid;

	if (!capture.active || signal < SIGSTOP || signal > SIGTTOU)
		return 0;
	stopper.tgid = tgid_of(sender);
	READ_STRING(stopper.comm, sender, comm);
	tgid = READ(task, tgid);
	bpf_map_update_elem(&stoppers, &tgid, &stopper, BPF_ANY);
	return 0;
}

/* Current, which writes, is about to sleep for @pause jiffies, if that is above 0. */
static __always_inline void balance(__s64 pause)
{
	struct thread_state *state =
		capture.active ? target_state(bpf_get_current_task_btf()) : NULL;

	if (state)
		state->product.pauses = pause > 0;
}

SEC("raw_tp/balance_dirty_pages")
int on_balance(__u64 *ctx)
{
	balance(ctx[6]);
	return 0;
}

/* Before 6.15: it has five numbers in place of a structure. */
SEC("raw_tp/balance_dirty_pages")
int on_balance_before_6_15(__u64 *ctx)
{
	balance(ctx[10]);
	return 0;
}

static __always_inline struct kernfs_node *kernfs_parent(struct kernfs_node *node)
{
	struct kernfs_node___before_6_15 *old = (void *)node;

	if (bpf_core_field_exists(node->__parent))
		return BPF_CORE_READ(node, __parent);
	return bpf_core_field_exists(old->parent) ? BPF_CORE_READ(old, parent) : NULL;
}

static __always_inline struct limit_scratch *limit_scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&limit_scratches, &zero);
}

/* Puts the names of the node at @address and of those above it into this CPU's scratch. */
GLOBAL int put_names(__u64 address)
{
	struct kernfs_node *node = (void *)address;
	struct limit_scratch *scratch = limit_scratch();
	struct event_limit *event;
	__u32 size = 0;
	long n;

	if (!scratch)
		return 0;
	event = (void *)scratch->bytes;

	for (int i = 0; i < GROUP_LEVELS && node; i++) {
		if (size > DWELL_PATH_SIZE)
			break;
		n = bpf_probe_read_kernel_str(&event->names[size], NAME_SIZE,
					      BPF_CORE_READ(node, name));
		if (n <= 0 || n > NAME_SIZE)
			break;
		size += n;
		node = kernfs_parent(node);
	}
	event->size = size;
	return 0;
}

/*
 * Sends @limit, unless it was sent before, with the names of @node or, if that is 0, @name: a comm,
 * or a CPU mask (STOP_AFFINITY).
 */
static __noinline void send_limit(const struct event_limit *limit, __u64 node, const void *name)
{
	__u64 key = (limit->id ^ (__u64)limit->cause << 56) * 0x9e3779b97f4a7c15 ^ sent_salt();
	struct limit_scratch *scratch;
	struct event_limit *event;
	__u8 yes = 1;
	long n;

	key = (key ^ limit->value) * 0x9e3779b97f4a7c15 ^ limit->period;
	if (bpf_map_lookup_elem(&sent_limits, &key))
		return;
	scratch = limit_scratch();
	/* In an interrupt of this function it is sent at the next stop. */
	if (!scratch || scratch->busy)
		return;
	scratch->busy = 1;
	event = (void *)scratch->bytes;
	*event = *limit;
	if (node) {
		put_names(node);
	} else if (limit->cause == STOP_AFFINITY) {
		event->size = cpu_set_size();
		bpf_probe_read_kernel(event->names, cpu_set_size(), name);
	} else if (name) {
		n = bpf_probe_read_kernel_str(event->names, DWELL_COMM_SIZE, name);
		event->size = n > 0 ? n : 0;
	}
	if (event->size <= DWELL_PATH_SIZE + NAME_SIZE &&
	    emit(event, sizeof(*event) + event->size, LOSS_RING_FULL))
		bpf_map_update_elem(&sent_limits, &key, &yes, BPF_ANY);
	scratch->busy = 0;
}

/* The part of @group for CPU @cpu: from 7.2 on, the parts lie @offset behind a per-CPU address. */
static __always_inline struct cfs_rq *part_of(struct task_group *group, __u64 cpu, __u64 offset)
{
	struct cfs_rq **parts = BPF_CORE_READ(group, cfs_rq), *part = NULL;

	if (offset)
		return (void *)parts + offset;
	bpf_probe_read_kernel(&part, sizeof(part), parts + cpu);
	return part;
}

enum quota_use {
	QUOTA_NONE = 0,
	QUOTA_LEFT = 1,
	QUOTA_USED_UP = 2,
};

/*
 * Global functions look at one level of a tree of groups, as the verifier looks at each iteration
 * of a loop in each state that it may have. This one: the use of the quota of the group at
 * @address.
 */
GLOBAL __u32 quota_use(__u64 address, __u64 cpu, __u64 offset)
{
	struct task_group *group = (void *)address;

	if (READ(group, cfs_bandwidth.quota) == NO_QUOTA)
		return QUOTA_NONE;
	return READ(part_of(group, cpu, offset), throttled) ? QUOTA_USED_UP : QUOTA_LEFT;
}

GLOBAL __u64 parent_group(__u64 address)
{
	struct task_group *group = (void *)address;

	return (__u64)BPF_CORE_READ(group, parent);
}

/*
 * The address of the group whose quota stops the threads of @queue, or would: the innermost that
 * has used up its quota, or else that has one.
 */
static __always_inline struct task_group *group_with_quota(struct cfs_rq *queue)
{
	struct task_group *own = BPF_CORE_READ(queue, tg);
	__u64 group = (__u64)own, first = unknown_zero;
	__u64 cpu = (__u32)READ(queue, rq, cpu), offset = 0;

	if (part_of(own, cpu, 0) != queue)
		offset = (__u64)queue - (__u64)BPF_CORE_READ(own, cfs_rq);

	for (int i = 0; i < GROUP_LEVELS && group; i++) {
		__u32 use = quota_use(group, cpu, offset);

		if (use == QUOTA_USED_UP)
			return (void *)group;
		if (use != QUOTA_NONE && !first)
			first = group;
		group = parent_group(group);
	}
	return (void *)first;
}

static __always_inline bool has_quotas(void)
{
	return bpf_core_field_exists(((struct cfs_rq *)0)->tg) &&
	       bpf_core_field_exists(((struct task_group *)0)->cfs_bandwidth);
}

/* The id of the control group whose quota stops the threads of the cfs_rq at @address; 0: none. */
GLOBAL __u64 quota_of(__u64 address)
{
	struct task_group *group;
	struct event_limit limit = {};
	struct kernfs_node *node;

	if (!has_quotas())
		return 0;
	group = group_with_quota((void *)address);
	node = group ? BPF_CORE_READ(group, css.cgroup, kn) : NULL;
	if (!node)
		return 0;
	limit.header.type = EVENT_LIMIT;
	limit.header.time = bpf_ktime_get_ns();
	limit.id = READ(node, id);
	limit.value = READ(group, cfs_bandwidth.quota);
	limit.period = READ(group, cfs_bandwidth.period);
	limit.cause = STOP_QUOTA;
	send_limit(&limit, (__u64)node, NULL);
	return limit.id;
}

GLOBAL __u32 is_frozen(__u64 address)
{
	struct cgroup *group = (void *)address;

	return READ(group, freezer.freeze);
}

GLOBAL __u64 parent_cgroup(__u64 address)
{
	struct cgroup *group = (void *)address;
	struct cgroup_subsys_state *parent = BPF_CORE_READ(group, self.parent);

	return parent ? (__u64)BPF_CORE_READ(parent, cgroup) : 0;
}

static __always_inline struct kernfs_node *frozen_group_v2(struct task_struct *task)
{
	__u64 group = (__u64)BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (int i = 0; i < GROUP_LEVELS && group; i++) {
		if (is_frozen(group))
			return BPF_CORE_READ((struct cgroup *)group, kn);
		group = parent_cgroup(group);
	}
	return NULL;
}

/* The state of @task's group for the subsystem with number @index. */
static __always_inline struct cgroup_subsys_state *subsystem_of(struct task_struct *task,
								__u32 index)
{
	struct cgroup_subsys_state *css = NULL;

	bpf_probe_read_kernel(&css, sizeof(css),
			      (void *)BPF_CORE_READ(task, cgroups) +
				      bpf_core_field_offset(struct css_set, subsys) +
				      index * sizeof(css));
	return css;
}

#define FREEZING_SELF 2 /* of freezer.state */

GLOBAL __u32 is_freezing(__u64 address)
{
	struct freezer *freezer = (void *)address - bpf_core_field_offset(struct freezer, css);

	return READ(freezer, state) & FREEZING_SELF;
}

GLOBAL __u64 parent_state(__u64 address)
{
	struct cgroup_subsys_state *css = (void *)address;

	return (__u64)BPF_CORE_READ(css, parent);
}

/*
 * The group that was to be frozen, or, if that is over (a thread that slept is woken then), the
 * thread's own, unless that is the root.
 */
static __always_inline struct kernfs_node *frozen_group_v1(struct task_struct *task)
{
	struct cgroup_subsys_state *own, *css;

	if (settings.freezer_subsystem < 0)
		return NULL;
	own = css = subsystem_of(task, settings.freezer_subsystem);
	for (int i = 0; i < GROUP_LEVELS && css; i++) {
		if (is_freezing((__u64)css))
			return BPF_CORE_READ(css, cgroup, kn);
		css = (void *)parent_state((__u64)css);
	}
	return own && BPF_CORE_READ(own, parent) ? BPF_CORE_READ(own, cgroup, kn) : NULL;
}

static __always_inline struct kernfs_node *frozen_group(struct task_struct *task)
{
	struct kernfs_node *node = NULL;

	if (bpf_core_field_exists(((struct cgroup *)0)->freezer))
		node = frozen_group_v2(task);
	return node ? node : frozen_group_v1(task);
}

/* Of the group whose state is at @address, in bytes; 1 << 62 and more: none. */
GLOBAL __u64 memory_high(__u64 address)
{
	struct mem_cgroup *group = (void *)address - bpf_core_field_offset(struct mem_cgroup, css);

	return READ(group, memory.high) * 4096;
}

/* The group with a memory.high, from that of @task outwards; sets *@bytes to it. */
static __always_inline struct kernfs_node *memory_group(struct task_struct *task, __u64 *bytes)
{
	struct cgroup_subsys_state *css;

	if (settings.memory_subsystem < 0)
		return NULL;
	css = subsystem_of(task, settings.memory_subsystem);
	for (int i = 0; i < GROUP_LEVELS && css; i++) {
		*bytes = memory_high((__u64)css);
		if (*bytes < 1ULL << 62)
			return BPF_CORE_READ(css, cgroup, kn);
		css = (void *)parent_state((__u64)css);
	}
	*bytes = 0;
	return NULL;
}

/* Who stops the process of @task by a signal: sets the id of @limit. */
static __always_inline const char *stopper_of(struct task_struct *task, struct event_limit *limit)
{
	__u32 tgid = READ(task, tgid);
	struct stopper *stopper = bpf_map_lookup_elem(&stoppers, &tgid);

	if (!stopper)
		return NULL;
	limit->id = stopper->tgid;
	return stopper->comm;
}

static __always_inline const char *tracer_of(struct task_struct *task, struct event_limit *limit)
{
	struct task_struct *tracer = BPF_CORE_READ(task, parent);

	limit->id = read_tgid(tracer);
	return (const char *)tracer + bpf_core_field_offset(struct task_struct, comm);
}

/* The id of what stops the task at @address for @cause, not a quota; 0: unknown. */
GLOBAL __u64 limit_of(__u64 address, __u32 cause)
{
	struct task_struct *task = (void *)address;
	struct event_limit limit = {};
	struct kernfs_node *node = NULL;
	const void *name = NULL;

	limit.header.type = EVENT_LIMIT;
	limit.header.time = bpf_ktime_get_ns();
	limit.cause = cause;
	if (cause == STOP_DEADLINE) {
		limit.id = READ(task, pid);
		limit.value = READ(task, dl.dl_runtime);
		limit.period = READ(task, dl.dl_period);
	} else if (cause == STOP_FREEZER) {
		node = frozen_group(task);
	} else if (cause == STOP_MEMORY) {
		node = memory_group(task, &limit.value);
	} else if (cause == STOP_SIGNAL) {
		name = stopper_of(task, &limit);
	} else if (cause == STOP_TRACER) {
		name = tracer_of(task, &limit);
	} else if (cause == STOP_AFFINITY) {
		limit.id = affinity_id(address);
		name = BPF_CORE_READ(task, cpus_ptr);
	}
	if (node)
		limit.id = READ(node, id);
	if (limit.id)
		send_limit(&limit, (__u64)node, name);
	return limit.id;
}

/* ns that a quota has stopped the threads of the cfs_rq at @address, by the kernel's own count. */
GLOBAL __u64 quota_stopped(__u64 address)
{
	struct cfs_rq *queue = (void *)address;
	__u64 sum, since, clock = 0;

	if (bpf_core_field_exists(queue->throttled_clock_self_time)) {
		sum = READ(queue, throttled_clock_self_time);
		since = READ(queue, throttled_clock_self);
		if (since)
			clock = READ(queue, rq, clock);
	} else if (bpf_core_field_exists(queue->throttled_clock_pelt_time)) {
		sum = READ(queue, throttled_clock_pelt_time);
		since = READ(queue, throttle_count) ? READ(queue, throttled_clock_pelt) : 0;
		if (since)
			clock = READ(queue, rq, clock_pelt) - READ(queue, rq, lost_idle_time);
	} else if (bpf_core_field_exists(queue->throttled_clock_task_time)) {
		sum = READ(queue, throttled_clock_task_time);
		since = READ(queue, throttle_count) ? READ(queue, throttled_clock_task) : 0;
		if (since)
			clock = READ(queue, rq, clock_task);
	} else {
		return 0;
	}
	return since && clock > since ? sum + clock - since : sum;
}

/* The cfs_rq of @task if a quota stops it, or (before 6.18) may stop it while it is queued. */
static __always_inline __u64 queue_with_quota(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled)) {
		if (!FIELD(task, throttled))
			return 0;
	} else if (!bpf_core_field_exists(task->se.parent) || !BPF_CORE_READ(task, se.parent)) {
		return 0;
	}
	return (__u64)BPF_CORE_READ(task, se.cfs_rq);
}

/* @task is switched out though it could run; @next gets the CPU. */
static __always_inline void begin_runnable_stop(struct task_struct *task, struct task_struct *next,
						struct product_thread *mine)
{
	__u32 policy = FIELD(task, policy);

	if (policy == SCHED_DEADLINE) {
		if (!BIT_FIELD(task, dl.dl_throttled))
			return;
		mine->stop = STOP_DEADLINE;
		mine->stop_base = FIELD(task, dl.dl_timer.node.expires);
		mine->stopped_by = limit_of(address_in(task), STOP_DEADLINE);
	} else if (policy == SCHED_FIFO || policy == SCHED_RR) {
		/* It has no CPU, but a thread with a lower priority has one, or nobody. */
		if (FIELD(next, prio) >= REALTIME_PRIORITIES)
			mine->stop = STOP_REALTIME;
	} else {
		mine->stop_queue = queue_with_quota(task);
		if (!mine->stop_queue)
			return;
		mine->stop_base = quota_stopped(mine->stop_queue);
		if (bpf_core_field_exists(task->throttled))
			mine->stopped_by = quota_of(mine->stop_queue);
	}
}

/* Finds out what stops @task, if that is not known yet: it may be stopped when it is seen first. */
static __always_inline void find_earlier_stop(struct task_struct *task, struct thread_state *state)
{
	struct product_thread *mine = &state->product;

	if (state->class != CLASS_STOPPED || mine->stop != STOP_NONE)
		return;
	mine->stop = stop_of_blocked(task);
	mine->stopped_by = limit_of(address_in(task), mine->stop);
}

/* @task is in a run queue from now on, which no other limit has stopped and no quota may stop. */
static __always_inline void begin_affinity(struct task_struct *task, struct product_thread *mine)
{
	__u64 now;
	__u32 cpu;

	if (!is_restricted(task))
		return;
	if (!counts_idle) /* all CPUs read it at each switch */
		counts_idle = true;
	now = bpf_ktime_get_ns();
	cpu = forbidden_cpu(address_in(task), now);
	if (!cpu)
		return;
	mine->stop = STOP_AFFINITY;
	mine->forbidden_cpu = cpu;
	mine->stop_base = idle_time(cpu - 1, now);
	mine->stopped_by = limit_of(address_in(task), STOP_AFFINITY);
}

/* @task, of which an interval has begun, is switched out; @next gets the CPU. */
static __always_inline void begin_stop(struct task_struct *task, struct task_struct *next,
				       struct thread_state *state)
{
	struct product_thread *mine = &state->product;
	mine->stop = STOP_NONE;
	mine->stop_queue = 0;
	mine->stopped_by = 0;
	if (state->class == CLASS_SCHED) {
		begin_runnable_stop(task, next, mine);
		if (mine->stop == STOP_NONE && !mine->stop_queue)
			begin_affinity(task, mine);
	} else if (state->class == CLASS_STOPPED) {
		find_earlier_stop(task, state);
		/* Reclaim sleeps like a thread above its memory.high. */
		if (mine->stop == STOP_MEMORY && !mine->stopped_by) {
			mine->stop = STOP_NONE;
			state->class = CLASS_OTHER;
		}
	} else if (mine->pauses && state->class == CLASS_IO) {
		state->class = CLASS_STOPPED;
		mine->stop = STOP_WRITEBACK;
	}
	if (state->class != CLASS_SCHED) /* it may be preempted before it sleeps */
		mine->pauses = 0;
}

/*
 * @task, which is blocked, is woken. A freezer (of cgroup v1, since 6.1) that stops a sleeping
 * thread does not wake it: from when on it did, is not known. And a quota can stop the threads of
 * the run queue for which it is meant.
 */
static __always_inline void woken_stop(struct task_struct *task, struct thread_state *state)
{
	struct product_thread *mine = &state->product;

	if (state->run_state == RUN_STATE_ON_CPU || state->class == CLASS_SCHED)
		return;
	find_earlier_stop(task, state);
	if (!settings.frozen_flag && FIELD(task, __state) & TASK_FROZEN &&
	    mine->stop == STOP_NONE) {
		mine->stop = STOP_FREEZER;
		mine->stopped_by = limit_of(address_in(task), STOP_FREEZER);
	}
	if (mine->stop != STOP_NONE)
		return;
	if (!bpf_core_field_exists(task->throttled))
		mine->stop_queue = queue_with_quota(task);
	if (mine->stop_queue)
		mine->stop_base = quota_stopped(mine->stop_queue);
	else
		begin_affinity(task, mine);
}

/*
 * Before 6.18: @task, which waits for a CPU, goes to the run queue of CPU @cpu. The part of its
 * group there may be throttled, or is when the task comes, because the quota has been used up.
 */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, __u32 cpu)
{
	struct thread_state *state = capture.active ? target_state(task) : NULL;
	struct product_thread *mine;
	struct cfs_rq *queue;
	__u64 so_far;

	if (!state || state->run_state != RUN_STATE_OFF_CPU || !has_quotas())
		return 0;
	mine = &state->product;
	if (mine->stop != STOP_NONE || !mine->stop_queue)
		return 0;
	queue = (void *)mine->stop_queue;
	so_far = quota_stopped((__u64)queue) - mine->stop_base;
	queue = part_of(BPF_CORE_READ(queue, tg), cpu, 0);
	mine->stop_queue = (__u64)queue;
	mine->stop_base = quota_stopped((__u64)queue) - so_far;
	return 0;
}

/* How long a limit of CPU time stopped @state's thread in [@wake, @now), when it was runnable. */
static __always_inline __u64 stopped_length(struct thread_state *state, __u64 wake, __u64 now)
{
	struct product_thread *mine = &state->product;
	__u64 length = now - wake;
	__s64 part = 0;

	if (mine->stop == STOP_REALTIME)
		return length;
	if (mine->stop == STOP_DEADLINE)
		part = mine->stop_base - wake;
	else if (mine->stop == STOP_AFFINITY)
		part = idle_time(mine->forbidden_cpu - 1, now) - mine->stop_base;
	else if (mine->stop_queue)
		part = quota_stopped(mine->stop_queue) - mine->stop_base;
	if (part <= 0)
		return 0;
	return (__u64)part < length ? (__u64)part : length;
}

/* Sets what of the interval of @state's thread, which ends at @now, it was stopped after @wake. */
static __always_inline void end_stop(struct thread_state *state, __u64 wake, __u64 now)
{
	struct product_thread *mine = &state->product;

	mine->stopped = stopped_length(state, wake, now);
	mine->stopped_points = 0;
	if (mine->stopped && mine->stop == STOP_NONE) {
		mine->stop = STOP_QUOTA;
		if (!mine->stopped_by)
			mine->stopped_by = quota_of(mine->stop_queue);
	} else if (!mine->stopped && mine->stop == STOP_AFFINITY) {
		mine->stop = STOP_NONE;
	}
}
