/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What names of functions suggest about waits. Known schedulers decide; other names are hints,
 * where the behavior of threads leaves two answers. For analysis/kinds only.
 */
#pragma once

#include "model/model.h"

enum idle_hint {
	IDLE_HINT_WORK = 1 << 0,      /* waits for work: "dequeue", "WaitForTask", ... */
	IDLE_HINT_SCHEDULER = 1 << 1, /* a worker of a known scheduler of tasks has none */
};

/* By stack: bits of enum idle_hint. To be freed; NULL without memory. */
uint8_t *idle_hints__make(const struct model *model);
