/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions, strings of the model. */
#pragma once

#include "analysis/kinds/wait_causes.h"
#include "model/model.h"

/* The function at frame @i of @stack, not what is inlined there; 0: no name, or no such frame. */
uint32_t call_names__function(const struct model *model, uint32_t stack, size_t i);

/*
 * Sets *@name to the innermost function of user stack @stack outside the C library; 0: unknown.
 * Returns 0 or -ENOMEM.
 */
int call_names__program(const struct model *model, uint32_t stack, uint32_t *name);

/*
 * Sets *@name to the function of the thread @cause that ended @interval of @thread: the innermost
 * outside the C library; 0: unknown, or an interrupt ended it. Returns 0 or -ENOMEM.
 */
int call_names__waker(const struct model *model, const struct model_thread *thread,
		      const struct model_interval *interval, struct wait_cause cause,
		      uint32_t *name);
