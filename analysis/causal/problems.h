/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a causal profile says little, in words, with what to do about it. */
#pragma once

#include "analysis/causal/series.h"

/* Adds to effects->problems, whose curves are final. 0 or -ENOMEM. */
int causal_problems__find(struct causal_effects *effects, const struct causal_sorted *sorted,
			  const struct causal_options *options);
