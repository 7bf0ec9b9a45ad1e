// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The kernel side of a recording: one event per off-CPU interval that holds a
 * sampling point (every interval in trace mode), clock ticks for the time on
 * the CPU, and exact totals. Blocked Samples, OSDI'24, section 3.1.
 *
 * A switch costs two timestamps and some arithmetic; a stack is taken only for
 * what is emitted, where the thread itself runs again.
 */
#include "bpf/causal/virtual_time.bpf.h"
#include "bpf/core/clock.bpf.h"
#include "bpf/core/device.bpf.h"
#include "bpf/core/interval.bpf.h"
#include "bpf/core/stack.bpf.h"
#include "bpf/core/state.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline void fill_totals(struct event_totals *event, struct task_struct *task,
					const struct thread_state *state, __u64 now)
{
	event->header.type = EVENT_TOTALS;
	event->header.thread = state->thread;
	event->header.time = now;
	__builtin_memcpy(event->ns, state->ns, sizeof(event->ns));
	event->voluntary = task->nvcsw - state->voluntary;
	event->involuntary = task->nivcsw - state->involuntary;
}

static __noinline void thread_gone(struct task_struct *task, struct thread_state *state, __u64 now)
{
	struct event_totals event = {};

	fill_totals(&event, task, state, now);
	event.voluntary--; /* this very switch, which nobody returns from */
	event.flags = TOTALS_EXITED;
	state->where = WHERE_GONE;
	if (causal)
		causal_end(state);
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	emit(&event, sizeof(event), LOSS_RING_FULL);
}

/* Emits an on-CPU sample of @task, which is current: at a tick, or at its switch-out. */
static __always_inline void emit_sample(void *ctx, struct task_struct *task,
					struct thread_state *state, __u64 time, __u64 points,
					bool switch_out)
{
	static const __u64 all[2] = {};
	__u32 use = switch_out ? SCRATCH_INTERVAL : SCRATCH_TICK;
	struct scratch *scratch = scratch_for(use);
	struct event_sample *event;

	if (!scratch)
		return;
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	event = SCRATCH_HEAD(scratch, event_sample);
	event->header = (struct event_header){EVENT_SAMPLE, state->thread, time};
	event->weight = points;
	event->reserved = 0;
	capture(ctx, scratch, use, &event->stack, switch_out ? schedule_range : all,
		has_user_stack(task, state));
	emit_with_stack(scratch, sizeof(*event), &event->stack, LOSS_RING_FULL);
}

/* The last rung: the stack of every thread that goes to sleep, in case it is wanted. */
static __always_inline void capture_at_switch_out(void *ctx, struct task_struct *task,
						  struct thread_state *state, __u64 now)
{
	struct scratch *scratch = scratch_for(SCRATCH_INTERVAL);
	struct event_stacks *event;

	if (!scratch)
		return;
	event = SCRATCH_HEAD(scratch, event_stacks);
	event->header = (struct event_header){EVENT_STACKS, state->thread, now};
	capture(ctx, scratch, SCRATCH_INTERVAL, &event->stack, schedule_range,
		has_user_stack(task, state));
	state->kernel_hash = event->stack.kernel_hash;
	state->user_hash = event->stack.user_hash;
	if (event->stack.kernel_depth || event->stack.user_depth)
		emit_with_stack(scratch, sizeof(*event), &event->stack, LOSS_RING_FULL);
}

/*
 * @task ran, but nothing told when it began to: tracepoints do not fire behind
 * tasks that a kernel hides from tracing. The scheduler's books know.
 */
static __always_inline void missed_switch_in(struct task_struct *task, struct thread_state *state,
					     __u64 now)
{
	__u64 begin = now - run_length(task);

	lose(LOSS_HIDDEN_SWITCH);
	count_hidden_wake(state);
	if (end_interval(state, begin > state->since ? begin : state->since, 0))
		emit_interval_bare(task, state);
	state->since = state->t_in;
	state->ran_at = state->t_in;
}

static __always_inline void switch_out(struct task_struct *task, struct thread_state *state,
				       __u64 now)
{
	if (state->where == WHERE_OFF_CPU)
		missed_switch_in(task, state, now);
	if (now > state->since && !causal)
		state->ns[CLASS_CPU] += now - state->since;
	state->since = now;
	if (!task_blocked(task)) {
		state->class = CLASS_SCHED;
		state->interval_flags = INTERVAL_PREEMPTED;
	} else if (task->__state & TASK_DEAD) {
		thread_gone(task, state, now);
		return;
	} else {
		state->class = blocked_class(task, state);
		state->interval_flags =
			task->__state & TASK_UNINTERRUPTIBLE ? INTERVAL_UNINTERRUPTIBLE : 0;
	}
	state->where = WHERE_OFF_CPU;
}

static __always_inline void switch_in(struct cpu_state *cpu, struct task_struct *task,
				      struct thread_state *state, __u64 now)
{
	bool first = state->interval_flags & INTERVAL_FIRST;
	__u64 queued = queue_length(task);

	count_hidden_wake(state);
	if (causal)
		causal_switch_in(cpu, state, interval_wake(state, now, queued), now);
	if (end_interval(state, now, queued)) {
		if (first || stack_at_switch_out) {
			emit_interval_bare(task, state);
		} else {
			state->flags |= STATE_PENDING;
			cpu->pending = task->pid;
		}
	}
	state->since = now;
	state->ran_at = now;
	state->where = WHERE_ON_CPU;
	state->interval_flags = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct cpu_state *cpu = this_cpu();
	struct thread_state *out, *in;
	__u64 now, due, points = 0;

	if (!active)
		return 0;
	these_counts()->switches++;
	out = prev->pid ? target_state(prev) : NULL;
	in = next->pid ? target_state(next) : NULL;
	if (!out && !in)
		return 0;
	now = bpf_ktime_get_ns();
	if (out) {
		if (out->flags & STATE_PENDING)
			emit_interval_bare(prev, out);
		if (out->where == WHERE_ON_CPU)
			points = take_due_tick(cpu, out->since, now, &due);
		if (points && causal)
			causal_sample(prev, out, SCRATCH_INTERVAL, points, due);
		else if (points)
			emit_sample(ctx, prev, out, due, points, true);
		switch_out(prev, out, now);
		if (causal)
			causal_switch_out(cpu, out, now);
		if (stack_at_switch_out && out->where != WHERE_GONE)
			capture_at_switch_out(ctx, prev, out, now);
	}
	if (in)
		switch_in(cpu, next, in, now);
	return 0;
}

/*
 * What the sampling points in the wait of @state stand for, and in the wait for a CPU
 * afterwards: who does not wait does not wait for a CPU then. But while another thread of
 * the program had that CPU, that one was who could have been faster.
 */
static __always_inline __u64 causal_points_ns(const struct thread_state *state)
{
	__u64 queued = state->t_in - state->pending_wake;
	__u64 runq = (__u64)state->runq_points * period_ns;

	if (state->used >= queued)
		runq = 0;
	else
		runq = runq * (queued - state->used) / queued;
	return (__u64)state->blocked_points * period_ns + runq;
}

/* What the causal engine does in place of emit_pending(). */
static __always_inline void causal_run(void *ctx, struct task_struct *task,
				       struct thread_state *state)
{
	__u64 own = causal_own(state->slot);

	if (causal_is_paused(state->slot)) {
		state->flags &= ~STATE_PENDING; /* a pause is time of nobody */
		return;
	}
	if (state->blocked_ns)
		causal_kind_time(ctx, task, state);
	if (state->flags & STATE_PENDING && state->pending_class != CLASS_LOCK &&
	    state->pending_class != CLASS_SCHED && !state->carried && has_user_stack(task, state))
		causal_code_sample(SCRATCH_INTERVAL, state->slot, causal_points_ns(state));
	own = causal_own(state->slot) - own;
	state->hit_ns += own;
	this_cpu()->own_in += own; /* it is not for what it does on this CPU */
	state->flags &= ~STATE_PENDING;
	if (syscall_of(task) == SYSCALL_NONE)
		causal_pay(state->slot, false);
}

/* In the thread that runs again: emits what is pending for it. */
static __always_inline int emit_pending(void *ctx)
{
	struct cpu_state *cpu = this_cpu();
	struct thread_state *state;
	struct task_struct *task;

	if (!cpu->pending && !(causal && cpu->slot && (cpu->waited || causal_owes(cpu->slot))))
		return 0;
	cpu->pending = 0;
	cpu->waited = false;
	task = bpf_get_current_task_btf();
	state = target_state(task);
	if (!state)
		return 0;
	if (causal)
		causal_run(ctx, task, state);
	else if (state->flags & STATE_PENDING)
		emit_interval(ctx, task, state);
	return 0;
}

/* First rung: the end of __schedule() (6.15). */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_run, bool is_switch)
{
	return emit_pending(ctx);
}

/* Second and third: the function that __schedule() ends with. */
SEC("fexit/finish_task_switch")
int BPF_PROG(on_run_fexit)
{
	return emit_pending(ctx);
}

SEC("kprobe")
int on_run_kprobe(struct pt_regs *ctx)
{
	return emit_pending(ctx);
}

static __always_inline void emit_wake(void *ctx, struct task_struct *waker,
				      const struct thread_state *sleeper, __u64 now)
{
	struct scratch *scratch = scratch_for(SCRATCH_WAKE);
	enum waker_context context = sleeper->waker_context;
	struct event_wake *event;
	bool user;

	if (!scratch)
		return;
	/* A hard interrupt has nothing to do with the thread it interrupted. */
	user = waker->pid && has_user_memory(waker) &&
	       (context == WAKER_TASK || context == WAKER_SOFTIRQ);
	event = SCRATCH_HEAD(scratch, event_wake);
	event->header = (struct event_header){EVENT_WAKE, sleeper->thread, now};
	event->waker = sleeper->waker;
	event->context = context;
	capture(ctx, scratch, SCRATCH_WAKE, &event->stack, wakeup_range, user);
	emit_with_stack(scratch, sizeof(*event), &event->stack, LOSS_WAKE_SKIPPED);
}

/*
 * Virtual time goes from @waker to @sleeper. A soft interrupt has it from the thread it
 * interrupted only where that is delivering what the sleeper waits for, over loopback.
 */
static __always_inline void carry_time(struct task_struct *waker, struct thread_state *sleeper,
				       __u64 now)
{
	struct thread_state *state;
	long nr;

	if (!waker->pid)
		return;
	if (sleeper->waker_context == WAKER_SOFTIRQ) {
		nr = syscall_of(waker);
		if (nr < 0 || nr >= SYSCALLS_MAX || !syscall_sends[nr])
			return;
	} else if (sleeper->waker_context != WAKER_TASK) {
		return;
	}
	state = target_state(waker);
	if (state)
		causal_wake(state, sleeper, now);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct thread_state *state;
	struct task_struct *waker;
	__u64 now;
	__u8 shift;

	if (!active)
		return 0;
	state = target_state(task);
	if (!state)
		return 0;
	now = bpf_ktime_get_ns();
	waker = bpf_get_current_task_btf();
	state->waker_context = context_of(waker);
	if (causal) {
		state->t_wake = now;
		carry_time(waker, state, now);
		return 0;
	}
	shift = present_spacing();
	state->waker = waker_number(waker, state->waker_context, now);
	adopt(waker, state->waker_context, now);
	state->device = this_cpu()->device;
	state->t_wake = now;
	if (trace_mode) /* it may be going to sleep on another CPU right now */
		emit_wake(ctx, waker, state, now);
	else if (state->where != WHERE_ON_CPU && state->class != CLASS_SCHED &&
		 may_be_sampled(state, now, shift) &&
		 sample_grid__points(state->since, now, period_ns << shift, grid_seed))
		emit_wake(ctx, waker, state, now);
	return 0;
}

/* @task is on a queue; for the causal engine only. */
static __always_inline int on_queued(struct task_struct *task)
{
	struct thread_state *state = active ? target_state(task) : NULL;

	if (!state)
		return 0;
	causal_ready(state, &cpu_states[cpu_of(task) & (MAX_CPUS - 1)], bpf_ktime_get_ns());
	state->full = causal_is_full(task);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	return on_queued(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return on_queued(task);
}

/* A sleeping lock in the kernel is contended (5.19): what blocks now, blocks on it. */
SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock, unsigned int flags)
{
	struct thread_state *state;

	if (!active || (flags & LCB_F_SPIN && !(flags & LCB_F_MUTEX)))
		return 0;
	state = target_state(bpf_get_current_task_btf());
	if (state)
		state->lock = (__u64)lock;
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(on_contention_end, void *lock, int ret)
{
	struct thread_state *state;

	if (!active)
		return 0;
	state = target_state(bpf_get_current_task_btf());
	if (state && state->lock == (__u64)lock)
		state->lock = 0;
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread_state *state;
	__u32 parent_number;

	if (!active || !follow)
		return 0;
	state = target_state(parent);
	if (!state || state->flags & STATE_HELPER)
		return 0;
	parent_number = state->thread;
	if (!(state->flags & STATE_ANNOUNCED))
		announce(parent, state, 0);
	state = begin_state(child, bpf_ktime_get_ns(), STATE_TARGET | STATE_CREATED, WHERE_OFF_CPU);
	if (!state)
		return 0;
	state->class = CLASS_SCHED;
	state->interval_flags = INTERVAL_FIRST | INTERVAL_PREEMPTED;
	state->voluntary = 0;
	state->involuntary = 0;
	announce(child, state, parent_number);
	if (causal)
		causal_begin(child, state, target_state(parent));
	unwind_fork(parent->tgid, child->tgid);
	return 0;
}

/*
 * The last that a thread tells of itself for certain. Its end is its last switch,
 * but that is not seen when the kernel hides the thread that runs next.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct event_totals event = {};
	struct thread_state *state;
	__u64 now;

	if (!active)
		return 0;
	state = target_state(task);
	if (!state || state->where == WHERE_GONE)
		return 0;
	now = bpf_ktime_get_ns();
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	if (state->where == WHERE_OFF_CPU)
		missed_switch_in(task, state, now);
	state->where = WHERE_ON_CPU;
	fill_totals(&event, task, state, now);
	event.ns[CLASS_CPU] += now - state->since;
	event.flags = TOTALS_EXITED | TOTALS_PROVISIONAL;
	emit(&event, sizeof(event), LOSS_RING_FULL);
	state->flags |= STATE_ENDED;
	__sync_fetch_and_add(&ended, 1);
	return 0;
}

/*
 * Within exec this is the point of no return, before the new program is mapped:
 * a command is recorded from here on.
 */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
	struct event_comm event = {};
	struct thread_state *state;
	__u64 now;

	if (!active)
		return 0;
	now = bpf_ktime_get_ns();
	state = target_state(task);
	if (!state && command_tgid && (__u32)task->tgid == command_tgid)
		state = begin_state(task, now, STATE_TARGET | STATE_CREATED, WHERE_ON_CPU);
	if (!state)
		return 0;
	if (causal && !state->slot)
		causal_begin(task, state, NULL);
	state->renamed = now;
	if (task_in_exec(task)) {
		state->flags |= STATE_IN_EXEC;
		unwind_exec(task->tgid);
	}
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	event.header = (struct event_header){EVENT_COMM, state->thread, now};
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), name);
	emit(&event, sizeof(event), LOSS_RING_FULL);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid)
{
	struct event_exec event = {};
	struct thread_state *state;

	if (!active)
		return 0;
	state = target_state(task);
	if (!state)
		return 0;
	state->flags &= ~STATE_IN_EXEC;
	if (causal)
		causal_exec(task, state, bpf_ktime_get_ns());
	unwind_begin(task);
	event.header = (struct event_header){EVENT_EXEC, state->thread, state->renamed};
	event.tid = task->pid;
	BPF_CORE_READ_STR_INTO(&event.comm, task, comm);
	emit(&event, sizeof(event), LOSS_RING_FULL);
	return 0;
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_state *cpu = this_cpu();
	struct thread_state *state;
	__u64 now, due, points;

	if (!active)
		return 0;
	now = bpf_ktime_get_ns();
	if (!tick_begin(cpu, ctx, now, &due))
		return 0;
	if (causal)
		causal_look_around(now);
	state = task->pid ? target_state(task) : NULL;
	if (!state || state->where == WHERE_GONE)
		return 0;
	points = points_due(cpu, due, state->where == WHERE_ON_CPU ? state->since : due, now);
	if (causal) {
		causal_sample(task, state, SCRATCH_TICK, points, due);
		if (syscall_of(task) == SYSCALL_NONE)
			causal_pay(state->slot, true);
	} else if (points) {
		emit_sample(ctx, task, state, due, points, false);
	}
	return 0;
}

#include "bpf/core/tasks.bpf.h"
