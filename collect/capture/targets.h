/* SPDX-License-Identifier: BSD-2-Clause */
/* The target of a capture: checks, and the processes that it has now. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum capture_target {
	CAPTURE_COMMAND = 0,   /* argv, from its exec on, and what it creates */
	CAPTURE_PROCESSES = 1, /* all threads of the processes ids, and what they create */
	CAPTURE_THREADS = 2,   /* the threads ids only */
	CAPTURE_SYSTEM = 3,    /* everything but dwell */
	CAPTURE_CGROUP = 4,    /* a cgroup, and those below it */
};

/* "command", "processes" ... as written in a recording. */
const char *targets__name(enum capture_target target);

/* -ESRCH, with a message, if an id is not that of a process (or thread). */
int targets__check(enum capture_target target, const pid_t *ids, size_t n_ids);

/* Calls @process for every process of the target that exists now. */
void targets__each_process(enum capture_target target, const pid_t *ids, size_t n_ids,
			   const char *cgroup, void (*process)(void *arg, uint32_t pid), void *arg);

/*
 * Sets *@id for the cgroup whose directory is @path. Errors, with a message: -EINVAL (not cgroup
 * 2), others of stat().
 */
int targets__cgroup_id(const char *path, uint64_t *id);
