/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a futex is used for, by the functions that wait for it and wake it: locks, condition
 * variables, semaphores, and ends of threads all wait in the same system call.
 */
#pragma once

#include "model/model.h"

enum futex_use {
	FUTEX_USE_UNKNOWN = 0, /* a program's own */
	FUTEX_USE_LOCK = 1,
	FUTEX_USE_OTHER = 2,
	FUTEX_USE_SEMAPHORE = 3, /* a lock, or not: behavior tells */
	FUTEX_USE_GOROUTINE = 4, /* Go's scheduler has nothing to run, or has again */
	FUTEX_USE_CONDITION = 5, /* a condition variable */
};

/* What function @name says of a wait or wakeup that it is in. */
enum futex_use futex_use__by_function(const char *name);

/* What the innermost function on user stack @stack that tells it says. */
enum futex_use futex_use__by_stack(const struct model *model, uint32_t stack);
