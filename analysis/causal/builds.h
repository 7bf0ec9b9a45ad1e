/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which runs of a profile belong together: those of one build of each program. A program is known
 * by the name of its file, as builds to compare are often in different folders.
 */
#pragma once

#include "analysis/causal/prediction.h"

/*
 * Chooses the runs to use, by build: sets left_out of @effects, by @build as in causal_options.
 * 0 or -ENOMEM.
 */
int causal_builds__select(struct causal_effects *effects, const char *build);

/* The id of a build that run @index has, which is left out, and no run that is used. NULL: none. */
const char *causal_builds__other(const struct causal_effects *effects, size_t index);
