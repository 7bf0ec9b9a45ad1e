/* SPDX-License-Identifier: BSD-2-Clause */
/* `dwell latency requests --compare`: what slow requests did that others did not. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "analysis/latency/request_comparison.h"

void latency_compare__text(const struct model *model, const struct request_comparison *comparison,
			   FILE *to);

/* The value of the document's "compare". NULL: no memory. */
json_t *latency_compare__json(const struct model *model,
			      const struct request_comparison *comparison);

/* "run queue", "waits: futex slabs_lock, for slabs_alloc": what @row is. */
void latency_compare__describe(const struct model *model, const struct comparison_row *row,
			       char *text, size_t size);
