/* SPDX-License-Identifier: BSD-2-Clause */
/* What makes slow calls and slow requests slow, in a sentence or two. */
#pragma once

#include "analysis/latency/call_latency.h"
#include "analysis/latency/request_comparison.h"

/* On the function that adds most to the tail. "" if no call was longer than the resolution. */
void latency_verdict__calls(const struct model *model, const struct call_latency *latency,
			    char *text, size_t size);

/* On what the slow side of @comparison did that the other did not. "" if it is not slower. */
void latency_verdict__requests(const struct model *model,
			       const struct request_comparison *comparison, char *text,
			       size_t size);
