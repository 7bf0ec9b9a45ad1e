/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Asynchronous I/O (io_submit, io_uring) that is in flight while its thread runs: no pause stops
 * it. Counted is by how much `global` grows from the system call that begins I/O to the one that
 * asks for its results.
 */
#pragma once

#include "bpf/causal/state.bpf.h"

/* The begin of what io_setup() maps into the process, which libaio reads, too. */
struct aio_ring {
	__u32 id;
	__u32 nr;
	__u32 head; /* results that were taken, modulo nr */
	__u32 tail; /* results that are there, likewise */
};

/* Whether system calls with @wait ask for results of asynchronous I/O. */
static __always_inline bool causal_asks_for_io(__u32 wait)
{
	return wait == CAUSAL_SYSCALL_IO || wait == CAUSAL_SYSCALL_RING;
}

/* The thread of @state asks for the results of its asynchronous I/O. */
static __always_inline void causal_ask_for_io(const struct causal_area *area,
					      struct thread_state *state)
{
	__s64 growth = area->global - state->product.io_global;

	state->product.io_pending = false;
	if (growth > 0)
		__sync_fetch_and_add(&causal_in_flight_ns, growth);
}

/* @task, with asynchronous I/O in flight, leaves its CPU: perhaps to wait for it. */
static __always_inline void causal_wait_for_io(struct task_struct *task, struct thread_state *state)
{
	struct causal_area *area = causal_area();

	if (area && causal_asks_for_io(causal_syscall(syscall_of(task))->wait))
		causal_ask_for_io(area, state);
}

/*
 * Whether some of the requests that io_submit() of @task, current, has begun are in flight. Those
 * of buffered I/O, for example, are complete when it returns their number, @result.
 */
static __always_inline bool causal_submit_left_some(struct task_struct *task, long result)
{
	const struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct aio_ring ring = {};
	__u32 complete;

	if (result <= 0)
		return false;
	if (bpf_probe_read_user(&ring, sizeof(ring), (void *)REGS_ARG1(regs)) || !ring.nr)
		return true;
	complete = ring.tail >= ring.head ? ring.tail - ring.head : ring.tail + ring.nr - ring.head;
	return complete < result;
}

/*
 * Whether requests of the io_uring that @task used last are in flight: it has taken more of them
 * than it has results. (Requests with several results count as complete.)
 */
static __always_inline bool causal_ring_has_some(struct task_struct *task)
{
	const struct io_ring_ctx *ring = NULL;

	if (!bpf_core_field_exists(task->io_uring) ||
	    !bpf_core_field_exists(((struct io_uring_task *)0)->last) ||
	    !bpf_core_field_exists(ring->cached_sq_head) ||
	    !bpf_core_field_exists(ring->cached_cq_tail))
		return true; /* unknown */
	ring = BPF_CORE_READ(task, io_uring, last);
	return ring && (__s32)(READ(ring, cached_sq_head) - READ(ring, cached_cq_tail)) > 0;
}

/*
 * A system call with @wait of @task, current, returns @result: it may have begun I/O, or asked for
 * its results.
 */
static __always_inline void causal_io_returns(struct task_struct *task, __u32 wait, long result)
{
	struct thread_state *state;
	struct causal_area *area;

	if (wait != CAUSAL_SYSCALL_SUBMIT && !causal_asks_for_io(wait))
		return;
	state = target_state(task);
	area = causal_area();
	if (!state || !area)
		return;
	if (state->product.io_pending && causal_asks_for_io(wait))
		causal_ask_for_io(area, state);
	if (wait == CAUSAL_SYSCALL_IO || state->product.io_pending)
		return;
	if (wait == CAUSAL_SYSCALL_SUBMIT ? !causal_submit_left_some(task, result)
					  : !causal_ring_has_some(task))
		return;
	state->product.io_pending = true;
	state->product.io_global = area->global;
}
