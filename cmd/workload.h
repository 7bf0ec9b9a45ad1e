/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands that run a program have in common: signals and exit statuses. */
#pragma once

#include <signal.h>

/* Signals that arrived: how many asked to stop, and what is to be passed on (0: nothing). */
extern volatile sig_atomic_t workload_stops;
extern volatile sig_atomic_t workload_to_forward;

/* In @ignored, the signals that were ignored: the program is to ignore them too. */
void workload__handle_signals(sigset_t *ignored);

/* As a shell says it: the program's own status, or 128 + the signal that ended it. */
int workload__exit_status(int status);

/* @words joined by spaces, malloc()ed. */
char *workload__text(char *const *words);
