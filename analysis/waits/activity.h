/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The share of time during which any member of a set of vertices is active, estimated at sampling
 * points: in sampling mode, too, every wait that contains one is known.
 */
#pragma once

#include "analysis/waits/waitgraph.h"

struct activity;

int activity__new(const struct waitgraph *graph, struct activity **out);
void activity__free(struct activity *activity);

/*
 * Sets *@active to the share of points at which one of the @n @vertices ran, was runnable, or had
 * requests in flight. The other points count for @idle_for, by the type of what members waited
 * for, in equal parts for all members that waited for something outside of @vertices. (If none
 * did, the point counts for neither.) Returns 0 or -ENOMEM.
 */
int activity__of(struct activity *activity, const uint32_t *vertices, size_t n, double *active,
		 double idle_for[CAUSE_TYPE_COUNT]);

DEFINE_CLEANUP(struct activity *, activity__free)
