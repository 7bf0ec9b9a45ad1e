/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes away from a process what it does not need to parse files that it has open. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* What could be taken away. All of it, where dwell runs as root on a usual kernel. */
enum sandbox_part {
	SANDBOX_USER = 1 << 0,	   /* it runs as nobody, if dwell runs as root */
	SANDBOX_CAPS = 1 << 1,	   /* it has no capabilities, and can get none */
	SANDBOX_ROOT = 1 << 2,	   /* its root directory has no files */
	SANDBOX_NETWORK = 1 << 3,  /* it is in a network namespace of its own, which has none */
	SANDBOX_SYSCALLS = 1 << 4, /* all system calls fail that it does not need */
	SANDBOX_ALL = (1 << 5) - 1,
};

struct sandbox_limits {
	uint64_t memory; /* bytes that it may allocate */
	uint64_t file;	 /* bytes, the largest file that it may write */
	uint64_t fds;	 /* the highest descriptor + 1 */
};

/*
 * To be called in a process that @parent has just forked, and that has one thread. It is killed
 * when its parent ends. Returns the parts of enum sandbox_part that hold; without SANDBOX_CAPS or
 * SANDBOX_SYSCALLS it must not go on.
 */
unsigned int sandbox__enter(pid_t parent, const struct sandbox_limits *limits);

/*
 * The same for a process that uses the network and files of its own: it becomes the user who called
 * dwell by sudo, or nobody, if dwell runs as root. Without SANDBOX_CAPS it must not go on.
 */
unsigned int sandbox__enter_online(pid_t parent);
#define SANDBOX_NOBODY 65534

/*
 * Prepares a process that was just forked from another one of dwell: leaves the terminal's process
 * group, sets signals to their default actions, ignores those of a terminal and of a service
 * manager, closes all descriptors but @socket, which becomes PROCESS_SOCKET, and opens /dev/null as
 * 0 to 2. @name is what ps shows.
 */
#define PROCESS_SOCKET 3
void process__isolate(int socket, const char *name);

/* It is killed when its parent, which was @parent, ends. A change of user or capabilities undoes
 * it. */
void process__die_with(pid_t parent);
