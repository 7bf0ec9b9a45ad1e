/* SPDX-License-Identifier: BSD-2-Clause */
/* What is to be recorded: checked before anything is set up. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum capture_target {
	CAPTURE_COMMAND = 0,   /* argv, from its exec on, and what it starts */
	CAPTURE_PROCESSES = 1, /* ids, all their threads, and what they start */
	CAPTURE_THREADS = 2,   /* ids, just these */
	CAPTURE_SYSTEM = 3,    /* everything but dwell itself */
	CAPTURE_CGROUP = 4,    /* cgroup, and what is in groups below it */
};

/* "command", "processes" ... as written in a recording. */
const char *targets__name(enum capture_target target);

/* -ESRCH, with a message, when an id names no process (or thread). */
int targets__check(enum capture_target target, const pid_t *ids, size_t n_ids);

/* Calls @process for every process of the target that is there now. */
void targets__each_process(enum capture_target target, const pid_t *ids, size_t n_ids,
			   const char *cgroup, void (*process)(void *arg, uint32_t pid), void *arg);

/* The id of the cgroup whose directory is @path. -ENOENT, -EINVAL (not cgroup 2). */
int targets__cgroup_id(const char *path, uint64_t *id);
