/* SPDX-License-Identifier: BSD-2-Clause */
/* How often something random is tried: DWELL_FUZZ=N multiplies it. */
#pragma once

#include <stdlib.h>

/* Without sanitizers, which see more, a quarter of @n. */
static inline unsigned int rounds(unsigned int n)
{
	const char *factor = getenv("DWELL_FUZZ");

#ifndef SANITIZED
	n = (n + 3) / 4;
#endif
	return n * (factor && atoi(factor) > 0 ? (unsigned int)atoi(factor) : 1);
}
