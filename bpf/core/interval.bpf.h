/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Off-CPU intervals: their class, the wakeup that ended the blocked part, and the sampling
 * points in them. Blocked Samples, OSDI'24, section 3.1.
 */
#pragma once

#include "abi/grid.h"
#include "bpf/core/state.bpf.h"
#include "bpf/core/stop.bpf.h"
#include "bpf/core/verifier.bpf.h"

static __always_inline enum wait_class blocked_class(struct task_struct *task,
						     const struct thread_state *state)
{
	long nr;

	if (stop_of_blocked(task) != STOP_NONE)
		return CLASS_STOPPED;
	if (state->lock)
		return CLASS_LOCK;
	if (BIT_FIELD(task, in_iowait))
		return CLASS_IO;
	nr = syscall_of(task);
	if (nr == NR_FUTEX || nr == NR_FUTEX_WAITV || nr == NR_FUTEX_WAIT)
		return CLASS_LOCK;
	return CLASS_OTHER;
}

/* Whether the last wakeup that was seen belongs to the current sleep, not to an earlier one. */
static __always_inline bool was_woken(const struct thread_state *state)
{
	return state->t_wake >= state->ran_at;
}

static __always_inline void count_hidden_wake(const struct thread_state *state)
{
	if (state->class != CLASS_SCHED && !was_woken(state) &&
	    !(state->interval_flags & INTERVAL_BEGUN_BEFORE))
		count_loss(LOSS_HIDDEN_WAKE);
}

/*
 * The time of the wakeup that ended the blocked part of [since, @now], clipped to that: a wakeup
 * can come before the thread is switched out. If the wakeup was not seen (in code that the kernel
 * hides from tracing), it was when the thread was queued, @queued ns ago.
 */
static __always_inline __u64 interval_wake(const struct thread_state *state, __u64 now,
					   __u64 queued)
{
	__u64 wake = was_woken(state) ? state->t_wake : now - queued;

	if (state->class == CLASS_SCHED || wake < state->since)
		return state->since;
	return wake < now ? wake : now;
}

/* How long @task, which is switched in, was queued, if its wakeup was not seen; else 0. */
static __always_inline __u64 unseen_queue_length(struct task_struct *task,
						 const struct thread_state *state)
{
	return state->class == CLASS_SCHED || was_woken(state) ? 0 : queue_length(task);
}

/* False: no sampling point lies between the end of the last wait and @now. True: maybe. */
static __always_inline bool may_be_sampled(const struct thread_state *state, __u64 now, __u8 shift)
{
	return now > state->next_point || state->spacing != shift;
}

/* The periods that @thread's sampling points in [@from, @to) represent. */
GLOBAL __u64 points_between(__u32 thread, __u64 from, __u64 to, __u32 shift)
{
	return sample_grid__weight(from, to, settings.period_ns, shift & INTERVAL_SPACING_MAX,
				   settings.grid_seed,
				   sample_grid__own_seed(settings.grid_seed, thread));
}

/* The first sampling point of @thread at or after @time. */
GLOBAL __u64 next_point(__u32 thread, __u64 time, __u32 shift)
{
	return sample_grid__next_of(time, settings.period_ns, shift & INTERVAL_SPACING_MAX,
				    settings.grid_seed,
				    sample_grid__own_seed(settings.grid_seed, thread));
}

/* count_points() of an interval that may have some. (Not inlined: it is long and rarely called.) */
static __noinline void find_points(struct thread_state *state, __u64 wake, __u64 now, __u8 shift)
{
	state->blocked_points = points_between(state->thread, state->since, wake, shift);
	state->runq_points = points_between(state->thread, wake, now, shift);
	state->next_point = next_point(state->thread, now, shift);
	state->spacing = shift;
}

/* Sets the sampling points of the off-CPU interval that ends at @now. False: it has none. */
static __always_inline bool count_points(struct thread_state *state, __u64 wake, __u64 now)
{
	__u8 shift = present_spacing();

	state->blocked_points = 0;
	state->runq_points = 0;
	if (!may_be_sampled(state, now, shift))
		return false;
	find_points(state, wake, now, shift);
	return state->blocked_points || state->runq_points;
}

/* Waits for I/O and for locks of the kernel are part of what the thread does. */
static __always_inline void end_turn(struct task_struct *task, struct thread_state *state)
{
	if (!settings.n_listeners || state->class == CLASS_IO || state->lock)
		return;
	state->turn++;
	state->blocked_in = syscall_of(task);
}

/*
 * Begins an off-CPU interval of @task, which is switched out at @now. False: the thread has exited,
 * and this is its last switch.
 */
static __always_inline bool begin_interval(struct task_struct *task, struct thread_state *state,
					   __u64 now)
{
	state->since = now;
	state->run_delay = run_delay(task);
	if (!task_blocked(task)) {
		state->class = CLASS_SCHED;
		state->interval_flags = INTERVAL_PREEMPTED;
	} else if (FIELD(task, __state) & TASK_DEAD) {
		state->run_state = RUN_STATE_GONE;
		return false;
	} else {
		state->class = blocked_class(task, state);
		state->interval_flags =
			FIELD(task, __state) & TASK_UNINTERRUPTIBLE ? INTERVAL_UNINTERRUPTIBLE : 0;
		end_turn(task, state);
	}
	state->run_state = RUN_STATE_OFF_CPU;
	return true;
}

/*
 * Ends the interval in @state at @now (@queued: see interval_wake()). True: it is to be emitted,
 * because it contains a sampling point, or in trace mode.
 */
static __always_inline bool end_interval(struct thread_state *state, __u64 now, __u64 queued)
{
	__u64 wake = interval_wake(state, now, queued);
	bool sampled = count_points(state, wake, now);

	state->t_in = now;
	if (!sampled && !settings.trace_mode)
		return false;
	state->t_out = state->since;
	state->pending_wake = wake;
	state->pending_class = state->class;
	state->pending_flags = state->interval_flags | state->spacing << INTERVAL_SPACING_SHIFT |
			       (state->spacing ? INTERVAL_OWN_POINTS : 0);
	return true;
}

/* Sets what @task does, which is recorded from now on: it runs, or is in an interval. */
static __always_inline void begin_marked(struct task_struct *task, struct thread_state *state)
{
	state->class = task_blocked(task) ? blocked_class(task, state) : CLASS_SCHED;
	state->interval_flags =
		INTERVAL_BEGUN_BEFORE | (state->class == CLASS_SCHED ? INTERVAL_PREEMPTED : 0);
	if (knows_cpu(task))
		state->run_state = has_cpu(task) ? RUN_STATE_ON_CPU : RUN_STATE_OFF_CPU;
}

/* Begins a run of @state's thread at @now. */
static __always_inline void begin_run(struct thread_state *state, __u64 now)
{
	state->since = now;
	state->ran_at = now;
	state->run_state = RUN_STATE_ON_CPU;
	state->interval_flags = 0;
}

/*
 * Whether @state's thread, which has a CPU, had it already when it was marked: it was runnable
 * then, and no switch was seen since.
 */
static __always_inline bool has_run_since_mark(const struct thread_state *state)
{
	return state->run_state == RUN_STATE_UNKNOWN && state->class == CLASS_SCHED;
}

/*
 * The begin of the current run of @task, by the scheduler's statistics. For a task that has a CPU
 * while its state says that it is off the CPU: its switch-in was not seen, because it followed a
 * task that the kernel hides from tracing, in which tracepoints do not fire.
 */
static __always_inline __u64 hidden_switch_in(struct task_struct *task,
					      const struct thread_state *state, __u64 now)
{
	__u64 begin = now - run_length(task);

	count_hidden_wake(state);
	return begin > state->since ? begin : state->since;
}

/*
 * How long @task was queued before its current run, whose begin was not seen, in ns: what the
 * scheduler has added to its run-queue time since it was switched out. 0: unknown.
 */
static __always_inline __u64 hidden_queue_length(struct task_struct *task,
						 const struct thread_state *state)
{
	if (state->interval_flags & INTERVAL_BEGUN_BEFORE)
		return 0;
	return run_delay(task) - state->run_delay;
}

/*
 * Counts a switch, and sets *@out and *@in to the states of @prev and @next, NULL for a task that
 * is not recorded. False: neither is.
 */
static __always_inline bool recorded_switch(struct task_struct *prev, struct task_struct *next,
					    struct thread_state **out, struct thread_state **in)
{
	if (!capture.active)
		return false;
	this_capture_cpu()->switches++;
	*out = FIELD(prev, pid) ? target_state(prev) : NULL;
	*in = FIELD(next, pid) ? target_state(next) : NULL;
	return *out || *in;
}
