/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of the time anything of a part of the wait-for graph is at work: seen at
 * sampling points, where every wait is known in sampling mode, too.
 */
#pragma once

#include "analysis/waits/waitgraph.h"

struct activity;

int activity__new(const struct waitgraph *graph, struct activity **out);
void activity__free(struct activity *activity);

/*
 * Of all points: in @active the part at which one of @vertices ran, was runnable, or had requests
 * in flight; in @idle_for, of the type of what they waited for, the rest, shared out among those
 * outside of @vertices. Returns 0 or -ENOMEM.
 */
int activity__of(struct activity *activity, const uint32_t *vertices, size_t n, double *active,
		 double idle_for[SOURCE_TYPE_COUNT]);

DEFINE_CLEANUP(struct activity *, activity__free)
