/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <ucontext.h>

#define SECCOMP_ARCH AUDIT_ARCH_X86_64

/* The x32 calls. */
#define SECCOMP_OTHER_TABLES                                                                       \
	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

#define REFUSED_RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#define REFUSED_SECOND(context) ((context)->uc_mcontext.gregs[REG_RSI])
