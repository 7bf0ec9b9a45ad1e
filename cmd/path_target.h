/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread whose path is shown. */
#pragma once

#include "analysis/path/path.h"

/*
 * Sets *@thread to the thread that @name is: a tid, a pid (its main thread), or the name of one
 * process or thread; NULL: the main thread of the command that was recorded. Returns 0, or
 * -EINVAL or -ENOENT with error__set() done: also if the recording has not every interval.
 */
int path_target__find(const struct model *model, const char *name, uint32_t *thread);

/* Says why there is nothing of thread @index in the window. Returns -ENODATA. */
int path_target__explain_empty(const struct model *model, uint32_t index);

/* 0, or -EINVAL with error__set(): the recording does not have every wait. */
int path_target__check_trace(const struct model *model);
