/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * The rungs of the ladder: places where a thread that was off the CPU is current again, so that its
 * stack can be taken, best first. One of the three programs is loaded, or none on the last rung. A
 * product defines thread_runs_again() before it includes this header.
 */
#pragma once

#include "bpf/core/kernel.bpf.h"

/* First rung: the end of __schedule() (6.15 and later). */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_run, bool is_switch)
{
	thread_runs_again(ctx);
	return 0;
}

/* Second and third rung: finish_task_switch(), which __schedule() calls at its end. */
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
