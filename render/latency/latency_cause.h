/* SPDX-License-Identifier: BSD-2-Clause */
/* What ended a wait, as text and JSON. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "analysis/kinds/wait_causes.h"

/*
 * @before, and "for postgres/4711 in ProcLockWakeup", "for vda" or "until a timeout"; nothing if it
 * is not known. @function is a string, 0: unknown; @time says which name the thread had.
 */
void latency_cause__put(const struct model *model, const char *before, struct wait_cause cause,
			uint32_t function, uint64_t time, FILE *to);

/* Adds "cause" (the type), and "for": the tid of a thread, or null. */
void latency_cause__json(const struct model *model, struct wait_cause cause, json_t *entry);
