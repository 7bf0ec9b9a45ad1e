/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell latency report`: the latency of functions, as text and JSON. */
#pragma once

#include <stdio.h>

#include "analysis/latency/call_latency.h"

struct latency_view {
	const struct model *model;
	const struct call_latency *latency;
	uint64_t most; /* functions that are shown as text; 0: all */
};

/* Both return 0 or -ENOMEM. */
int latency_view__text(const struct latency_view *view, FILE *to);
int latency_view__json(const struct latency_view *view, FILE *to);
