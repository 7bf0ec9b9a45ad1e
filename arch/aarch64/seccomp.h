/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <ucontext.h>

#define SECCOMP_ARCH AUDIT_ARCH_AARCH64
/* There are none. */
#define SECCOMP_OTHER_TABLES BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0)

#define REFUSED_RESULT(context) ((context)->uc_mcontext.regs[0])
#define REFUSED_SECOND(context) ((context)->uc_mcontext.regs[1])
