/* SPDX-License-Identifier: BSD-2-Clause */
/* Problems of a causal profile: why it has few predictions, and what to do. */
#pragma once

#include "analysis/causal/series.h"

/* Adds to effects->problems, whose curves are final. 0 or -ENOMEM. */
int causal_problems__find(struct causal_effects *effects, const struct causal_series_set *set,
			  const struct causal_options *options);
