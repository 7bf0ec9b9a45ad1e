/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell script`: every event of a recording in time order, for other programs. */
#pragma once

#include <stdio.h>

#include "analysis/kinds/kinds.h"
#include "analysis/weighted_samples.h"

struct script {
	const struct model *model;
	struct kinds *kinds;
	const struct sample_filter *filter;
	bool json;	/* one object per line */
	bool no_stacks; /* header lines only */
};

/* Describes the output, for --help. */
extern const char script_format[];

/* Streams: memory does not grow with the output. Returns 0 or -ENOMEM. */
int script__write(const struct script *script, FILE *to);
