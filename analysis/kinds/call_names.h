/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions, strings of the model. */
#pragma once

#include "analysis/kinds/wait_causes.h"
#include "model/model.h"

/* The function at frame @i of @stack, not what is inlined there; 0: no name, or no such frame. */
uint32_t call_names__function(const struct model *model, uint32_t stack, size_t i);

/*
 * The line at frame @i of @stack, of the innermost function that is inlined there. *@file is a
 * string; both are 0 if the line is unknown.
 */
void call_names__line(const struct model *model, uint32_t stack, size_t i, uint32_t *file,
		      uint32_t *line);

/*
 * Sets *@name to the innermost function of user stack @stack outside the C library; 0: unknown.
 * Returns 0 or -ENOMEM.
 */
int call_names__program(const struct model *model, uint32_t stack, uint32_t *name);

/* The same for the @n innermost of them, in @names; those that there are not are 0. */
int call_names__programs(const struct model *model, uint32_t stack, uint32_t *names, size_t n);

/*
 * Sets *@name to the function of the thread @cause that ended @interval of @thread: the innermost
 * outside the C library; 0: unknown, or an interrupt ended it. Returns 0 or -ENOMEM.
 */
int call_names__waker(const struct model *model, const struct model_thread *thread,
		      const struct model_interval *interval, struct wait_cause cause,
		      uint32_t *name);
