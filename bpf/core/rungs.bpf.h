/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The places where a thread that was off the CPU is current again and its stack can be taken,
 * best first: of the three programs one is loaded, or none on the last rung of the ladder.
 * A product defines thread_runs_again() before it includes this header.
 */
#pragma once

#include "bpf/core/kernel.bpf.h"

/* First rung: the end of __schedule() (6.15). */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_run, bool is_switch)
{
	thread_runs_again(ctx);
	return 0;
}

/* Second and third: the function that __schedule() ends with. */
SEC("fexit/finish_task_switch")
int BPF_PROG(on_run_fexit)
{
	thread_runs_again(ctx);
	return 0;
}

SEC("kprobe")
int on_run_kprobe(struct pt_regs *ctx)
{
	thread_runs_again(ctx);
	return 0;
}
