/* SPDX-License-Identifier: BSD-2-Clause */
/* What is to be recorded: checked before anything is set up. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/record/session.h"

/* "command", "processes" ... as written in a recording. */
const char *target__name(enum session_target target);

/* -ESRCH, with a message, when an id names no process (or thread). */
int target__check(enum session_target target, const pid_t *ids, size_t n_ids);

/* Calls @process for every process of the target that is there now. */
void target__each_process(enum session_target target, const pid_t *ids, size_t n_ids,
			  const char *cgroup, void (*process)(void *arg, uint32_t pid), void *arg);

/* The id of the cgroup whose directory is @path. -ENOENT, -EINVAL (not cgroup 2). */
int target__cgroup_id(const char *path, uint64_t *id);
