/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell latency locks`: waiting and holding times by lock, as text and JSON. */
#pragma once

#include <stdio.h>

#include "analysis/latency/locks.h"

struct latency_locks_view {
	const struct model *model;
	const struct locks *locks;
	uint64_t most; /* locks that are shown as text; 0: all */
};

/* Both return 0 or -ENOMEM. */
int latency_locks__text(const struct latency_locks_view *view, FILE *to);
int latency_locks__json(const struct latency_locks_view *view, FILE *to);
