// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * The kernel side of causal profiling: virtual time, docs/virtual-time.md. Samples in the
 * target credit their thread with virtual time, wakeups and CPUs pass it on, and threads with debt
 * are paused. User space gets events about threads and programs, but no samples.
 */
#include "bpf/causal/thread.bpf.h"
#include "bpf/causal/scope.bpf.h"
#include "bpf/core/clock.bpf.h"
#include "bpf/core/context.bpf.h"
#include "bpf/core/interval.bpf.h"
#include "bpf/core/locks.bpf.h"
#include "bpf/core/state.bpf.h"
#include "bpf/core/tasks.bpf.h"
#include "bpf/causal/pay.bpf.h"
#include "bpf/causal/visits.bpf.h"
#include "bpf/core/threads.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __noinline void end_thread(struct task_struct *task, struct thread_state *state, __u64 now)
{
	struct event_totals event = {};

	causal_end(state);
	if (!(state->flags & STATE_ANNOUNCED))
		announce(task, state, 0);
	event.header = (struct event_header){EVENT_TOTALS, state->thread, now};
	event.flags = TOTALS_EXITED;
	emit(&event, sizeof(event), LOSS_RING_FULL);
}

static __always_inline void end_hidden_wait(struct task_struct *task, struct thread_state *state,
					    __u64 now)
{
	count_loss(LOSS_HIDDEN_SWITCH);
	end_interval(state, hidden_switch_in(task, state, now), hidden_queue_length(task, state));
	state->since = state->t_in;
	state->ran_at = state->t_in;
	state->run_state = RUN_STATE_ON_CPU;
}

static __always_inline void switch_out(struct cpu_state *cpu, struct task_struct *task,
				       struct thread_state *state, __u64 now)
{
	bool tick;
	__u64 due;

	state->flags &= ~STATE_INTERVAL_PENDING;
	tick = state->run_state == RUN_STATE_ON_CPU && take_due_tick(cpu, state->since, now, &due);
	if (state->run_state == RUN_STATE_OFF_CPU)
		end_hidden_wait(task, state, now);
	causal_ran(task, state, SCRATCH_INTERVAL, tick, now);
	state->counted = counted_time(task);
	if (!begin_interval(task, state, now))
		end_thread(task, state, now);
	if (state->product.io_pending)
		causal_wait_for_io(task, state);
	causal_switch_out(cpu, state, now);
}

/*
 * @task is switched in. What it ran since its last switch that was seen, by the kernel's count, is
 * no part of the wait that ends: its switch-out was not seen, or a whole run.
 */
static __always_inline void leave_out_hidden_run(struct task_struct *task,
						 struct thread_state *state, __u64 now)
{
	__s64 length = now - state->since, ran = counted_time(task) - state->counted;

	state->counted += ran;
	if (state->run_state == RUN_STATE_ON_CPU) {
		state->class = CLASS_OTHER;
		state->interval_flags = 0;
	} else if (ran <= 0) {
		return;
	}
	count_loss(LOSS_UNSEEN);
	if (ran > 0)
		state->since += ran < length ? ran : length;
}

static __always_inline void switch_in(struct cpu_state *cpu, struct task_struct *task,
				      struct thread_state *state, __u64 now)
{
	bool first = state->interval_flags & INTERVAL_FIRST;
	__u64 queued;

	leave_out_hidden_run(task, state, now);
	/* For what it will run after its last sample, which is as long on average. */
	if (first)
		state->product.ran_ns = since_tick(cpu, now);
	queued = unseen_queue_length(task, state);
	count_hidden_wake(state);
	causal_switch_in(cpu, task, state, interval_wake(state, now, queued), now);
	if (end_interval(state, now, queued) && !first && !settings.stack_at_switch_out) {
		state->flags |= STATE_INTERVAL_PENDING;
		cpu->pending = FIELD(task, pid);
	}
	begin_run(state, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct cpu_state *cpu = this_cpu();
	struct thread_state *out, *in;
	__u64 now;

	if (!recorded_switch(prev, next, &out, &in)) {
		causal_note_other(cpu, FIELD(next, pid));
		return 0;
	}
	now = bpf_ktime_get_ns();
	if (out)
		switch_out(cpu, prev, out, now);
	if (in)
		switch_in(cpu, next, in, now);
	causal_note_other(cpu, !in && FIELD(next, pid));
	return 0;
}

/*
 * ns that the sampling points in the last wait of @state represent. The run-queue time after the
 * wait counts too, because without the wait there would be none; unless all CPUs were busy, because
 * then only the threads that had them could have been faster.
 */
static __always_inline __u64 pending_wait_ns(const struct thread_state *state)
{
	__u32 points = state->blocked_points;

	if (!state->product.cpus_busy)
		points += state->runq_points;
	return (__u64)points * settings.period_ns;
}

/* Current runs again: credits it for its wait, and pauses it if it has debt. */
static __always_inline void credit_and_pause(void *ctx, struct task_struct *task,
					     struct thread_state *state)
{
	__u64 own = causal_own(state->product.slot);

	if (causal_is_paused(state->product.slot)) {
		state->flags &= ~STATE_INTERVAL_PENDING; /* a pause is not time in a target */
		return;
	}
	if (state->product.blocked_ns)
		causal_kind_time(ctx, task, state);
	if (state->flags & STATE_INTERVAL_PENDING && state->pending_class != CLASS_LOCK &&
	    state->pending_class != CLASS_SCHED && !state->product.woken_by_peer &&
	    has_user_stack(task, state))
		causal_code_sample(SCRATCH_INTERVAL, state->product.slot, pending_wait_ns(state));
	own = causal_own(state->product.slot) - own;
	state->product.wait_credit_ns += own;
	this_cpu()->product.own_at_switch_in += own; /* not credited for running on this CPU */
	state->flags &= ~STATE_INTERVAL_PENDING;
	if (syscall_of(task) == SYSCALL_NONE)
		causal_pay(state->product.slot);
}

static __always_inline void thread_runs_again(void *ctx)
{
	struct cpu_state *cpu = this_cpu();
	struct thread_state *state;
	struct task_struct *task;

	if (!cpu->pending &&
	    !(cpu->product.slot && (cpu->product.kind_pending || causal_owes(cpu->product.slot))))
		return;
	cpu->pending = 0;
	cpu->product.kind_pending = false;
	task = bpf_get_current_task_btf();
	state = target_state(task);
	if (state)
		credit_and_pause(ctx, task, state);
}

#include "bpf/core/rungs.bpf.h"

/*
 * @sleeper inherits the virtual time of @waker. In a soft interrupt, the waker is the thread that
 * was interrupted, and only if it is in a system call that sends: then it is delivering over
 * loopback what the sleeper waits for.
 */
static __always_inline void inherit_time(struct task_struct *waker, struct thread_state *sleeper,
					 __u64 now)
{
	struct thread_state *state;

	if (!FIELD(waker, pid))
		return;
	if (sleeper->waker_context == WAKER_SOFTIRQ) {
		if (!causal_syscall(syscall_of(waker))->sends)
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
	struct thread_state *state = capture.active ? target_state(task) : NULL;
	struct task_struct *waker;

	if (!state)
		return 0;
	waker = bpf_get_current_task_btf();
	state->waker_context = context_of(waker);
	state->t_wake = bpf_ktime_get_ns();
	inherit_time(waker, state, state->t_wake);
	return 0;
}

/* @task was put on a run queue. */
static __always_inline int on_queued(struct task_struct *task)
{
	struct thread_state *state = capture.active ? target_state(task) : NULL;

	if (!state)
		return 0;
	causal_begin_queueing(state, &cpu_states[cpu_of(task) & (CAPTURE_MAX_CPUS - 1)],
			      bpf_ktime_get_ns());
	state->product.cpus_full = causal_cpus_full(task);
	state->product.cpus_busy = causal_cpus_busy(task);
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

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread_state *state = thread_created(parent, child);

	if (state)
		causal_begin(child, state, target_state(parent));
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct thread_state *state = thread_exits(task);

	if (!state)
		return 0;
	if (state->run_state == RUN_STATE_OFF_CPU)
		end_hidden_wait(task, state, bpf_ktime_get_ns());
	thread_has_ended(state);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
	struct thread_state *state = thread_renamed(task, name);

	if (state && !state->product.slot)
		causal_begin(task, state, NULL);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid)
{
	struct thread_state *state = thread_executed(task);

	if (state)
		causal_exec(task, state, bpf_ktime_get_ns());
	return 0;
}

/* Takes, at @now, the sample of a tick that was due at @due. */
static __always_inline void sample_current(struct cpu_state *cpu, __u64 due, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state;
	__u64 ticks;

	causal_scan_points(now);
	state = FIELD(task, pid) ? target_state(task) : NULL;
	if (!state || state->run_state == RUN_STATE_GONE)
		return;
	ticks = count_ticks(cpu, due, state->run_state == RUN_STATE_ON_CPU ? state->since : due,
			    now);
	causal_ran(task, state, SCRATCH_TICK, ticks, now);
	if (syscall_of(task) == SYSCALL_NONE)
		causal_pay(state->product.slot);
}

#define ERESTARTSYS	      512
#define ERESTART_RESTARTBLOCK 516

SEC("raw_tp/sys_exit")
int on_sys_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 number = this_cpu()->product.slot;
	const volatile struct causal_syscall *call;
	long ret = ctx->args[1];

	if (!number)
		return 0;
	call = causal_syscall(syscall_of(task));
	/* Calls that return without an error are visits of their points. */
	if (call->point && ret >= 0)
		causal_visit(call->point - 1);
	if (call->wait)
		causal_io_returns(task, call->wait, ret);
	if (!causal_owes(number))
		return 0;
	/* A signal of the program interrupted it, and must be handled before ours. */
	if (ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK)
		return 0;
	return causal_pay(number);
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct cpu_state *cpu = this_cpu();
	__u64 now, due;

	if (!capture.active)
		return 0;
	now = bpf_ktime_get_ns();
	tick_begin(cpu, ctx, now, &due);
	sample_current(cpu, due, now);
	tick_end(cpu, now);
	return 0;
}
