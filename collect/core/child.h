/* SPDX-License-Identifier: BSD-2-Clause */
/* The profiled command: started, held until all is ready, waited for. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct child;

/* Whom the command runs as. */
struct child_user {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary ones, malloc()ed */
	int n_groups;
};

/* Looks up user @name. -EINVAL, with a message, when there is none; -EPERM for those but root. */
int child__find_user(const char *name, struct child_user *user);

/*
 * Forks a child that waits for child__release() before it executes @argv, with
 * the signals in @ignored ignored, as @user (NULL: as dwell itself).
 */
int child__prepare(char *const *argv, const sigset_t *ignored, const struct child_user *user,
		   struct child **out);

/* The path of @program, looked up in PATH as exec does; malloc()ed, NULL if there is none. */
char *child__find(const char *program);

pid_t child__pid(const struct child *child);

/* A descriptor that polls readable when the command has ended. */
int child__fd(const struct child *child);

bool child__has_ended(const struct child *child);

/* Lets the command run. Returns 0, or -errno of its exec with a message (ENOENT: not found). */
int child__release(struct child *child);

void child__signal(const struct child *child, int signal);

/* Its wait status; waits for its end. A child that was never released ends here: -1. */
int child__wait(struct child *child);

/* A child that was never released ends here. */
void child__free(struct child *child);
DEFINE_CLEANUP(struct child *, child__free)
