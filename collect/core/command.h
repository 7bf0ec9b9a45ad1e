/* SPDX-License-Identifier: BSD-2-Clause */
/* The command that is recorded: started, held until all is ready, waited for. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct workload;

/*
 * Forks a child that waits for workload__release() before it executes @argv, with
 * the signals in @ignored ignored.
 */
int workload__prepare(char *const *argv, const sigset_t *ignored, struct workload **out);

/* The path of @program, looked up in PATH as exec does; malloc()ed, NULL if there is none. */
char *workload__find(const char *program);

pid_t workload__pid(const struct workload *workload);

/* A descriptor that polls readable when the command has ended. */
int workload__fd(const struct workload *workload);

bool workload__has_ended(const struct workload *workload);

/* Lets the command run. Returns 0, or -errno of its exec with a message (ENOENT: not found). */
int workload__release(struct workload *workload);

void workload__signal(const struct workload *workload, int signal);

/* Its wait status; waits for its end. A child that was never released ends here: -1. */
int workload__wait(struct workload *workload);

/* A child that was never released ends here. */
void workload__free(struct workload *workload);
DEFINE_CLEANUP(struct workload *, workload__free)
