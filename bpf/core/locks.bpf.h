/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * Contended sleeping locks of the kernel (5.19 and later): a thread that blocks between
 * contention_begin and contention_end waits for the lock.
 */
#pragma once

#include "bpf/core/state.bpf.h"

SEC("tp_btf/contention_begin")
int BPF_PROG(on_contention_begin, void *lock, unsigned int flags)
{
	struct thread_state *state;

	if (!capture.active || (flags & LCB_F_SPIN && !(flags & LCB_F_MUTEX)))
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

	if (!capture.active)
		return 0;
	state = target_state(bpf_get_current_task_btf());
	if (state && state->lock == (__u64)lock)
		state->lock = 0;
	return 0;
}
