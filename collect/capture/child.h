/* SPDX-License-Identifier: BSD-2-Clause */
/* The profiled command: a child that is held until all is ready. */
#pragma once

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct child;

/* As whom the command runs. */
struct child_user {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary ones, malloc()ed */
	int n_groups;
};

/* Looks up user @name. With a message: -EINVAL: there is none; -EPERM: dwell does not run as root.
 */
int child__find_user(const char *name, struct child_user *user);

/*
 * Forks a child that waits for child__release(), then executes @argv as @user (NULL: as dwell),
 * with the signals in @ignored ignored. @argv must live as long as the child.
 */
int child__prepare(char *const *argv, const sigset_t *ignored, const struct child_user *user,
		   struct child **out);

/* The path of @program, by PATH as in execvp(); malloc()ed, NULL if there is none. */
char *child__find(const char *program);

pid_t child__pid(const struct child *child);

/* A descriptor that polls readable when the command has ended. */
int child__fd(const struct child *child);

bool child__has_ended(const struct child *child);

/* Lets the command run. Returns 0, or -errno of its exec with a message (-ENOENT: not found). */
int child__release(struct child *child);

void child__signal(const struct child *child, int signal);

/*
 * Sends it the signals whose bits are set in *@signals (bit N: signal N), and clears these. NULL:
 * none.
 */
void child__forward(const struct child *child, atomic_uint *signals);

/*
 * Waits for its end, and returns its wait status; -1 for a child that was never released. Meanwhile
 * forwards @signals, as above.
 */
int child__wait(struct child *child, atomic_uint *signals);

/* The exit status for a wait status, as of a shell: 128 + N if signal N ended the child. */
int child__exit_status(int status);

/* Ends a child that was never released. */
void child__free(struct child *child);
DEFINE_CLEANUP(struct child *, child__free)
