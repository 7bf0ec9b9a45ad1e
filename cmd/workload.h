/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the commands that run a program: signals and exit statuses. */
#pragma once

#include <signal.h>

/* The number of signals that asked to stop; the signal to pass on to the command (0: none). */
extern volatile sig_atomic_t workload_stop_requests;
extern volatile sig_atomic_t workload_to_forward;

/* @ignored returns the signals that were ignored, which the command has to ignore, too. */
void workload__handle_signals(sigset_t *ignored);

/* The status as a shell reports it: the program's own, or 128 + the signal that ended it. */
int workload__exit_status(int status);

/* @words joined by spaces, malloc()ed. */
char *workload__text(char *const *words);
