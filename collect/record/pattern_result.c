// SPDX-License-Identifier: BSD-2-Clause
#include "collect/record/pattern_result.h"

#include <errno.h>

#include "abi/call_probe.h"
#include "collect/probes/function_places.h"

_Static_assert(CALL_PROBE_FUNCTIONS == 4091, "a message has the number");

void pattern_result__note(struct pattern_result *result, int err)
{
	result->found |= !err;
	if (err == -ENOTUNIQ)
		result->error = "several functions have that name: give more of it, or a pattern";
	else if (err == -E2BIG)
		result->error = "there are more than 4091 functions: some are not measured";
	else if (err == -ENOTSUP)
		result->error = function_places__unsupported;
	else if (err && err != -ENOENT && err != -ENOEXEC)
		result->error = "the kernel refuses probes in its code";
}

const char *pattern_result__problem(const struct pattern_result *result)
{
	return result->error || result->found
		       ? result->error
		       : "no program that was recorded has a function of that name (stripped?)";
}
