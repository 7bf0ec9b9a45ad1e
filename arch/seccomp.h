/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls as filters of seccomp see them. A processor defines
 *
 * - SECCOMP_ARCH: what struct seccomp_data has as arch
 * - SECCOMP_OTHER_TABLES: statements behind a load of nr, which end a process that calls by another
 *   table of the same arch
 * - REFUSED_RESULT(context), REFUSED_SECOND(context): of a call that was refused by SIGSYS, by the
 *   ucontext_t of the handler: its result, to be set, and its second argument
 */
#pragma once

#if defined(__x86_64__)
#include "arch/x86_64/seccomp.h"
#elif defined(__aarch64__)
#include "arch/aarch64/seccomp.h"
#else
#error "arch/README.md: the system calls of this processor are not known"
#endif
