/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the commands that run a program: its signals, and its words. */
#pragma once

#include <signal.h>
#include <stdatomic.h>

/* The number of signals that asked to stop; those for the command, as capture_config.to_forward. */
extern volatile sig_atomic_t workload_stop_requests;
extern atomic_uint workload_to_forward;

/* @ignored returns the signals that were ignored, which the command has to ignore, too. */
void workload__handle_signals(sigset_t *ignored);

/* @words joined by spaces, malloc()ed. */
char *workload__text(char *const *words);
