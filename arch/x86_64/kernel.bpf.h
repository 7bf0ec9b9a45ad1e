/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
#pragma once

struct thread_info {
	__u32 status;
	__u32 cpu; /* 5.16, before in task_struct */
} CORE;

#define TS_COMPAT	0x0002
#define IS_COMPAT(task) (FIELD(task, thread_info.status) & TS_COMPAT)

struct pt_regs {
	unsigned long bp;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long flags;
	unsigned long sp;
} CORE;

#define REGS_IP(regs)	 ((regs)->ip)
#define REGS_SP(regs)	 ((regs)->sp)
#define REGS_FP(regs)	 ((regs)->bp)
#define REGS_LINK(regs)	 ((regs)->di) /* where vfork() keeps its return address */
#define REGS_FLAGS(regs) ((regs)->flags)
#define REGS_ARG1(regs)	 ((regs)->di)
#define REGS_ARG2(regs)	 ((regs)->si)

#define REGS_SYSCALL(regs) ((long)(regs)->orig_ax)
/* A syscall instruction leaves its return address in rcx. */
#define REGS_AFTER_SYSCALL(regs) (REGS_SYSCALL(regs) >= 0 && (regs)->cx == (regs)->ip)
#define REGS_RESTARTS(regs)	 (REGS_SYSCALL(regs) < 0 && (regs)->ax == NR_RESTART_SYSCALL)
#define NR_RESTART_SYSCALL	 219
#define NR_FUTEX		 202
#define NR_FUTEX_COMPAT		 240

/*
 * Since 6.11, the trampoline is a system call: it pushes ax, cx and r11. When that has ended, the
 * original return address is in the place of ax.
 */
#define TRAMPOLINE_BYTES  32
#define TRAMPOLINE_PUSHED (3 * sizeof(__u64))
