/* SPDX-License-Identifier: BSD-2-Clause */
/* What runs in the processes: each is called in one that was just forked, and does not return. */
#pragma once

#include <sys/types.h>

/* Forks children of enum privsep_role as it is told by @socket. */
__attribute__((noreturn)) void zygote__run(int socket, pid_t parent);

/* Serves PROCESS_SOCKET. */
__attribute__((noreturn)) void opener__run(pid_t parent);
__attribute__((noreturn)) void parser__run(pid_t parent);
__attribute__((noreturn)) void namer__run(pid_t parent);
__attribute__((noreturn)) void fetcher__run(pid_t parent);
