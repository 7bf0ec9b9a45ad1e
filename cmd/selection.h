/* SPDX-License-Identifier: BSD-2-Clause */
/* What --pid, --tid, --comm and --time select of a recording. */
#pragma once

#include "analysis/weighted_samples.h"

/*
 * 0, or -ENODATA with error__set() done if @filter selects no time of any thread: that says which
 * option does, and what the recording has. The classes do not count: a thread that never waits for
 * I/O is an answer.
 */
int selection__check(const struct model *model, const struct sample_filter *filter);

/*
 * Lists threads called @name, or all processes if @name is NULL: "nginx (12), nginx (13), 5 more".
 * Only those that were recorded.
 */
void selection__list(const struct model *model, const char *name, char *text, size_t size);

/* Whether @thread was ever called @name. */
bool selection__had_name(const struct model *model, const struct model_thread *thread,
			 const char *name);
