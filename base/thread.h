/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of dwell besides the main one. */
#pragma once

#include <pthread.h>

/*
 * As pthread_create(), but the thread takes no signals: those that end dwell are to wake the main
 * thread. 0 or -errno.
 */
int thread__start(pthread_t *thread, void *(*run)(void *arg), void *arg);
